"""Answers without a chat model: what they cite, what they say was not found, and how honest their status is."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest
from assistant_answers import ANA, INFO, MILL, OVENS, SOURDOUGH, SUNDAY, asked, hit, moment, other, session

from loopwright.workflows.assistant.answering import evaluate_answer, list_answer, offered, referenced
from loopwright.workflows.assistant.answering.choosing import NEAREST
from loopwright.workflows.assistant.schemas import (
    Filters,
    Found,
    PlannedQuery,
    Record,
    SearchOutcome,
    Table,
    ThinkingUpdate,
)
from loopwright.workflows.assistant.understanding.about import ABOUT

SESSIONS, SPEAKERS, EXHIBITORS = Table.SESSIONS, Table.SPEAKERS, Table.EXHIBITORS
REWRITTEN = ThinkingUpdate(message="", strategy="rewrite", retry_count=1, ts=datetime(2024, 5, 4, tzinfo=UTC))
OVEN_TEXT = "We look back, and at length, and then further. Every stone keeps its heat long after the fire is out."
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
    for part in (
        "**Bread without yeast**",
        "Sat 4 May, 10:00-10:45, Hall 2",
        "with Ana Reis",
        SOURDOUGH.texts["abstract"],
    ):
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
    assert (
        "I found no sessions about “bees” on Sunday 5 May, in Cellar in the programme of Bread Days, also when I"
        in draft.text
    )


def test_weak_hits_that_say_nothing_of_the_topic_are_the_nearest_not_an_answer() -> None:
    draft = list_answer("bees", asked(topic="bees"), {"sessions": [hit(OVENS, 0.2)]})
    assert draft.status == "nothing_found"
    assert "no sessions about bees" in draft.text and "may be about something else" in draft.text
    assert draft.referenced_ids == ("sessions:23",)
    unrelated = list_answer("bees", asked(topic="bees"), {"sessions": [hit(OVENS, 0.05)]})
    assert (unrelated.referenced_ids, unrelated.status) == ((), "nothing_found")


def test_weak_hits_that_hold_the_topics_words_are_a_part_of_an_answer() -> None:
    draft = list_answer("stone ovens", asked(topic="stone ovens"), {"sessions": [hit(OVENS, 0.3, "ovens")]})
    assert draft.status == "partial"
    assert "I am not sure" in draft.text
    half = list_answer("stone bees", asked(topic="stone bees"), {"sessions": [hit(OVENS, 0.3, "stone")]})
    assert half.status == "nothing_found"


def test_hits_that_break_a_filter_are_named_as_such() -> None:
    understanding = asked(topic="sourdough", days=("2024-05-05",), rooms=("Hall 2",), before=moment(5, "12:00"))
    draft = list_answer("q", understanding, {"sessions": [hit(SOURDOUGH, 0.9), hit(SUNDAY, 0.9)]}, thinking=[REWRITTEN])
    assert draft.status == "partial"
    lines = {line.split("**")[1]: line for line in draft.text.splitlines() if line.startswith("- ")}
    assert "But on another day than asked" in lines["Bread without yeast"]
    assert "I found no sessions" in draft.text
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
    assert "Gives “Bread without yeast” [sessions:17] and “Ovens of the north” [sessions:23]." in line
    assert draft.text.count("10:00-10:45") == 1
    assert draft.text.startswith("Ana Reis has 2 sessions:")


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


def test_what_is_quoted_stands_in_the_record_and_holds_a_word_that_was_asked() -> None:
    found = {"sessions": [hit(session(str(n), f"Talk {n}", abstract=f"{n} " + OVEN_TEXT), 0.9) for n in range(5)]}
    lines = list_answer("stone ofens", asked(topic="stone ofens"), found).text.splitlines()[2:]
    for n, line in enumerate(lines[:5]):
        quotation = line.split(". “")[1].split("”")[0]
        assert quotation.strip("…") in f"{n} {OVEN_TEXT}"
        assert "stone" in quotation and len(quotation) < 160
        assert "ofens" not in line
    only_near = list_answer("q", asked(topic="ofens"), found).text
    assert "“Talk" not in only_near and OVEN_TEXT[:20] not in only_near


def test_a_word_of_the_title_is_not_quoted_again() -> None:
    found = {"sessions": [hit(session(str(n), f"Stone age {n}", abstract=OVEN_TEXT), 0.9) for n in range(5)]}
    assert "heat" not in list_answer("stone", asked(topic="stone"), found).text


def test_a_misspelt_name_that_was_taken_as_another_is_said_and_no_failure() -> None:
    note = 'There is no room "Celar"; taken as Cellar.'
    understanding = asked(topic="ovens", rooms=("Cellar",), notes=[note])
    draft = list_answer("ovens in the celar", understanding, {"sessions": [hit(OVENS, 0.9)]})
    assert note in draft.text and draft.status == "answered"


def test_a_topic_that_is_no_name_of_a_thing_is_quoted() -> None:
    question = "keep my houseplants alive with open hardware"
    assert f"about “{question}”" in list_answer(question, asked(topic=question), {"sessions": []}).text
    assert "about rye bread in" in list_answer("Talks about rye bread?", asked(topic="rye bread"), {}).text
    assert "about “eat” in" in list_answer("Where can I eat?", asked(topic="eat"), {}).text
    assert "about rye in" in list_answer("rye", asked(topic="rye"), {}).text


def test_beside_a_record_that_holds_the_whole_topic_chance_likenesses_are_left_out() -> None:
    results = {"exhibitors": [hit(MILL, 1.0), hit(other(EXHIBITORS, "Tap", text="Beer."), 0.45)]}
    draft = list_answer("the mill stand", asked(EXHIBITORS, topic="mill"), results)
    assert draft.referenced_ids == (MILL.id,)


def test_what_differs_in_all_is_said_once() -> None:
    understanding = asked(topic="sourdough", days=("2024-05-06",))
    text = list_answer("q", understanding, {"sessions": [hit(SOURDOUGH, 0.9), hit(SUNDAY, 0.8)]}).text
    assert text.count("on another day than asked") == 1


def test_a_window_of_time_reads_as_one_and_a_building_as_one_place() -> None:
    rooms = ("K.1", "K.2", "K.3", "K.4", "K.5")
    understanding = asked(topic="rye", days=("2024-05-05",), after=moment(5, "12:00"), before=moment(5, "18:00"))
    understanding = understanding.model_copy(
        update={"filters": understanding.filters.model_copy(update={"rooms": rooms})}
    )
    assert "on Sunday 5 May between 12:00 and 18:00, in K (5 rooms)" in list_answer("q", understanding, {}).text
    first = asked(days=("2024-05-05",), after=moment(5, "14:00"), before=moment(5, "14:01"))
    assert "The programme on Sunday 5 May at 14:00:" in list_answer("q", first, {"sessions": [hit(SUNDAY, 1.0)]}).text


def test_where_nothing_is_left_of_a_question_nothing_is_listed() -> None:
    note = "Nothing is known of your interests yet; say what you are interested in."
    draft = list_answer("recommend me something", asked(notes=[note]), {"sessions": [hit(SUNDAY, 1.0)]})
    assert (draft.referenced_ids, draft.status) == ((), "nothing_found")
    assert draft.text.startswith(note)


def outcome(total: int, hits: list[Found], **query: object) -> SearchOutcome:
    planned = PlannedQuery.model_validate({"table": SESSIONS} | query)
    return SearchOutcome(query=planned, hits=tuple(hits), total=total)


def test_a_list_that_is_cut_says_how_many_more_there_are_and_how_to_see_them() -> None:
    hits = [hit(session(str(n), f"Talk {n}"), 1.0) for n in range(10)]
    saturday = asked(days=("2024-05-04",))
    text = list_answer("sessions", saturday, {"sessions": hits}, outcomes=[outcome(13, hits)]).text
    assert "And 3 more sessions: name a time, a room or a topic to see others." in text
    two = list_answer("q", saturday, {"sessions": hits}, outcomes=[outcome(6, hits[:5]), outcome(5, hits[5:])]).text
    assert "And 1 more session:" in two
    part = list_answer("q", saturday, {"sessions": hits[:7]}, outcomes=[outcome(9, hits[:5]), outcome(2, hits[5:7])])
    assert "And 4 more sessions:" in part.text
    near = [outcome(900, hits, query_text="what suits the person")]
    assert "more session" not in list_answer("q", saturday, {"sessions": hits}, outcomes=near).text
    assert "more session" not in list_answer("q", saturday, {"sessions": hits}, outcomes=[outcome(10, hits)]).text
    longer = [*hits, *(hit(session(str(n), f"Talk {n}"), 1.0) for n in (10, 11))]
    assert "And 2 more sessions" in list_answer("q", saturday, {"sessions": longer}).text


def test_of_a_topic_no_number_is_given_and_more_only_where_the_last_one_holds_it_too() -> None:
    """With an embedding, nearly all records may reach the threshold."""
    hits = [hit(session(str(n), f"Bread {n}"), 0.9) for n in range(10)]
    found = [outcome(1105, hits, query_text="bread")]
    text = list_answer("bread", asked(topic="bread"), {"sessions": hits}, outcomes=found).text
    assert text.endswith("There may be more: name a day, a time or a room to see others.")
    again = list_answer("bread", asked(topic="bread"), {"sessions": hits}, outcomes=found, thinking=[REWRITTEN])
    assert "more" not in again.text
    last = [*hits[:9], hit(session("9", "Cake"), 0.7)]
    assert "more" not in list_answer("bread", asked(topic="bread"), {"sessions": last}, outcomes=found).text
    few = list_answer("bread", asked(topic="bread"), {"sessions": hits[:2]}, outcomes=found)
    assert "more" not in few.text


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


def near(count: int, score: float) -> list[Found]:
    """Records that hold no word of what is asked in these tests."""
    title = "A very long title about wheat that goes on and on and never comes to its end"
    return [hit(session(str(n), f"{n} {title}", time="09:00-09:30"), score) for n in range(100, 100 + count)]


def test_where_nothing_fits_the_three_nearest_are_told_and_all_others_named_in_one_line() -> None:
    found = near(14, 0.3)
    draft = list_answer("bees", asked(topic="bees"), {"sessions": found})
    assert draft.status == "nothing_found"
    assert draft.referenced_ids == tuple(f"sessions:{n}" for n in range(100, 110))
    lines = draft.text.splitlines()
    assert sum(line.startswith("- ") for line in lines) == NEAREST
    assert lines[-1].startswith("Further off: “103 A very long title")
    assert lines[-1].count("(Sat 09:00)") == lines[-1].count("…” [sessions:") == 7
    judged = evaluate_answer("bees", asked(topic="bees"), draft, {"sessions": found})
    assert judged.faithfulness_score == 1.0


def test_beside_what_fits_the_near_ones_are_only_named() -> None:
    found = [hit(OVENS, 0.3), *near(2, 0.2)]
    draft = list_answer("stone ovens", asked(topic="stone ovens"), {"sessions": found})
    assert draft.text.splitlines()[-1].startswith("Perhaps also: “100 A very")
    assert sum(line.startswith("- ") for line in draft.text.splitlines()) == 1
    assert draft.referenced_ids == ("sessions:23", "sessions:100", "sessions:101")


def test_what_is_only_named_is_not_compared_in_time() -> None:
    found = [hit(SOURDOUGH, 0.3), hit(OVENS, 0.2)]
    assert "At the same time" not in list_answer("sourdough", asked(topic="sourdough"), {"sessions": found}).text


def test_a_question_about_the_conference_itself_is_answered_by_its_facts_alone() -> None:
    facts = ("Bread Days is on Saturday, 4 May 2024 to Sunday, 5 May 2024.", "It has 3 [rooms].")
    understanding = asked(notes=facts).model_copy(update={"intent": ABOUT, "tables": ()})
    draft = list_answer("when is Bread Days?", understanding, {}, notes=facts, info=INFO)
    assert (draft.text, draft.status) == (f"{facts[0]} It has 3 (rooms).", "answered")
    judged = evaluate_answer("q", understanding, draft, {})
    assert (judged.quality_score, judged.confidence_score, judged.feedback) == (1.0, 1.0, "")


def test_several_topics_are_named_one_by_one_and_each_may_be_met_alone() -> None:
    understanding = asked(topic="sourdough; ovens")
    both = list_answer("talks about sourdough and ovens", understanding, {"sessions": [hit(SOURDOUGH), hit(OVENS)]})
    assert both.status == "answered"
    assert "What I found about sourdough and ovens:" in both.text
    one = list_answer("talks about sourdough and ovens", understanding, {"sessions": [hit(SOURDOUGH)]})
    assert one.status == "partial"
    assert "I am not sure that anything here is about “ovens”." in one.text
    judged = evaluate_answer("q", understanding, one, {"sessions": [hit(SOURDOUGH)]})
    assert judged.quality_score == pytest.approx(2 / 3)


def test_several_things_are_worded_each_with_its_own_limits() -> None:
    days = (Filters(days=("2024-05-04",)), Filters(days=("2024-05-05",)))
    understanding = asked(topic="rye; ovens", any_of=days, rooms=("Cellar",))
    text = list_answer("rye talks on Saturday and ovens talks on Sunday", understanding, {}).text
    assert "no sessions about rye on Saturday 4 May and about ovens on Sunday 5 May in Cellar" in text


def test_an_alternative_without_limits_is_no_limit_in_words() -> None:
    understanding = asked(any_of=(Filters(days=("2024-05-04",)), Filters()))
    assert list_answer("q", understanding, {"sessions": [hit(SUNDAY, 1.0)]}).text.startswith("The programme:")


def test_a_time_of_day_is_treated_as_a_moment() -> None:
    at_time = asked(at_time=time(10, 40)).model_copy(update={"query_mode": "hybrid"})
    text = list_answer("q", at_time, {"sessions": [hit(SOURDOUGH, 1.0), hit(OVENS, 1.0)]}).text
    assert "at 10:40" in text and "At the same time" not in text


def test_a_window_of_one_minute_is_a_moment() -> None:
    minute = asked(from_time=time(14, 0), until_time=time(14, 1))
    assert list_answer("q", minute, {"sessions": [hit(SUNDAY, 1.0)]}).text.startswith("The programme at 14:00:")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("[CANCELED] Low tide", "**Low tide** [sessions:70]: Cancelled."),
        ("CANCELLED: Low tide", "**Low tide** [sessions:70]: Cancelled."),
        ("(cancelled) Low tide", "**Low tide** [sessions:70]: Cancelled."),
        ("Low tide - CANCELLED, see high tide", "**Low tide - CANCELLED, see high tide** [sessions:70]: Cancelled."),
        ("Cancelled", "**Cancelled** [sessions:70]: Cancelled."),
        ("Cancelling tides", "**Cancelling tides** [sessions:70]: Sat"),
        ("Tides (replaces cancelled talk)", "**Tides (replaces cancelled talk)** [sessions:70]: Sat"),
        ("Cancelled tides of Rome", "**Cancelled tides of Rome** [sessions:70]: Sat"),
    ],
)
def test_a_cancelled_session_is_said_to_be_and_titles_are_not_escaped(title: str, shown: str) -> None:
    found = {"sessions": [hit(session("70", title), 0.9)]}
    assert shown in list_answer("tide", asked(topic="tide"), found).text


def test_a_cancelled_session_overlaps_with_none() -> None:
    found = {"sessions": [hit(SOURDOUGH, 0.9), hit(session("70", "[CANCELED] Sourdough now"), 0.8)]}
    assert "At the same time" not in list_answer("sourdough", asked(topic="sourdough"), found).text


@pytest.mark.parametrize(
    ("record", "score", "status"),
    [
        (SOURDOUGH, 0.4, "answered"),
        (session("5", "Honey sourdough"), 0.4, "answered"),
        (session("5", "Honey cake", abstract="With honey."), 0.6, "answered"),
        (session("5", "Honey cake", abstract="With honey."), 0.4, "partial"),
    ],
)
def test_answered_takes_the_words_of_the_topic_or_a_good_score(record: Record, score: float, status: str) -> None:
    draft = list_answer("sourdough", asked(topic="sourdough"), {"sessions": [hit(record, score)]})
    assert draft.status == status


def test_half_of_the_words_with_a_weak_score_is_not_answered_but_a_word_known_by_its_spelling_counts() -> None:
    half = hit(session("5", "Honey ovens"), 0.4)
    assert list_answer("stone ovens", asked(topic="stone ovens"), {"sessions": [half]}).status == "partial"
    typed = hit(session("6", "Sourdough"), 0.4, "sourdoh")
    assert list_answer("sourdoh", asked(topic="sourdoh"), {"sessions": [typed]}).status == "answered"


def test_a_word_that_names_no_topic_is_not_answered_by_a_chance_likeness() -> None:
    bored = asked(topic="bored").model_copy(update={"standalone": "I'm bored"})
    boring = {"sessions": [hit(session("5", "Boring holes", abstract="So bored."), 0.9)]}
    draft = list_answer("I'm bored", bored, boring)
    assert draft.status == "partial"
    assert "I am not sure that I found anything about “bored”." in draft.text
    named = {"sessions": [hit(session("5", "For the bored"), 0.9)]}
    assert list_answer("I'm bored", bored, named).status == "answered"


def test_what_to_try_next_names_only_limits_that_were_asked_and_not_yet_lifted() -> None:
    limited = asked(topic="bees", tracks=("Baking",), days=("2024-05-04",))
    assert "or without the limits of time or track." in list_answer("bees", limited, {}).text
    assert list_answer("bees", limited, {}, thinking=[REWRITTEN]).text.endswith("Try other words.")
    assert list_answer("bees", asked(topic="bees"), {}).text.endswith("Try other words.")
    assert list_answer("q", asked(rooms=("Cellar",)), {}).text.endswith("Try another place.")


def test_what_was_noted_of_a_person_is_the_answer() -> None:
    told = asked(notes=["Noted.", "What I know of you: your name is Ana."]).model_copy(update={"smalltalk": True})
    draft = list_answer("My name is Ana", told, {}, info=INFO)
    assert (draft.text, draft.status) == ("Noted. What I know of you: your name is Ana.", "answered")
