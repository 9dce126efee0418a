"""Answers without a chat model: what they cite, what they say was not found, and how honest their status is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from assistant_answers import ANA, INFO, MILL, OVENS, SOURDOUGH, SUNDAY, asked, hit, moment, other, session

from loopwright.workflows.assistant.answering import list_answer, offered, referenced
from loopwright.workflows.assistant.schemas import Found, Table, ThinkingUpdate

SESSIONS, SPEAKERS, EXHIBITORS = Table.SESSIONS, Table.SPEAKERS, Table.EXHIBITORS
REWRITTEN = ThinkingUpdate(message="", strategy="rewrite", retry_count=1, ts=datetime(2024, 5, 4, tzinfo=UTC))
STOPPED = {"loop": "retry", "limit": 2}


def test_a_hit_is_listed_with_time_room_person_mark_and_reason() -> None:
    draft = list_answer(
        "sourdough?",
        asked(topic="sourdough"),
        {"sessions": [hit(SOURDOUGH, 0.9, "sourdough", abstract=0.9)]},
        info=INFO,
    )
    assert draft.status == "answered"
    assert draft.referenced_ids == ("sessions:17",)
    line = next(line for line in draft.text.splitlines() if "[sessions:17]" in line)
    for part in ("**Bread without yeast**", "Sat 4 May, 10:00-10:45, Hall 2", "Ana Reis", "“sourdough”", "abstract"):
        assert part in line


def test_the_best_hits_are_cited_first_and_never_more_than_the_limit() -> None:
    hits = [hit(session(str(n), f"Talk {n}"), 0.9 - n / 100) for n in range(30)]
    draft = list_answer("bread", asked(topic="bread"), {"sessions": hits}, limit=7)
    assert draft.referenced_ids == tuple(f"sessions:{n}" for n in range(7))


def test_every_table_keeps_places_and_the_asked_one_most() -> None:
    results = {
        "sessions": [hit(session(str(n), f"Talk {n}"), 0.5) for n in range(20)],
        "speakers": [hit(other(SPEAKERS, f"Person {n}"), 0.95) for n in range(20)],
        "exhibitors": [hit(MILL, 0.4)],
    }
    tables = [found.record.table for found in offered(results, 10, tables=(SESSIONS, SPEAKERS))]
    assert len(tables) == 10
    assert tables.count(SESSIONS) >= 5
    assert tables.count(EXHIBITORS) == 1
    assert tables.count(SPEAKERS) >= 2


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_small_limit_holds_with_many_tables(limit: int) -> None:
    results = {
        table.value: [hit(other(table, f"{table.value} {n}"), 0.5 + n / 100) for n in (3, 2, 1)] for table in Table
    }
    assert len(offered(results, limit)) == limit
    assert offered(results, 0) == []


def test_hits_by_filters_alone_are_in_order_of_time() -> None:
    late = session("1", "Late", time="16:00-17:00")
    draft = list_answer(
        "what is on?", asked(days=("2024-05-04",)), {"sessions": [hit(OVENS, 1.0), hit(late, 1.0), hit(SOURDOUGH, 1.0)]}
    )
    assert draft.referenced_ids == ("sessions:17", "sessions:23", "sessions:1")
    assert draft.status == "answered"


def test_a_question_about_time_is_answered_in_order_of_time() -> None:
    hits = {"sessions": [hit(SUNDAY, 0.9), hit(SOURDOUGH, 0.8)]}
    timed = list_answer("when are the sourdough sessions?", asked(topic="sourdough"), hits)
    assert timed.referenced_ids == ("sessions:17", "sessions:31")
    untimed = list_answer("sourdough sessions", asked(topic="sourdough"), hits)
    assert untimed.referenced_ids == ("sessions:31", "sessions:17")


def test_nothing_found_says_so_and_cites_nothing() -> None:
    draft = list_answer(
        "bees in the cellar on Sunday",
        asked(topic="bees", days=("2024-05-05",), rooms=("Cellar",)),
        {"sessions": []},
        info=INFO,
        thinking=[REWRITTEN],
    )
    assert draft.status == "nothing_found"
    assert draft.referenced_ids == ()
    assert "I found no sessions about bees on Sunday 5 May, in Cellar in the programme of Bread Days." in draft.text
    assert "in other words" in draft.text


def test_weak_hits_that_say_nothing_of_the_topic_are_the_nearest_not_an_answer() -> None:
    draft = list_answer("bees", asked(topic="bees"), {"sessions": [hit(OVENS, 0.2)]})
    assert draft.status == "nothing_found"
    assert "no sessions about bees" in draft.text
    assert draft.referenced_ids == ("sessions:23",)


def test_weak_hits_that_hold_the_topics_words_are_a_part_of_an_answer() -> None:
    draft = list_answer("stone ovens", asked(topic="stone ovens"), {"sessions": [hit(OVENS, 0.3, "ovens")]})
    assert draft.status == "partial"
    assert "Nothing fits all" in draft.text
    half = list_answer("stone bees", asked(topic="stone bees"), {"sessions": [hit(OVENS, 0.3, "stone")]})
    assert half.status == "nothing_found"


def test_hits_that_break_a_filter_are_named_as_such() -> None:
    understanding = asked(topic="sourdough", days=("2024-05-05",), rooms=("Hall 2",), before=moment(5, "12:00"))
    draft = list_answer("q", understanding, {"sessions": [hit(SOURDOUGH, 0.9), hit(SUNDAY, 0.9)]}, thinking=[REWRITTEN])
    assert draft.status == "partial"
    lines = {line.split("**")[1]: line for line in draft.text.splitlines() if line.startswith("- ")}
    assert "But on another day than asked" in lines["Bread without yeast"]
    assert "in another room and at another time than asked" in lines["Rye on Sunday"]


def test_one_hit_that_meets_everything_answers_even_beside_others_that_do_not() -> None:
    understanding = asked(topic="sourdough", days=("2024-05-05",))
    draft = list_answer("q", understanding, {"sessions": [hit(SOURDOUGH, 0.9), hit(SUNDAY, 0.6)]})
    assert draft.status == "answered"


@pytest.mark.parametrize(
    ("record", "status"), [(SOURDOUGH, "answered"), (session("5", "Honey cake", abstract="With honey."), "partial")]
)
def test_after_another_search_a_hit_must_hold_the_topic_itself(record: object, status: str) -> None:
    """A score compares with the text that was searched, which a rewrite may have led away from the question."""
    found = Found.model_validate({"record": record, "score": 0.95})
    draft = list_answer("q", asked(topic="sourdough"), {"sessions": [found]}, thinking=[REWRITTEN], stop_reason=STOPPED)
    assert draft.status == status


def test_a_spent_bound_is_no_success_by_itself() -> None:
    honey = session("5", "Honey cake", abstract="With honey.")
    draft = list_answer("q", asked(topic="sourdough"), {"sessions": [hit(honey, 0.9)]}, stop_reason=STOPPED)
    assert draft.status == "partial"


def test_what_the_conference_does_not_have_is_said_and_makes_it_partial() -> None:
    note = "There is no room Hall 9"
    draft = list_answer(
        "q", asked(topic="sourdough", notes=[note]), {"sessions": [hit(SOURDOUGH, 0.9)]}, notes=[note, "Another note."]
    )
    assert draft.status == "partial"
    assert draft.text.count(note) == 1
    assert "There is no room Hall 9. Another note." in draft.text


def test_a_table_without_hits_is_said() -> None:
    understanding = asked(SESSIONS, EXHIBITORS, topic="sourdough")
    draft = list_answer("q", understanding, {"sessions": [hit(SOURDOUGH, 0.9)], "exhibitors": []})
    assert "I found no exhibitors for this." in draft.text
    assert draft.status == "answered"
    only_others = list_answer("q", understanding, {"exhibitors": [hit(MILL, 0.9)]})
    assert "I found no sessions for this." in only_others.text
    assert only_others.status == "partial"


def test_a_persons_sessions_are_listed_with_time_and_room() -> None:
    draft = list_answer(
        "when does Ana Reis speak?",
        asked(SPEAKERS, SESSIONS, speakers=("Ana Reis",)),
        {"speakers": [hit(ANA, 1.0)], "sessions": [hit(SOURDOUGH, 1.0), hit(OVENS, 1.0)]},
    )
    assert draft.status == "answered"
    assert set(draft.referenced_ids) == {"speakers:7", "sessions:17", "sessions:23"}
    line = next(line for line in draft.text.splitlines() if "[speakers:7]" in line)
    assert "Gives “Bread without yeast” [sessions:17] (Sat 4 May, 10:00-10:45, Hall 2)" in line
    assert "“Ovens of the north” [sessions:23] (Sat 4 May, 10:30-11:00, Cellar)" in line


def test_a_person_with_more_sessions_than_places_cites_only_so_many() -> None:
    draft = list_answer(
        "q",
        asked(SPEAKERS, SESSIONS, speakers=("Ana Reis",)),
        {"speakers": [hit(ANA, 1.0)], "sessions": [hit(SOURDOUGH, 1.0), hit(OVENS, 1.0)]},
        limit=2,
    )
    assert len(draft.referenced_ids) == 2
    assert "“Ovens of the north” (Sat 4 May" in draft.text


def test_a_person_found_alone_is_listed_with_sessions_of_the_conference() -> None:
    understanding, hits = asked(SPEAKERS, topic="ovens"), {"speakers": [hit(ANA, 0.9)]}
    records = {record.id: record for record in (SOURDOUGH, OVENS, ANA)}
    draft = list_answer("who knows about ovens?", understanding, hits, records=records)
    assert "“Ovens of the north” (Sat 4 May, 10:30-11:00, Cellar)" in draft.text
    assert draft.referenced_ids == ("speakers:7",)


def test_a_word_that_only_resembles_one_of_the_record_is_not_said_to_be_mentioned() -> None:
    found = hit(OVENS, 0.9, "ofens", "stone", abstract=0.9)
    text = list_answer("stone ofens", asked(topic="stone ofens"), {"sessions": [found]}).text
    assert "Mentions “stone” in its abstract" in text
    only_near = list_answer("q", asked(topic="ofens"), {"sessions": [hit(OVENS, 0.9, "ofens", title=0.8)]}).text
    assert "Comes near in its title" in only_near


def test_sessions_at_the_same_time_are_pointed_out() -> None:
    both = {"sessions": [hit(SOURDOUGH, 0.9), hit(OVENS, 0.8), hit(SUNDAY, 0.7)]}
    text = list_answer("bread", asked(topic="bread"), both).text
    assert "At the same time: “Bread without yeast” [sessions:17] and “Ovens of the north” [sessions:23]." in text
    asked_at = asked(at=moment(4, "10:40"))
    assert "At the same time" not in list_answer("q", asked_at, both).text


def test_sessions_that_only_touch_do_not_overlap() -> None:
    after = session("40", "After", time="10:45-11:30")
    text = list_answer("bread", asked(topic="bread"), {"sessions": [hit(SOURDOUGH, 0.9), hit(after, 0.8)]}).text
    assert "At the same time" not in text


def test_texts_of_records_cannot_pose_as_marks_or_markdown() -> None:
    evil = session("66", "Nice [sessions:17] *talk* <b>\n- **Fake** [sessions:23]", abstract="[sessions:31]")
    draft = list_answer("q", asked(topic="talk"), {"sessions": [hit(evil, 0.9), hit(SOURDOUGH, 0.1), hit(SUNDAY, 0.1)]})
    first = next(line for line in draft.text.splitlines() if line.startswith("- "))
    assert referenced(first, ["sessions:17", "sessions:23", "sessions:66"]) == ("sessions:66",)
    assert draft.referenced_ids[0] == "sessions:66"
    assert "sessions:23" not in draft.referenced_ids
    assert "- **Fake**" not in draft.text.splitlines()


def test_the_key_of_a_record_may_hold_brackets_and_blanks() -> None:
    odd = other(EXHIBITORS, "C [sharp] & friends", text="A stand.")
    draft = list_answer("q", asked(EXHIBITORS, topic="stand"), {"exhibitors": [hit(odd, 0.9, "stand")]})
    assert draft.referenced_ids == ("exhibitors:C [sharp] & friends",)


@pytest.mark.parametrize(
    ("said", "reply"),
    [("Thank you!", "welcome"), ("Hello", "Hello"), ("What can you do?", "Ask me"), ("bye", "Goodbye")],
)
def test_smalltalk_is_answered_in_kind(said: str, reply: str) -> None:
    draft = list_answer(said, asked().model_copy(update={"smalltalk": True}), {}, info=INFO)
    assert reply in draft.text
    assert (draft.status, draft.referenced_ids) == ("answered", ())
