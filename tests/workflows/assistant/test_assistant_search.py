"""Searching the sample conference: ranked, never cut off by a word that is lacking, and nothing that was excluded."""

from __future__ import annotations

import pytest
from conferences import search

from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.schemas import Condition, Filters, Pick, PlannedQuery, Record, SearchOutcome, Table
from loopwright.workflows.assistant.sources.catalogue import clock_of, passes


def run(text: str, table: Table = Table.SESSIONS, **changes: object) -> SearchOutcome:
    return search().run(PlannedQuery.model_validate({"table": table, "query_text": text} | changes))


def text_of(record: Record) -> set[str]:
    return set(terms(" ".join([record.title, *record.texts.values(), *record.values("track")])))


@pytest.mark.parametrize("talk", ["hello, could you please tell me whether there is anything about {}", "{}", "{}?"])
def test_a_title_finds_its_session_whatever_is_said_around_it(talk: str) -> None:
    for record in list(search().catalogue.of_table(Table.SESSIONS))[::9]:
        assert run(talk.format(record.title)).hits[0].record == record


def test_without_a_text_all_that_pass_come_in_order_of_time() -> None:
    found = [each.record for each in run("", limit=200).hits]
    assert found == list(search().catalogue.of_table(Table.SESSIONS))


def test_what_stands_nowhere_is_no_hit() -> None:
    outcome = run("qwertzuiop")
    assert (outcome.hits, outcome.strangers) == ((), ("qwertzuiop",))


def test_no_record_is_about_a_topic_that_is_not_wanted() -> None:
    plain = run("food", score_threshold=0.0, limit=200)
    word = next(
        word for word in ("bread", "garden", "kitchen") if any(word in text_of(x.record) for x in plain.hits[:20])
    )
    barred = run("food", score_threshold=0.0, limit=200, filters=Filters(without=(word,)))
    shown = [*barred.hits, *barred.near_misses]
    assert shown and not any(set(terms(word)) <= text_of(each.record) for each in shown)


def test_conditions_and_exclusions_hold_for_hits_and_near_misses() -> None:
    day = Condition(slot="day", values=("2027-04-18",))
    early = Condition(slot="start", most=720)
    asked = Filters(include=(day,), exclude=(early,))
    outcome = run("energy and water", filters=asked, score_threshold=0.2)
    for each in (*outcome.hits, *outcome.near_misses):
        assert passes(each.record, asked)
        assert each.record.start and clock_of(each.record.start) >= 720


@pytest.mark.parametrize("pick", ["first", "last", "longest", "shortest"])
def test_an_end_is_what_a_direct_look_at_the_records_says(pick: Pick) -> None:
    records = [each for each in search().catalogue.of_table(Table.SESSIONS) if each.start and each.end]
    measure = {
        "first": lambda each: each.start.timestamp(),
        "last": lambda each: -each.start.timestamp(),
        "longest": lambda each: -(each.end - each.start).total_seconds(),
        "shortest": lambda each: (each.end - each.start).total_seconds(),
    }[pick]
    best = min(map(measure, records))
    expected = {each.id for each in records if measure(each) == best}
    assert {each.record.id for each in run("", limit=200, pick=pick).hits} == expected
