"""Evaluating and comparing on the conference that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from loopwright.errors import InputError
from loopwright.workflows.assistant.comparing import (
    Label,
    Variant,
    acompare,
    aevaluate,
    compare,
    evaluate,
    judged_tables,
    wide_plan,
)
from loopwright.workflows.assistant.comparing.evaluating import figures_of
from loopwright.workflows.assistant.comparing.observing import measured
from loopwright.workflows.assistant.comparing.schemas import QuestionOutcome
from loopwright.workflows.assistant.conference.catalogue import current
from loopwright.workflows.assistant.conference.sample import sample_store
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.constants import MAX_RETRY_COUNT
from loopwright.workflows.assistant.schemas import Filters, PlannedQuery, Table
from loopwright.workflows.assistant.services import Services

NOTHING = "Is anything said about zyxomma qwertzuiop vexillophobia?"
"""No conference has this."""


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    """The sample conference, without a chat model and without vectors."""
    with sample_store() as store, Services.of(AssistantConfig(), store=store) as opened:
        yield opened


@pytest.fixture(scope="module")
def labels(services) -> list[Label]:
    """Sessions and exhibitors asked for by their titles, and a question that has no answer."""
    catalogue = current(services.store)
    words = {Table.SESSIONS: "Tell me about {}", Table.EXHIBITORS: "Where is the stand of {}?"}
    asked = [
        (record.id, question.format(record.title), table.value)
        for table, question in words.items()
        for record in list(catalogue.of_table(table))[:6]
    ]
    known = [Label(id=id, question=question, relevant=(id,), kind=kind) for id, question, kind in asked]
    return [*known, Label(id="nothing", question=NOTHING, relevant=(), kind="no_answer")]


@pytest.mark.parametrize("mode", ["none", "mechanical", "reflection"])
def test_an_evaluation_measures_each_kind_in_every_mode(services, labels, mode):
    heard: list[tuple[int, int]] = []
    found = evaluate(labels, services, mode, on_progress=lambda done, total: heard.append((done, total)))
    assert (found.mode, found.questions, found.failed) == (mode, len(labels), 0)
    assert found.records == len(current(services.store).records)
    assert list(found.by_kind) == ["sessions", "exhibitors", "no_answer"]
    assert found.figures["recall@10"].value > 0.8, "what is asked for by its title is cited"
    assert found.figures["recall@10"].n == len(labels) - 1, "a question without an answer has no recall"
    assert found.figures["no_answer"].model_dump() == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert found.by_kind["no_answer"]["answered"].n == 0
    assert found.figures["gained_recall@10"].value == pytest.approx(
        found.figures["recall@10"].value - found.figures["first_recall@10"].value
    )
    assert heard == [(done, len(labels)) for done in range(len(labels) + 1)]
    limit = 1 if mode == "none" else 1 + MAX_RETRY_COUNT
    assert all(1 <= outcome.after.passes <= limit for outcome in found.outcomes)
    assert all(outcome.first.passes == 1 for outcome in found.outcomes)


def test_the_first_search_of_every_mode_is_the_same(services, labels):
    firsts = [
        [outcome.first.cited for outcome in evaluate(labels, services, mode).outcomes]
        for mode in ("none", "mechanical", "reflection")
    ]
    assert firsts[0] == firsts[1] == firsts[2]


async def test_an_evaluation_within_an_event_loop_finds_the_same(services, labels):
    found = await aevaluate(labels[:2], services, "none")
    cited = [outcome.after.cited for outcome in found.outcomes]
    assert cited == [(await acompare(label.question, services)).variants["none"].cited for label in labels[:2]]


def test_an_evaluation_as_json_and_as_text(services, labels):
    found = evaluate(labels, services, "reflection")
    told = json.loads(found.as_json())
    assert told["recall@10"] == found.figures["recall@10"].value
    assert told["intervals"]["recall@10"].keys() == {"low", "high", "n"}
    assert "outcomes" not in told
    lines = found.table().splitlines()
    assert f"{len(labels)} questions" in lines[0] and "reflection" in lines[0]
    assert {line.split()[0] for line in lines if line} >= {"recall@10", "ndcg@10", "kind", "sessions", "no_answer"}


def outcome(name: str, before: float | None, after: float | None, status: str = "answered") -> QuestionOutcome:
    """A question whose answer was retried once."""
    first = Variant(way="none", status="partial", recall=before, ndcg=before, passes=1)
    last = Variant(way="reflection", status=status, recall=after, ndcg=after, passes=2)
    return QuestionOutcome(id=name, kind="topical", answerable=before is not None, first=first, after=last)


def test_what_a_retry_brings_is_the_mean_of_the_differences():
    outcomes = [outcome("a", 0.0, 1.0), outcome("b", 0.5, 0.25), outcome("c", None, None, "nothing_found")]
    figures = figures_of(outcomes)
    assert figures["gained_recall@10"].value == pytest.approx(0.375)
    assert (figures["first_recall@10"].value, figures["recall@10"].value) == (0.25, 0.625)
    assert (figures["answered"].value, figures["no_answer"].value) == (1.0, 1.0)
    missed = figures_of([outcome("a", 1.0, 0.0, "nothing_found"), outcome("c", None, None)])
    assert (missed["answered"].value, missed["no_answer"].value) == (0.0, 0.0)


def test_what_is_cited_of_tables_that_nobody_judged_takes_no_place():
    cited = (*(f"speakers:{number}" for number in range(10)), "sessions:1")
    variant = Variant(way="none", status="answered", cited=cited)
    assert measured(variant, ["sessions:1"], {"sessions"}).recall == 1.0
    assert measured(variant, ["sessions:1"], {"sessions", "speakers"}).recall == 0.0
    assert measured(variant, [], {"sessions"}).recall is None


def test_the_judged_tables_are_those_that_any_label_names(labels):
    assert judged_tables(labels) == {"sessions", "exhibitors"}
    assert judged_tables(labels[-1:]) == frozenset()


def test_without_labels_a_comparison_measures_against_what_the_reflection_cites(services, labels):
    found = compare(labels[0].question, services)
    assert list(found.variants) == ["none", "mechanical", "reflection", "wide"]
    assert found.against == "citations"
    assert found.relevant == found.variants["reflection"].cited
    assert found.variants["reflection"].recall == found.variants["reflection"].ndcg == 1.0
    assert all(variant.text and variant.seconds > 0 for variant in found.variants.values())
    lines = found.table().splitlines()
    assert [line.split()[0] for line in lines[1:5]] == list(found.variants)
    assert lines[-1] == "measured against what the answer after the reflection cites"


def test_with_labels_a_comparison_measures_against_them(services, labels):
    label = labels[0]
    found = compare(label.question, services, relevant=label.relevant, tables=judged_tables(labels))
    assert (found.against, found.relevant) == ("labels", label.relevant)
    assert {variant.recall for variant in found.variants.values()} == {1.0}
    nothing = compare(NOTHING, services, relevant=())
    assert {variant.recall for variant in nothing.variants.values()} == {None}
    assert nothing.variants["reflection"].passes > 1, "a search that finds nothing is thought over"


def test_the_wide_search_has_no_more_queries_than_the_reflection_and_one_pass(services, labels):
    for question in (labels[0].question, NOTHING):
        found = compare(question, services).variants
        assert found["none"].queries <= found["wide"].queries <= found["reflection"].queries
        assert found["wide"].passes == found["none"].passes == 1


def test_a_question_that_asks_nothing_is_the_callers_mistake(services):
    with pytest.raises(InputError, match="message is ' '"):
        compare(" ", services)


def test_a_store_that_fails_is_a_failed_run_and_not_a_poor_answer():
    store = sample_store()
    with Services.of(AssistantConfig(), store=store) as services:
        store.close()
        found = compare("What is there to see?", services, relevant=["sessions:1"])
    assert {variant.status for variant in found.variants.values()} == {"failed"}
    assert {variant.recall for variant in found.variants.values()} == {0.0}
    assert "none failed: node 'plan_queries': StoreError: " in found.table()
    assert "its input was" not in found.table()


def test_a_wide_plan_begins_with_the_first_plan_and_repeats_nothing(services):
    word = current(services.store).of_table(Table.SESSIONS)[0].title
    filters = Filters(days=(str(current(services.store).info.start),))
    first = [
        PlannedQuery(table=Table.SESSIONS, query_text=word, filters=filters),
        PlannedQuery(table=Table.EXHIBITORS, query_text=word, limit=200),
    ]
    vocabulary = services.search.vocabulary
    for count in range(8):
        plan = wide_plan(first, count, vocabulary)
        assert plan[:2] == first
        assert len(plan) == len(set(plan)) <= max(count, 2)
        assert all(query.filters == filters for query in plan if query.table == Table.SESSIONS)
    assert [query.score_threshold for query in wide_plan(first, 4, vocabulary)] == [0.35, 0.35, 0.175, 0.175]


def test_a_plan_without_a_text_has_nothing_to_vary(services):
    first = [PlannedQuery(table=Table.SESSIONS, filters=Filters(rooms=("anywhere",)))]
    assert wide_plan(first, 5, services.search.vocabulary) == first
