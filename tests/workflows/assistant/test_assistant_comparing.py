"""Comparing on the conference that ships with the package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopwright.workflows.assistant.comparing import compare
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.sources.sample import sample_store

NOTHING = "Is anything said about zyxomma qwertzuiop vexillophobia?"
"""No conference has this."""


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    """The sample conference, without a chat model and without vectors."""
    with sample_store() as store, Services.of(AssistantConfig(), store=store) as opened:
        yield opened


@pytest.fixture(scope="module")
def talk(services) -> Record:
    """A session that is asked for by its title."""
    return next(iter(current(services.store).of_table(Table.SESSIONS)))


def test_without_labels_a_comparison_measures_against_what_the_reflection_cites(services, talk):
    found = compare(f"Tell me about {talk.title}", services)
    assert list(found.variants) == ["none", "mechanical", "reflection", "wide"]
    assert found.against == "citations"
    assert found.relevant == found.variants["reflection"].cited
    assert found.variants["reflection"].recall == found.variants["reflection"].ndcg == 1.0
    assert all(variant.text and variant.seconds > 0 for variant in found.variants.values())
    lines = found.table().splitlines()
    assert [line.split()[0] for line in lines[1:5]] == list(found.variants)
    assert lines[-1] == "measured against what the answer after the reflection cites"


def test_with_labels_a_comparison_measures_against_them(services, talk):
    found = compare(f"Tell me about {talk.title}", services, relevant=[talk.id], tables={"sessions", "exhibitors"})
    assert (found.against, found.relevant) == ("labels", (talk.id,))
    assert {variant.recall for variant in found.variants.values()} == {1.0}
    nothing = compare(NOTHING, services, relevant=())
    assert {variant.recall for variant in nothing.variants.values()} == {None}
    assert nothing.variants["reflection"].passes > 1, "a search that finds nothing is thought over"


def test_the_wide_search_has_no_more_queries_than_the_reflection_and_one_pass(services, talk):
    for question in (f"Tell me about {talk.title}", NOTHING):
        found = compare(question, services).variants
        assert found["none"].queries <= found["wide"].queries <= found["reflection"].queries
        assert found["wide"].passes == found["none"].passes == 1


def test_a_store_that_fails_is_a_failed_run_and_not_a_poor_answer():
    store = sample_store()
    with Services.of(AssistantConfig(), store=store) as services:
        store.close()
        found = compare("What is there to see?", services, relevant=["sessions:1"])
    assert {variant.status for variant in found.variants.values()} == {"failed"}
    assert {variant.recall for variant in found.variants.values()} == {0.0}
    assert "none failed: node 'plan_queries': StoreError: " in found.table()
    assert "its input was" not in found.table()
