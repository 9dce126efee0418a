"""Questions to the sample conference that ask for several things, lean on a session, name exhibitors or other words."""

from __future__ import annotations

from datetime import datetime, time
from functools import cache
from typing import Any

import pytest

from loopwright.workflows.assistant.answering.fitting import met, unmet
from loopwright.workflows.assistant.conference.catalogue import Catalogue, current
from loopwright.workflows.assistant.conference.sample import sample_store
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.loosening import can_be_loosened, loosened
from loopwright.workflows.assistant.schemas import Filters, Profile, Table, Turn, Understanding
from loopwright.workflows.assistant.understanding import plan, understand
from loopwright.workflows.assistant.understanding.about import ABOUT

SATURDAY, SUNDAY = "2027-04-17", "2027-04-18"


@cache
def sample() -> Catalogue:
    return current(sample_store())


def asked(question: str, **known: Any) -> Understanding:
    return understand(question, sample(), **known)


def shown(filters: Filters) -> dict[str, Any]:
    """What is restricted, with times as day of the month and hour; the sessions that others are told by left out."""
    values = {name: value for name, value in filters if value and name != "without"}
    for name, value in values.items():
        if isinstance(value, datetime):
            values[name] = f"{value:%d %H:%M}"
        elif isinstance(value, time):
            values[name] = f"{value:%H:%M}"
        elif name == "any_of":
            values[name] = [shown(each) for each in value]
    return values


def planned(question: str) -> list[tuple[str, str, dict[str, Any]]]:
    queries = plan(asked(question), AssistantSection())
    return [(query.table.value, query.query_text, shown(query.filters)) for query in queries]


def titles(filters: Filters) -> list[str]:
    return [record.title for record in sample().filtered(Table.SESSIONS, filters)]


@pytest.mark.parametrize(
    ("question", "queries"),
    [
        (
            "Bread on Saturday and batteries on Sunday",
            [("sessions", "Bread", {"days": (SATURDAY,)}), ("sessions", "batteries", {"days": (SUNDAY,)})],
        ),
        ("talks about bread or cheese", [("sessions", "bread", {}), ("sessions", "cheese", {})]),
        (
            "talks about bread, cheese or kelp on Sunday",
            [("sessions", topic, {"days": (SUNDAY,)}) for topic in ("bread", "cheese", "kelp")],
        ),
        (
            "on Sunday something about soil, then lunch, then kelp",
            [
                ("sessions", "soil", {"days": (SUNDAY,), "before": "18 12:00"}),
                ("sessions", "kelp", {"days": (SUNDAY,), "after": "18 13:00"}),
            ],
        ),
        (
            "something about soil, then lunch, then kelp",
            [("sessions", "soil", {"until_time": "12:00"}), ("sessions", "kelp", {"from_time": "13:00"})],
        ),
        (
            "what is on on Saturday morning and Sunday afternoon",
            [
                ("sessions", "", {"days": (SATURDAY,), "before": "17 12:00"}),
                ("sessions", "", {"days": (SUNDAY,), "after": "18 12:00", "before": "18 18:00"}),
            ],
        ),
        (
            "is there a keynote about the sun on Sunday and a workshop about nets on Saturday?",
            [
                ("sessions", "sun", {"days": (SUNDAY,), "types": ("keynote",)}),
                ("sessions", "nets", {"days": (SATURDAY,), "types": ("workshop",)}),
            ],
        ),
        ("maps and data on Sunday", [("sessions", "maps and data", {"days": (SUNDAY,)})]),
        ("between 10 and 12 on Sunday", [("sessions", "", {"days": (SUNDAY,), "after": "18 10:00", "before": "18 12:00"})]),
        (
            "talks by Hedda Solvang or Noor Haddad",
            [("sessions", "", {"speakers": ("Hedda Solvang", "Noor Haddad")})],
        ),
    ],
)  # fmt: skip
def test_each_part_of_a_question_is_searched(question: str, queries: list[tuple[str, str, dict[str, Any]]]) -> None:
    assert planned(question) == queries


def test_the_parts_of_a_question_share_the_answer() -> None:
    queries = plan(asked("talks about bread, cheese or kelp"), AssistantSection())
    assert [query.limit for query in queries] == [4, 4, 4]


def test_a_question_with_two_times_lets_through_what_fits_either() -> None:
    understanding = asked("what is on on Saturday morning and Sunday afternoon")
    either = titles(understanding.filters)
    assert "Bread from old wheat" in either and "Closing and the bell" in either
    assert "Goats against wildfire" not in either


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("right after the opening", {"days": (SATURDAY,), "after": "17 10:00", "before": "17 10:30"}),
        ("what comes after Goats against wildfire?", {"days": (SATURDAY,), "after": "17 15:10"}),
        ("before the closing session", {"days": (SUNDAY,), "before": "18 17:15"}),
        ("right before the closing", {"days": (SUNDAY,), "after": "18 15:45", "before": "18 17:15"}),
        ("while Heat from the sewer is on", {"before": "17 16:00", "ends_after": "17 15:20"}),
        ("what overlaps with the talk by Pavel Hruška?", {"before": "17 16:00", "ends_after": "17 15:20"}),
        ("what is parallel to the sewer talk", {"before": "17 16:00", "ends_after": "17 15:20"}),
        ("during the concert", {"before": "17 23:30", "ends_after": "17 21:00"}),
        (
            "between Bread from old wheat and Goats against wildfire",
            {"days": (SATURDAY,), "after": "17 10:40", "before": "17 14:30"},
        ),
    ],
)
def test_a_time_is_told_by_a_session(question: str, filters: dict[str, Any]) -> None:
    understanding = asked(question)
    assert (understanding.topic, shown(understanding.filters), understanding.notes) == ("", filters, ())


def test_what_overlaps_with_a_session_is_on_in_the_meantime_and_not_the_session_itself() -> None:
    overlapping = titles(asked("what overlaps with Heat from the sewer?").filters)
    assert len(overlapping) == 5 and "Sign language for tour guides" in overlapping
    assert "Heat from the sewer" not in overlapping


def test_of_several_sessions_the_first_on_the_day_is_meant_and_a_note_says_so() -> None:
    understanding = asked("right after the keynote on Sunday")
    assert shown(understanding.filters) == {"days": (SUNDAY,), "after": "18 10:20", "before": "18 11:20"}
    assert "The sun does not send a bill, but the grid does" in " ".join(understanding.notes)
    later = asked("right after the keynote", now=datetime.fromisoformat("2027-04-18T12:00"))
    assert (shown(later.filters)["after"], later.notes) == ("18 17:45", ())


def test_my_talks_are_those_of_the_name_in_the_profile() -> None:
    mine = asked("what should I see between my two talks?", profile=Profile(user_id="u", name="Hedda Solvang"))
    assert shown(mine.filters) == {"days": (SATURDAY,), "after": "17 11:30", "before": "17 15:20"}
    assert "Which talks are yours is not known" in " ".join(asked("between my two talks").notes)


@pytest.mark.parametrize("question", ["security after the fact", "life before electricity", "tests while compiling"])
def test_a_topic_that_only_sounds_like_a_relation_stays_whole(question: str) -> None:
    understanding = asked(question)
    assert (understanding.topic, shown(understanding.filters)) == (question, {})


@pytest.mark.parametrize(
    ("question", "topic", "tables"),
    [
        ("Tell me about Attic Knitters", "Attic Knitters", (Table.EXHIBITORS, Table.SESSIONS)),
        ("Who are the Attic Kniters?", "Attic Kniters", (Table.EXHIBITORS, Table.SESSIONS)),
        ("Korero Speech Lab", "Korero Speech Lab", (Table.EXHIBITORS, Table.SESSIONS)),
        ("Where is the stand of Salt & Kelp?", "Salt & Kelp", (Table.EXHIBITORS,)),
        ("does Roofshare have a booth", "Roofshare", (Table.EXHIBITORS,)),
        ("tell me about Roofshare", "Roofshare", (Table.EXHIBITORS, Table.SESSIONS)),
        ("talks about Roofshare", "Roofshare", (Table.SESSIONS,)),
    ],
)
def test_exhibitors_are_known_by_name(question: str, topic: str, tables: tuple[Table, ...]) -> None:
    understanding = asked(question)
    assert (understanding.topic, understanding.tables, understanding.filters) == (topic, tables, Filters())


def turns(question: str, cited: str) -> list[Turn]:
    return [Turn(role="user", text=question), Turn(role="assistant", text="Found.", referenced_ids=(cited,))]


def test_an_exhibitor_or_a_session_of_the_last_answer_may_be_meant() -> None:
    stand = asked("do they have a booth?", history=turns("Tell me about Roofshare", "exhibitors:Roofshare"))
    assert (stand.topic, stand.tables) == ("Roofshare", (Table.EXHIBITORS,))
    sewer = next(record for record in sample().of_table(Table.SESSIONS) if record.title == "Heat from the sewer")
    clash = asked("what overlaps with it?", history=turns("heat", sewer.id))
    assert shown(clash.filters) == {"before": "17 16:00", "ends_after": "17 15:20"}


def test_where_a_person_has_no_filter_the_name_is_searched() -> None:
    assert planned("does Hedda Solvang have a stand?") == [("exhibitors", "Hedda Solvang", {})]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When does the conference start?", "the first session begins at 09:30"),
        ("when does it end on Sunday?", "the last ends at 17:45"),
        ("Where is Tidewater 2027?", "Old Rope Works and Customs House, Porto"),
        ("where is the venue?", "Porto"),
        ("How many talks are there?", "71 talks"),
        ("how many workshops are on Sunday?", "There are 5 workshops"),
        ("how many exhibitors are there", "25 exhibitors"),
        ("Which tracks are there?", "Food and Farming"),
        ("what rooms are there", "Customs Quay"),
        ("which languages are spoken?", "Portuguese"),
        ("What is Tidewater 2027?", "71 sessions"),
    ],
)
def test_the_conference_itself_is_told_from_its_data(question: str, told: str) -> None:
    understanding = asked(question)
    assert (understanding.intent, understanding.tables) == (ABOUT, ())
    assert told in " ".join(understanding.notes)
    assert plan(understanding, AssistantSection()) == []


@pytest.mark.parametrize(
    "question", ["when does the workshop on nets start?", "how many talks are about bread?", "where is the Library?"]
)
def test_other_questions_are_searched(question: str) -> None:
    assert asked(question).tables == (Table.SESSIONS,)


@pytest.mark.parametrize(
    ("question", "topic", "filters"),
    [
        ("Was läuft am Samstag um 14 Uhr 30?", "", {"days": (SATURDAY,), "at": "17 14:30"}),
        ("Welche Vorträge gibt es am Sonntagvormittag über Käse?", "Käse", {"days": (SUNDAY,), "before": "18 12:00"}),
        ("conférences samedi après-midi à 14h30", "", {"days": (SATURDAY,), "at": "17 14:30"}),
        ("conférences dimanche entre 10h et 12h", "", {"days": (SUNDAY,), "after": "18 10:00", "before": "18 12:00"}),
        (
            "qué charlas hay el domingo por la mañana sobre agua",
            "agua",
            {"days": (SUNDAY,), "before": "18 12:00"},
        ),
        ("charlas a las 3 de la tarde del sábado", "", {"days": (SATURDAY,), "at": "17 15:00"}),
        ("wat is er zondagmiddag om 14 uur", "", {"days": (SUNDAY,), "at": "18 14:00"}),
        (
            "O que há no sábado à tarde sobre energia?",
            "energia",
            {"days": (SATURDAY,), "after": "17 12:00", "before": "17 18:00"},
        ),
        ("palestras às 14h30 no domingo", "", {"days": (SUNDAY,), "at": "18 14:30"}),
        ("sabado de manha", "", {"days": (SATURDAY,), "before": "17 12:00"}),
        ("quando fala Rui Quintela?", "", {"speakers": ("Rui Quintela",)}),
        ("talks on Samstag about bread", "bread", {"days": (SATURDAY,)}),
        ("When is Pflege im Dorf: der Bus, der zum Menschen kommt?", "Pflege im Dorf: der Bus, der zum Menschen kommt", {}),
    ],
)  # fmt: skip
def test_days_and_times_are_read_in_other_languages(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = asked(question)
    assert (understanding.topic, shown(understanding.filters)) == (topic, filters)


def test_a_time_of_day_holds_on_every_day_and_at_night_follows_the_evening() -> None:
    at_night = titles(asked("what is on at 01:00").filters)
    assert at_night == ["Night listening: the river under the bridge"]
    evening = titles(asked("sessions in the evening").filters)
    assert {"Harbour concert and dinner", "Night listening: the river under the bridge"} <= set(evening)
    assert "Night listening: the river under the bridge" not in titles(asked("sessions in the morning").filters)


def test_a_time_of_day_is_loosened_to_the_hours_around_it() -> None:
    filters = Filters(at_time=time(3, 0), types=("workshop",))
    assert can_be_loosened(filters)
    (nearest, _), *_, (last, _) = loosened(filters, sample().info)
    assert (nearest.from_time, nearest.until_time, nearest.at_time) == (time(2, 0), time(5, 0), None)
    assert last == Filters()


def test_a_record_is_judged_by_the_alternative_that_it_fits_best() -> None:
    bread = next(record for record in sample().of_table(Table.SESSIONS) if record.title == "Bread from old wheat")
    either = asked("what is on on Saturday morning and Sunday afternoon").filters
    assert met(bread, either) == {"day": True, "time": True}
    assert unmet(bread, asked("sessions in the evening").filters) == ("time",)
