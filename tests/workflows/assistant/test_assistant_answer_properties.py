"""Marks in answers, and any answer by rules: what holds whatever the records and models write."""

from __future__ import annotations

import pytest
from assistant_answers import asked
from chances import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopwright.workflows.assistant.answer.evaluating import evaluate_answer
from loopwright.workflows.assistant.answer.listing import NEAREST, Known, list_answer
from loopwright.workflows.assistant.answer.references import mark, referenced, without_strangers
from loopwright.workflows.assistant.schemas import Found, Record, Table

WORDS = st.text(alphabet="ab [](){}*_`<>|\\\n:,;.!#-ไท中é【】0", max_size=30)
KEYS = st.text(alphabet="ab(),;:é1 ", min_size=1, max_size=8).map(str.strip).filter(bool)


@st.composite
def hits(draw: st.DrawFn) -> Found:
    table, key = draw(st.sampled_from(Table)), draw(KEYS)
    record = Record(
        id=f"{table.value}:{key}",
        table=table,
        key=key,
        title=draw(WORDS),
        texts={"description": draw(WORDS)},
        fields={"room": (draw(WORDS),), "speaker": (draw(WORDS), draw(WORDS))},
        related=(f"sessions:{draw(KEYS)}",),
    )
    return Found(record=record, score=draw(st.floats(0, 1)), terms=(draw(WORDS),))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(hits(), max_size=12, unique_by=lambda found: found.record.id), WORDS, st.integers(1, 8))
def test_an_answer_cites_only_hits_within_the_limit_and_never_claims_without_one(
    found: list[Found], topic: str, limit: int
) -> None:
    results: dict[str, list[Found]] = {}
    for each in sorted(found, key=lambda one: -one.score):
        results.setdefault(each.record.table.value, []).append(each)
    question = asked(Table.SESSIONS, topic=topic)
    draft = list_answer(question, results, Known(limit=limit))
    offered = [each.record.id for each in found]
    assert set(draft.referenced_ids) <= set(offered)
    assert len(draft.referenced_ids) == len(set(draft.referenced_ids)) <= min(limit, len(found))
    assert referenced(draft.text, offered) == draft.referenced_ids
    assert without_strangers(draft.text, offered) == draft.text
    assert draft.referenced_ids or draft.status == "nothing_found"
    told = [line for line in draft.text.splitlines() if line.startswith("- **")]
    assert draft.status != "nothing_found" or len(told) <= NEAREST
    assert evaluate_answer(question, draft, results).faithfulness_score is None


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.sampled_from(["[", "]", "sessions:", "1", "2", "9", ",", " ", "a", ".", "\\", "【", "】", "(", ")"])),
    st.lists(st.sampled_from(["sessions:1", "sessions:2", "speakers:1", "exhibitors:a"]), unique=True),
)
@example(["[", "sessions:", "[", "sessions:", "]", "]"], [])
@example(["[", "sessions:", "[", "sessions:", "9", "]", "1", "]"], ["sessions:1"])
@example(["[", "[", "sessions:", "9", "]", "1", "]"], ["sessions:1"])
def test_taking_out_strangers_keeps_the_citations_and_leaves_none(pieces: list[str], offered: list[str]) -> None:
    text = "".join(pieces)
    cleaned = without_strangers(text, offered)
    assert referenced(cleaned, offered) == referenced(text, offered)
    assert without_strangers(cleaned, offered) == cleaned
    assert set(referenced(text, offered)) <= set(offered)


@given(KEYS, KEYS)
def test_a_mark_in_text_is_read_back_whatever_its_key(key: str, other: str) -> None:
    offered = [f"sessions:{key}", f"sessions:{other}"]
    assert referenced(f"See {mark(offered[0])}.", offered) == (offered[0],)


OFFERED = ["sessions:17", "sessions:23", "exhibitors:Mill Lane", "exhibitors:C (sharp)", "speakers:17"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[sessions:17, sessions:23]", ("sessions:17", "sessions:23")),
        ("[sessions:17; exhibitors:Mill Lane]", ("sessions:17", "exhibitors:Mill Lane")),
        ("[Sessions: 17]", ("sessions:17",)),
        ("【sessions:17】", ("sessions:17",)),
        ("[ sessions:17 ]", ("sessions:17",)),
        ("[exhibitors:mill lane]", ("exhibitors:Mill Lane",)),
        ("[23]", ("sessions:23",)),
        ("[Mill Lane]", ("exhibitors:Mill Lane",)),
        ("[exhibitors:C (sharp)]", ("exhibitors:C (sharp)",)),
    ],
)
def test_forms_that_models_write(text: str, ids: tuple[str, ...]) -> None:
    assert referenced(f"Go there {text}.", OFFERED) == ids


@pytest.mark.parametrize(
    "text",
    [
        "[sessions:99]",
        "sessions:17 without brackets",
        "[17]",  # a session and a speaker have this key
        r"\[sessions:17\]",
        "[23](https://example.org)",
        "[see below]",
        "(2023)",
    ],
)
def test_what_is_no_citation(text: str) -> None:
    assert referenced(text, OFFERED) == ()


def test_long_text_of_brackets_ends() -> None:
    assert referenced("[sessions:" * 20_000, OFFERED) == ()
    assert referenced("[" * 50_000, OFFERED) == ()
