"""What questions to a made-up festival of another kind ask for; conversations, profiles, smalltalk and the first plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import Filters, Profile, Record, Table, Turn, Understanding
from loopwright.workflows.assistant.understanding import plan, understand

ZONE = ZoneInfo("America/Halifax")
THURSDAY, FRIDAY, SATURDAY = "2026-08-06", "2026-08-07", "2026-08-08"
INFO = ConferenceInfo(
    title="Harbour Days",
    acronym="HD26",
    city="Halifax",
    start=date(2026, 8, 6),
    end=date(2026, 8, 8),
    time_zone="America/Halifax",
    day_change=time(6),
)
# Key, start, minutes, title, room, track, type, language, persons, abstract.
PROGRAMME = [
    ("1", "06 09:00", 60, "Opening: a town on the tide", "Old Library / Reading Room", "Stories", "Keynote", "en",
     ["Zoë Dąbrowska"], "How a harbour town tells its story."),
    ("2", "06 10:30", 45, "Bread from seaweed flour", "Garden Stage", "Food: from Sea to Table", "Workshop", "en",
     ["Søren Kjær", "Aoife Ní Bhriain"], "We bake with kelp and dulse."),
    ("3", "06 14:00", 45, "Weaving nets by hand", "Harbour Hall 1", "Crafts and Making", "Workshop", "fr",
     ["Jean-Luc Thériault"], "Knots, twine and patience."),
    ("4", "06 14:30", 30, "Rust on old ships", "Harbour Hall 2", "Crafts and Making", "Talk", "en",
     ["Mehmet Öztürk"], "Why iron rusts in salt water and how to stop it."),
    ("5", "07 09:30", 45, "Tides and turbines", "Harbour Hall 1", "Energy & Climate", "Talk", "en",
     ["Hanna Müller"], "Power from the tide in the bay."),
    ("6", "07 13:30", 90, "Who owns the coast?", "Old Library / Reading Room", "Energy & Climate", "Panel", "de",
     ["Hanna Müller", "Karl Müller", "Zoë Dąbrowska"], "A debate on coastal law."),
    ("7", "07 23:00", 120, "Songs at midnight", "Garden Stage", "Stories", "Concert", "en",
     ["The Drift"], "Shanties until one in the morning."),
    ("8", "08 10:00", 45, "Boat building for beginners", "Harbour Hall 2", "Crafts and Making", "Workshop", "en",
     ["Aoife Ní Bhriain"], "Planks, glue and a first keel."),
    ("9", "08 16:00", 45, "Closing: what the gulls said", "Garden Stage", "Stories", "Keynote", "en",
     ["Zoë Dąbrowska"], "The last word belongs to the birds."),
]  # fmt: skip


def session(
    key: str,
    start: str,
    minutes: int,
    title: str,
    room: str,
    track: str,
    kind: str,
    language: str,
    persons: list[str],
    text: str,
) -> Record:
    begin = datetime.strptime(f"2026-08-{start}", "%Y-%m-%d %H:%M").replace(tzinfo=ZONE)
    return Record(
        id=f"sessions:{key}",
        table=Table.SESSIONS,
        key=key,
        title=title,
        texts={"title": title, "abstract": text, "track": track},
        fields={
            "day": (begin.date().isoformat(),),
            "room": (room,),
            "track": (track,),
            "type": (kind,),
            "language": (language,),
            "speaker": tuple(persons),
        },
        start=begin,
        end=datetime.fromtimestamp(begin.timestamp() + 60 * minutes, ZONE),
        related=tuple(f"speakers:{person}" for person in persons),
    )


def festival(*, with_attendees: bool = True) -> Catalogue:
    sessions = [session(*row) for row in PROGRAMME]
    persons = {person: None for record in sessions for person in record.values("speaker")}
    speakers = [
        Record(
            id=f"speakers:{name}",
            table=Table.SPEAKERS,
            key=name,
            title=name,
            fields={"speaker": (name,)},
            related=tuple(record.id for record in sessions if name in record.values("speaker")),
        )
        for name in persons
    ]
    stand = Record(id="exhibitors:Kelp & Co", table=Table.EXHIBITORS, key="Kelp & Co", title="Kelp & Co")
    guest = Record(id="attendees:a1", table=Table.ATTENDEES, key="a1", title="Nadia Sands")
    return Catalogue(INFO, [*sessions, *speakers, stand, *([guest] if with_attendees else [])])


CATALOGUE = festival()
NOW = datetime(2026, 8, 7, 9, 45, tzinfo=ZONE)


def shown(filters: Filters) -> dict[str, Any]:
    """What is restricted, with times as day of the month and hour."""
    values = {name: value for name, value in filters if value}
    for name in values.keys() & {"after", "before", "at"}:
        values[name] = f"{values[name]:%d %H:%M}"
    return values


HALLS = ("Harbour Hall 1", "Harbour Hall 2")


@pytest.mark.parametrize(
    ("question", "topic", "filters"),
    [
        ("What's on in Harbour Hall 1 on Friday?", "", {"days": (FRIDAY,), "rooms": HALLS[:1]}),
        ("anything in the Harbour Hall on Thursday afternoon", "",
         {"days": (THURSDAY,), "after": "06 12:00", "before": "06 18:00", "rooms": HALLS}),
        ("what happens in the reading room at 2pm on day 2", "",
         {"days": (FRIDAY,), "at": "07 14:00", "rooms": ("Old Library / Reading Room",)}),
        ("Garden Stage, Saturday", "", {"days": (SATURDAY,), "rooms": ("Garden Stage",)}),
        ("workshops about seaweed", "seaweed", {"types": ("Workshop",)}),
        ("panel discussion on Friday", "", {"days": (FRIDAY,), "types": ("Panel",)}),
        ("Which keynotes does Zoe Dabrowska give?", "", {"types": ("Keynote",), "speakers": ("Zoë Dąbrowska",)}),
        ("talks in German", "", {"languages": ("de",)}),
        ("French workshops", "", {"types": ("Workshop",), "languages": ("fr",)}),
        ("sessions in Deutsch about law", "law", {"languages": ("de",)}),
        ("the Crafts track on Saturday", "", {"days": (SATURDAY,), "tracks": ("Crafts and Making",)}),
        ("what is in the food track", "", {"tracks": ("Food: from Sea to Table",)}),
        ("food from the sea", "food from the sea", {}),
        ("When does Soren Kjaer speak?", "", {"speakers": ("Søren Kjær",)}),
        ("talks by Mehmet Ozturk", "", {"speakers": ("Mehmet Öztürk",)}),
        ("Oeztuerk's talk about ships", "ships", {"speakers": ("Mehmet Öztürk",)}),
        ("Aoife Bhriain", "", {"speakers": ("Aoife Ní Bhriain",)}),
        ("what does Jean Luc Theriault do on Thursday", "", {"days": (THURSDAY,), "speakers": ("Jean-Luc Thériault",)}),
        ("Müller's sessions", "", {"speakers": ("Hanna Müller", "Karl Müller")}),
        ("Hanna Mueller or Karl Mueller", "", {"speakers": ("Hanna Müller", "Karl Müller")}),
        ("what is on at 00:30 on Friday night", "", {"days": (FRIDAY,), "at": "08 00:30"}),
        ("morning of August 7th", "", {"days": (FRIDAY,), "before": "07 12:00"}),
        ("on the 8th of August at ten o'clock", "", {"days": (SATURDAY,), "at": "08 10:00"}),
        ("tidal power 7.8.", "tidal power", {"days": (FRIDAY,)}),
        ("rusting ships, not on Friday", "rusting ships", {"days": (THURSDAY, SATURDAY)}),
        ("how is a keel made", "keel made", {}),
        ("what will change in 5 years", "change in 5 years", {}),
        ("HD26 talks on boats", "boats", {}),
        ("Harbour Days: what is on Saturday?", "", {"days": (SATURDAY,)}),
        ("first session on Friday", "", {"days": (FRIDAY,), "after": "07 09:30", "before": "07 09:31"}),
        ("When is Boat building for beginners?", "Boat building for beginners", {}),
        ("", "", {}),
    ],
)  # fmt: skip
def test_a_question_is_understood(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = understand(question, CATALOGUE)
    assert (understanding.topic, shown(understanding.filters), understanding.notes) == (topic, filters, ())


@pytest.mark.parametrize(
    ("question", "filters"),
    [
        ("What's on now?", {"at": "07 09:45"}),
        ("what is next", {"after": "07 13:30", "before": "07 14:30"}),
        ("next keynote", {"types": ("Keynote",), "after": "08 16:00", "before": "08 16:01"}),
        ("what's on tonight", {"days": (FRIDAY,), "after": "07 17:00"}),
        ("last talk of the day", {"days": (FRIDAY,), "after": "07 23:00", "before": "07 23:01"}),
        ("what was on yesterday", {"days": (THURSDAY,)}),
        ("what is on at 9", {"days": (SATURDAY,), "at": "08 09:00"}),
    ],
)
def test_now_is_the_moment_of_asking_in_the_zone_of_the_festival(question: str, filters: dict[str, Any]) -> None:
    for now in (NOW, NOW.astimezone(ZoneInfo("UTC")), NOW.replace(tzinfo=None)):
        assert shown(understand(question, CATALOGUE, now=now).filters) == filters


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("what is on on Sunday?", "Sunday, 9 August 2026 is no day of the conference"),
        ("who is Grace Hopper?", 'no speaker "Grace Hopper"'),
        ("when does Max Müller speak", 'no speaker "Max Müller"'),
        ("talks by Mehmet Oztruk", "taken as Mehmet Öztürk"),
        ("what's in room B7", 'no room "B7"'),
        ("talks in Japanese", "Nothing is held in Japanese; the schedule has English and German and French."),
        ("Where is the robotics devroom", 'no track "robotics"'),
        ("what should I see?", "Nothing is known of your interests yet"),
    ],
)
def test_what_cannot_be_taken_as_asked_is_noted(question: str, note: str) -> None:
    assert note in " ".join(understand(question, CATALOGUE).notes)


def test_attendees_are_asked_only_where_there_is_a_list_of_them() -> None:
    assert understand("which attendees like sailing?", CATALOGUE).tables == (Table.ATTENDEES,)
    assert understand("who can I talk to about sailing?", CATALOGUE).tables == (
        Table.SPEAKERS,
        Table.ATTENDEES,
        Table.EXHIBITORS,
    )
    without = understand("which attendees like sailing?", festival(with_attendees=False))
    assert without.tables == (Table.SESSIONS,)
    assert without.notes == ("There is no list of attendees.",)


def test_a_conference_without_records_or_dates_is_understood_as_well() -> None:
    understanding = understand("Rust talks by Zoe on Sunday at 14:00 in room 3", Catalogue(None, []))
    assert understanding.tables == (Table.SESSIONS,)
    assert understanding.filters.empty


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ("hi", "greeting"),
        ("Good morning!", "greeting"),
        ("thanks a lot", "thanks"),
        ("ok thank you", "thanks"),
        ("What can you do?", "help"),
        ("?", "help"),
    ],
)
def test_smalltalk_asks_for_nothing(said: str, intent: str) -> None:
    understanding = understand(said, CATALOGUE)
    assert (understanding.smalltalk, understanding.intent) == (True, intent)
    assert plan(understanding, AssistantSection()) == []


def test_a_greeting_before_a_question_is_no_smalltalk() -> None:
    understanding = understand("Good morning! Which workshops are on today?", CATALOGUE, now=NOW)
    assert not understanding.smalltalk
    assert shown(understanding.filters) == {"days": (FRIDAY,), "types": ("Workshop",)}


def turns(*said: tuple[str, Sequence[str]]) -> list[Turn]:
    return [
        turn
        for question, cited in said
        for turn in (
            Turn(role="user", text=question),
            Turn(role="assistant", text="Here is what I found.", referenced_ids=tuple(cited)),
        )
    ]


CRAFTS = turns(("workshops about boats on Thursday", ["sessions:3", "sessions:8", "sessions:2"]))


@pytest.mark.parametrize(
    ("question", "topic", "filters"),
    [
        ("and on Saturday?", "boats", {"days": (SATURDAY,), "types": ("Workshop",)}),
        ("and in the afternoon?", "boats", {"days": (THURSDAY,), "after": "06 12:00", "before": "06 18:00", "types": ("Workshop",)}),
        ("what about seaweed?", "seaweed", {"days": (THURSDAY,), "types": ("Workshop",)}),
        ("only in the Garden Stage", "boats", {"days": (THURSDAY,), "rooms": ("Garden Stage",), "types": ("Workshop",)}),
        ("Friday?", "boats", {"days": (FRIDAY,), "types": ("Workshop",)}),
        ("which of them are in French?", "boats", {"days": (THURSDAY,), "types": ("Workshop",), "languages": ("fr",)}),
        ("what about the second one?", "Boat building for beginners", {}),
        ("who gives it?", "", {"speakers": ("Jean-Luc Thériault",)}),
        ("when is the last one?", "Bread from seaweed flour", {}),
        ("what else does she do?", "", {"speakers": ("Jean-Luc Thériault",)}),
        ("What is on in Harbour Hall 2 on Friday?", "", {"days": (FRIDAY,), "rooms": HALLS[1:]}),
        ("How do people build a boat from seaweed?", "build a boat from seaweed", {}),
    ],
)  # fmt: skip
def test_a_question_leans_on_the_conversation_before_it(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = understand(question, CATALOGUE, history=CRAFTS)
    assert (understanding.topic, shown(understanding.filters)) == (topic, filters)


def test_a_conversation_goes_on_over_several_turns() -> None:
    history = turns(("talks by Hanna Mueller", ["sessions:5"]), ("and Zoe Dabrowska?", ["sessions:1"]), ("thanks", []))
    understanding = understand("and on Friday?", CATALOGUE, history=history)
    assert shown(understanding.filters) == {"days": (FRIDAY,), "speakers": ("Zoë Dąbrowska",)}
    assert "Zoe Dabrowska" in understanding.standalone
    assert "Friday" in understanding.standalone


def test_without_a_conversation_a_question_stands_as_it_is() -> None:
    assert understand("and on Saturday?", CATALOGUE).standalone == "and on Saturday?"
    assert shown(understand("what about the second one?", CATALOGUE).filters) == {}


PROFILE = Profile(user_id="u", interests=("boats", "seaweed"), seeking=("a supplier of kelp",))


@pytest.mark.parametrize(
    ("question", "profile", "mode", "texts"),
    [
        ("What should I see on Thursday?", PROFILE, "profile", ["seaweed", "boats", "a supplier of kelp"]),
        ("something that fits my interests", PROFILE, "profile", ["seaweed", "boats", "a supplier of kelp"]),
        ("anything for me about songs?", PROFILE, "hybrid", ["songs"]),
        ("talks about songs", PROFILE, "specific", ["songs"]),
        ("What should I see on Thursday?", None, "specific", [""]),
        ("What should I see on Thursday?", Profile(user_id="u"), "specific", [""]),
    ],
)
def test_a_profile_decides_where_the_question_leaves_it_to_it(
    question: str, profile: Profile | None, mode: str, texts: list[str]
) -> None:
    understanding = understand(question, CATALOGUE, profile=profile)
    queries = plan(understanding, AssistantSection(), profile)
    assert understanding.query_mode == mode
    assert [query.query_text for query in queries] == texts
    assert {query.search_mode for query in queries} == {"master" if mode == "specific" else "faceted"}


def planned(question: str) -> tuple[Understanding, list[tuple[str, str, dict[str, Any]]]]:
    understanding = understand(question, CATALOGUE)
    queries = plan(understanding, AssistantSection())
    return understanding, [(query.table.value, query.query_text, shown(query.filters)) for query in queries]


def test_a_time_of_day_without_a_day_holds_on_every_day() -> None:
    understanding, queries = planned("workshops at 10:30")
    assert understanding.filters == Filters(at_time=time(10, 30), types=("Workshop",))
    assert len(queries) == 1
    on_then = CATALOGUE.filtered(Table.SESSIONS, understanding.filters)
    assert [record.key for record in on_then] == ["2", "8"]


def test_exhibitors_are_there_at_any_hour() -> None:
    _, queries = planned("talks and stands about kelp on Friday afternoon")
    assert queries == [
        ("sessions", "kelp", {"days": (FRIDAY,), "after": "07 12:00", "before": "07 18:00"}),
        ("exhibitors", "kelp", {"days": (FRIDAY,)}),
    ]


def test_the_plan_takes_limit_and_threshold_from_the_configuration() -> None:
    config = AssistantSection.model_validate({"search": {"limit": 7, "score_threshold": 0.2}})
    (query,) = plan(understand("seaweed", CATALOGUE), config)
    assert (query.limit, query.score_threshold) == (7, 0.2)


def test_a_very_long_question_is_cut() -> None:
    understanding = understand("seaweed " * 10_000, CATALOGUE)
    assert len(understanding.standalone) <= 1_000
