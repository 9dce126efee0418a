"""What questions to two real conferences ask for: every filter, the topic, the tables and the notes."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.conference.reading import read_schedule, read_table
from loopwright.workflows.assistant.schemas import Filters, Table, Understanding
from loopwright.workflows.assistant.understanding import understand

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "fosdem"
SATURDAY = {2024: "2024-02-03", 2025: "2025-02-01"}
SUNDAY = {2024: "2024-02-04", 2025: "2025-02-02"}
MOMENTS = ("after", "before", "at")
TIMES_OF_DAY = ("from_time", "until_time", "at_time")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared FOSDEM schedules are not here")


@cache
def conference(year: int) -> Catalogue:
    schedule = read_schedule(DATA / f"schedule-{year}.xml")
    stands = read_table(DATA / "stands.json", Table.EXHIBITORS)
    return Catalogue(schedule.info, [*schedule.records, *stands.records])


def asked(question: str, year: int, now: str | None = None) -> Understanding:
    return understand(question, conference(year), now=datetime.fromisoformat(now) if now else None)


def shown(filters: Filters) -> dict[str, Any]:
    """What is restricted, with times as day and hour, and rooms and tracks in alphabetical order."""
    values = {name: value for name, value in filters if value}
    for name, value in values.items():
        if name in TIMES_OF_DAY:
            values[name] = f"{value:%H:%M}"
        else:
            values[name] = f"{value:%a %H:%M}" if name in MOMENTS else sorted(value)
    return values


BUILDING_K_2025 = [
    "K.1.105 (La Fontaine)", "K.3.201", "K.3.401", "K.3.601", "K.4.201", "K.4.401", "K.4.601"
]  # fmt: skip
MAIN_TRACKS = ["Main Track - Janson", "Main Track - K Building"]

# Question -> topic, and what is restricted.
PROBES_2025: list[tuple[str, str, dict[str, Any]]] = [
    # time, room and topic at once
    (
        "What is on at 14:00 on Sunday in K building about databases?",
        "databases",
        {"days": [SUNDAY[2025]], "at": "Sun 14:00", "rooms": BUILDING_K_2025},
    ),
    ("Sunday 14:00 Janson", "", {"days": [SUNDAY[2025]], "at": "Sun 14:00", "rooms": ["Janson"]}),
    (
        "What's on in UD2 on Saturday between 10 and 12?",
        "",
        {
            "days": [SATURDAY[2025]],
            "after": "Sat 10:00",
            "before": "Sat 12:00",
            "rooms": ["UD2.120 (Chavanne)", "UD2.208 (Decroly)", "UD2.218A"],
        },
    ),
    (
        "Anything in H.1301 after 3pm on Sunday?",
        "",
        {"days": [SUNDAY[2025]], "after": "Sun 15:00", "rooms": ["H.1301 (Cornil)"]},
    ),
    ("What's in 3.201 on Sunday?", "", {"days": [SUNDAY[2025]], "rooms": ["K.3.201"]}),
    ("what's on in k 3 201 on sunday", "", {"days": [SUNDAY[2025]], "rooms": ["K.3.201"]}),
    ("What is on in building AW?", "", {"rooms": ["AW1.120", "AW1.121", "AW1.126"]}),
    ("what is on in la fontaine on saturday", "", {"days": [SATURDAY[2025]], "rooms": ["K.1.105 (La Fontaine)"]}),
    ("talks in Chavanne or Decroly", "", {"rooms": ["UD2.120 (Chavanne)", "UD2.208 (Decroly)"]}),
    # days
    ("Rust talks on Sunday", "Rust", {"days": [SUNDAY[2025]]}),
    ("postgres performance, saturday", "postgres performance", {"days": [SATURDAY[2025]]}),
    ("talks on the second day about containers", "containers", {"days": [SUNDAY[2025]]}),
    ("what is there on day 1 about security?", "security", {"days": [SATURDAY[2025]]}),
    ("WebAssembly on the last day", "WebAssembly", {"days": [SUNDAY[2025]]}),
    ("talks about education on 1 February", "education", {"days": [SATURDAY[2025]]}),
    ("education talks, February 2nd", "education", {"days": [SUNDAY[2025]]}),
    ("talks on the 2nd about python", "python", {"days": [SUNDAY[2025]]}),
    ("accessibility 2025-02-02", "accessibility", {"days": [SUNDAY[2025]]}),
    ("what is there about LLVM on both days", "LLVM", {}),
    ("anything on postgres? I can't make it on sunday", "postgres", {"days": [SATURDAY[2025]]}),
    ("compilers, but not on Saturday", "compilers", {"days": [SUNDAY[2025]]}),
    ("radio talks on saterday", "radio", {"days": [SATURDAY[2025]]}),
    # times of day
    ("What talks are there on Saturday morning in Janson?", "", {"days": [SATURDAY[2025]], "before": "Sat 12:00", "rooms": ["Janson"]}),
    ("email on Sunday afternoon", "email", {"days": [SUNDAY[2025]], "after": "Sun 12:00", "before": "Sun 18:00"}),
    ("bofs on Saturday evening", "", {"days": [SATURDAY[2025]], "after": "Sat 17:00", "types": ["bof"]}),
    ("talks around 4pm on Sunday about energy", "energy", {"days": [SUNDAY[2025]], "after": "Sun 15:30", "before": "Sun 16:31"}),
    ("containers until 11 on Sunday", "containers", {"days": [SUNDAY[2025]], "before": "Sun 11:00"}),
    ("2-4pm on sunday, kernel", "kernel", {"days": [SUNDAY[2025]], "after": "Sun 14:00", "before": "Sun 16:00"}),
    ("Saturday 10am to noon", "", {"days": [SATURDAY[2025]], "after": "Sat 10:00", "before": "Sat 12:00"}),
    ("10-12 on Saturday in Janson", "", {"days": [SATURDAY[2025]], "after": "Sat 10:00", "before": "Sat 12:00", "rooms": ["Janson"]}),
    ("talks starting at 10 on Sunday", "", {"days": [SUNDAY[2025]], "after": "Sun 10:00", "before": "Sun 10:01"}),
    ("What's on Saturday at 3 in the afternoon", "", {"days": [SATURDAY[2025]], "at": "Sat 15:00"}),
    ("at half past two on Sunday in Janson", "", {"days": [SUNDAY[2025]], "at": "Sun 14:30", "rooms": ["Janson"]}),
    ("14h30 Saturday", "", {"days": [SATURDAY[2025]], "at": "Sat 14:30"}),
    ("after lunch on Sunday: what is there on Kubernetes?", "Kubernetes", {"days": [SUNDAY[2025]], "after": "Sun 13:00"}),
    ("what is on at 14:00 in Janson", "", {"at_time": "14:00", "rooms": ["Janson"]}),
    # the first and the last
    ("What is the last talk on Sunday in Janson?", "", {"days": [SUNDAY[2025]], "after": "Sun 17:50", "before": "Sun 17:51", "rooms": ["Janson"]}),
    ("first talk in the security devroom", "", {"after": "Sat 10:30", "before": "Sat 10:31", "tracks": ["Security"]}),
    # tracks: only where one is meant
    ("What's in the Go devroom on Sunday?", "", {"days": [SUNDAY[2025]], "tracks": ["Go"]}),
    ("Go talks on Saturday", "Go", {"days": [SATURDAY[2025]]}),
    ("Which talks are in the Legal and Policy track?", "", {"tracks": ["Legal and Policy"]}),
    ("in the Rust and Go devrooms", "", {"tracks": ["Go", "Rust"]}),
    ("IAM devroom", "", {"tracks": ["Identity and Access Management"]}),
    ("what's on in the SBOM devroom between 2pm and 4pm on day two", "",
     {"days": [SUNDAY[2025]], "after": "Sun 14:00", "before": "Sun 16:00", "tracks": ["Software Bill of Materials (SBOM)"]}),
    ("the storage devroom", "", {"tracks": ["Software Defined Storage"]}),
    ("Observability devroom on Sunday morning", "", {"days": [SUNDAY[2025]], "before": "Sun 12:00", "tracks": ["Monitoring and Observability"]}),
    ("BOF track A on Sunday", "", {"days": [SUNDAY[2025]], "tracks": ["BOF - Track A"]}),
    ("main track talks in Janson on Saturday", "", {"days": [SATURDAY[2025]], "rooms": ["Janson"], "tracks": MAIN_TRACKS}),
    ("encryption in the Postgresql devroom", "encryption", {"tracks": ["PostgreSQL"]}),
    # types and languages
    ("lightning talks on Saturday afternoon", "", {"days": [SATURDAY[2025]], "after": "Sat 12:00", "before": "Sat 18:00", "types": ["lightningtalk"]}),
    ("which keynotes are there on sunday", "", {"days": [SUNDAY[2025]], "types": ["keynote"]}),
    ("birds of a feather sessions about licensing", "licensing", {"types": ["bof"]}),
    ("talks in English about documentation", "documentation", {"languages": ["en"]}),
    ("the last two talks in Janson on Sunday", "", {"days": [SUNDAY[2025]], "after": "Sun 17:00", "before": "Sun 17:51", "rooms": ["Janson"]}),
    ("dev room for python", "", {"tracks": ["Python"]}),
    ("what can I see at nine thirty on sunday", "", {"days": [SUNDAY[2025]], "at": "Sun 09:30"}),
    ("My name is Jens and I'm looking for talks about Smalltalk", "Smalltalk", {}),
    ("Where can I get coffee?", "get coffee", {}),
    # persons
    ("When does Lennart Poettering speak?", "", {"speakers": ["Lennart Poettering"]}),
    ("talks by Poettering", "", {"speakers": ["Lennart Poettering"]}),
    ("Ludovic Courtes", "", {"speakers": ["Ludovic Courtès"]}),
    ("talks by Ondrej Sury on Sunday", "", {"days": [SUNDAY[2025]], "speakers": ["Ondřej Surý"]}),
    ("Dawn Foster's talks", "", {"speakers": ["Dawn M Foster"]}),
    ("what does RichiH talk about?", "", {"speakers": ['Richard "RichiH" Hartmann']}),
    ("Talks by Daniel Stenberg about curl", "curl", {"speakers": ["Daniel Stenberg"]}),
    ("What do Karen Sandler and Bradley Kuhn present on Sunday?", "", {"days": [SUNDAY[2025]], "speakers": ["Bradley M. Kuhn", "Karen Sandler"]}),
    ("Zbigniew Jedrzejewski Szmek", "", {"speakers": ["Zbigniew Jędrzejewski-Szmek"]}),
    # topics that look like filters and are none
    ("how can I protect my email from spam?", "protect my email from spam", {}),
    ("talks about event driven architecture", "event driven architecture", {}),
    ("memory safety in C", "memory safety in C", {}),
    ("Sun Microsystems and SPARC", "Sun Microsystems and SPARC", {}),
    ("SAT solver talks", "SAT solver", {}),
    ("migrating from Python 2 to 3", "migrating from Python 2 to 3", {}),
    ("scaling from 3 to 4 million users", "scaling from 3 to 4 million users", {}),
    ("How does Home Assistant talk to Zigbee devices?", "Home Assistant talk to Zigbee devices", {}),
    ("decoding H.264 in software", "decoding H.264 in software", {}),
    ("open data streams in python", "open data streams in python", {}),
    ("next generation firewalls", "next generation firewalls", {}),
    ("what is the state of RISC-V today", "state of RISC-V", {}),
    ("internet of things", "internet of things", {}),
    ("live streaming on stage", "live streaming on stage", {}),
    ("talks by women in open source", "women in open source", {}),
    ("Where does Europe stand on licensing?", "Europe stand on licensing", {}),
    ('When is "Rust on Sunday in Janson"?', "Rust on Sunday in Janson", {}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "topic", "filters"), PROBES_2025, ids=[probe[0] for probe in PROBES_2025])
def test_a_question_to_2025_is_understood(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = asked(question, 2025)
    assert (understanding.topic, shown(understanding.filters)) == (topic, filters)
    assert understanding.notes == ()


PROBES_2024: list[tuple[str, str, dict[str, Any]]] = [
    ("What Perl talks are there on Saturday?", "Perl", {"days": [SATURDAY[2024]]}),
    ("Perl and Raku devroom on Saturday afternoon", "",
     {"days": [SATURDAY[2024]], "after": "Sat 12:00", "before": "Sat 18:00", "tracks": ["Perl and Raku devroom"]}),
    ("Which devrooms are in the AW building on Sunday?", "", {"days": [SUNDAY[2024]], "rooms": ["AW1.120", "AW1.121", "AW1.126"]}),
    ("Where is the DNS devroom?", "", {"tracks": ["DNS devroom"]}),
    ("What time does the keynote start?", "", {"types": ["keynote"]}),
    ("retro computing between noon and 3pm on Sunday", "retro computing",
     {"days": [SUNDAY[2024]], "after": "Sun 12:00", "before": "Sun 15:00"}),
    ("Show me talks from 10:00 to 11:30 on Saturday in H.2215", "",
     {"days": [SATURDAY[2024]], "after": "Sat 10:00", "before": "Sat 11:30", "rooms": ["H.2215 (Ferrer)"]}),
    ("talks about Mozilla Firefox in the Mozilla devroom", "Mozilla Firefox", {"tracks": ["Mozilla devroom"]}),
    ("Simon Phipps or Karen Sandler talks", "", {"speakers": ["Karen Sandler", "Simon Phipps"]}),
    ("home automation on Sunday morning in the main track", "home automation",
     {"days": [SUNDAY[2024]], "before": "Sun 12:00", "tracks": MAIN_TRACKS}),
    ("large language models in the AI and Machine Learning devroom", "large language models",
     {"tracks": ["AI and Machine Learning devroom"]}),
    ("LLVM devroom on Sunday from three o'clock", "", {"days": [SUNDAY[2024]], "after": "Sun 15:00", "tracks": ["LLVM devroom"]}),
    ("what's on in H.1302 (Depage) on Sat at 16:30?", "", {"days": [SATURDAY[2024]], "at": "Sat 16:30", "rooms": ["H.1302 (Depage)"]}),
    ("Hello! What sessions about email are on Sat. morning?", "email", {"days": [SATURDAY[2024]], "before": "Sat 12:00"}),
    ("talks on sun at 2pm about security", "security", {"days": [SUNDAY[2024]], "at": "Sun 14:00"}),
    ("Tina Mueller", "", {"speakers": ["Tina Müller"]}),
    ("Tina Muller perl", "perl", {"speakers": ["Tina Müller"]}),
    ("any Chrzaszcz talk", "", {"speakers": ["Paweł Chrząszcz"]}),
    ("does Bartlomiej Piotrowski speak", "", {"speakers": ["Bartłomiej Piotrowski"]}),
    ("Where can I find Daniel Stenberg?", "", {"speakers": ["Daniel Stenberg"]}),
    ("I have 20 minutes at noon on Sunday, what is in Janson?", "", {"days": [SUNDAY[2024]], "at": "Sun 12:00", "rooms": ["Janson"]}),
    ("working in public: keeping track of issues", "working in public: keeping track of issues", {}),
    ("C++ in 2024", "C++", {}),
    ("¿Qué charlas hay sobre bases de datos?", "bases de datos", {}),
    ("今天有什么演讲", "今天有什么演讲", {}),
]  # fmt: skip


@pytest.mark.parametrize(("question", "topic", "filters"), PROBES_2024, ids=[probe[0] for probe in PROBES_2024])
def test_a_question_to_2024_is_understood(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = asked(question, 2024)
    assert (understanding.topic, shown(understanding.filters)) == (topic, filters)
    assert understanding.notes == ()


NOW = "2025-02-01T11:20:00+01:00"


@pytest.mark.parametrize(
    ("question", "topic", "filters"),
    [
        ("What's on now?", "", {"at": "Sat 11:20"}),
        ("what is running in Ferrer right now?", "", {"at": "Sat 11:20", "rooms": ["H.2215 (Ferrer)"]}),
        ("What's next in Janson?", "", {"after": "Sat 12:00", "before": "Sat 12:01", "rooms": ["Janson"]}),
        ("what's next?", "", {"after": "Sat 11:20", "before": "Sat 12:20"}),
        ("talks tomorrow morning about containers", "containers", {"days": [SUNDAY[2025]], "before": "Sun 12:00"}),
        ("what's on this afternoon?", "", {"days": [SATURDAY[2025]], "after": "Sat 12:00", "before": "Sat 18:00"}),
        ("security in the next hour", "security", {"after": "Sat 11:20", "before": "Sat 12:20"}),
        ("what starts in 30 minutes", "", {"at": "Sat 11:50"}),
        ("anything about Rust later today?", "Rust", {"days": [SATURDAY[2025]], "after": "Sat 11:20"}),
        ("what's on at 14:00 in Janson", "", {"days": [SATURDAY[2025]], "at": "Sat 14:00", "rooms": ["Janson"]}),
        ("what's on at 10:00 in Janson", "", {"days": [SUNDAY[2025]], "at": "Sun 10:00", "rooms": ["Janson"]}),
        ("Kubernetes in 30 minutes", "Kubernetes in 30 minutes", {}),
        ("where are we now with RISC-V?", "now with RISC-V", {}),
    ],
)
def test_a_question_is_understood_by_the_moment_of_asking(question: str, topic: str, filters: dict[str, Any]) -> None:
    understanding = asked(question, 2025, NOW)
    assert (understanding.topic, shown(understanding.filters)) == (topic, filters)


@pytest.mark.parametrize(
    ("question", "noted", "filters"),
    [
        ("What is on in room Jansen on Sunday?", "taken as Janson", {"days": [SUNDAY[2025]], "rooms": ["Janson"]}),
        ("What's on in K.9.999?", 'no room "K.9.999"', {"rooms": ["K.9.999"]}),
        ("what is on in the Z building?", 'no building "Z"', {"rooms": ["Z"]}),
        ("What's on Friday evening?", "no day of the conference", {"days": ["2025-01-31"], "after": "Fri 17:00"}),
        ("talks on Monday", "no day of the conference", {"days": ["2025-02-03"]}),
        ("what's on on day 3?", "no day of the conference", {"days": ["2025-02-03"]}),
        ("When does Linus Torvalds speak?", 'no speaker "Linus Torvalds"', {"speakers": ["Linus Torvalds"]}),
        ("Who is Richard Stallman?", 'no speaker "Richard Stallman"', {"speakers": ["Richard Stallman"]}),
        ("when does lenart poetering speak", "taken as Lennart Poettering", {"speakers": ["Lennart Poettering"]}),
        ("Does Drew DeVault give a talk?", 'no speaker "Drew DeVault"', {"speakers": ["Drew DeVault"]}),
        ("Are there talks in French?", "Nothing is held in French", {"languages": ["fr"]}),
        ("What is on today in Janson?", "moment of asking is not known", {"rooms": ["Janson"]}),
        ("What's on now in Janson?", "moment of asking is not known", {"rooms": ["Janson"]}),
    ],
)
def test_what_cannot_be_taken_as_asked_is_noted(question: str, noted: str, filters: dict[str, Any]) -> None:
    understanding = asked(question, 2025)
    assert noted in " ".join(understanding.notes)
    assert shown(understanding.filters) == filters
    assert understanding.topic == ""


def test_a_track_that_does_not_exist_stays_the_topic() -> None:
    understanding = asked("What is in the Haskell devroom?", 2025)
    assert (understanding.topic, understanding.filters) == ("Haskell", Filters())
    assert understanding.notes == ('There is no track "Haskell" in the schedule.',)


@pytest.mark.parametrize(
    ("question", "topic", "tables"),
    [
        ("Which stands are about databases?", "databases", [Table.EXHIBITORS]),
        ("which linux distros have a stand?", "linux distros", [Table.EXHIBITORS]),
        ("booths about network monitoring", "network monitoring", [Table.EXHIBITORS]),
        ("talks and stands about Matrix", "Matrix", [Table.SESSIONS, Table.EXHIBITORS]),
        ("Where can I try a phone running Linux?", "phone running Linux", [Table.EXHIBITORS, Table.SESSIONS]),
        ("Who can I talk to about RISC-V?", "RISC-V", [Table.SPEAKERS, Table.EXHIBITORS]),
        ("Who speaks about eBPF?", "eBPF", [Table.SESSIONS, Table.SPEAKERS]),
        ("Which speakers talk about Rust?", "Rust", [Table.SPEAKERS, Table.SESSIONS]),
        ("Who gives the talk on XZ backdoor?", "XZ backdoor", [Table.SESSIONS, Table.SPEAKERS]),
        ("Who is Jens Monig?", "", [Table.SPEAKERS, Table.SESSIONS]),
        ("GPU vendors and vendor lock-in", "GPU vendors and vendor lock-in", [Table.SESSIONS]),
        (
            "What should I see about Rust on Sunday afternoon, and who can I talk to?",
            "Rust",
            [Table.SESSIONS, Table.SPEAKERS, Table.EXHIBITORS],
        ),
    ],
)
def test_the_tables_are_those_that_are_asked_for(question: str, topic: str, tables: list[Table]) -> None:
    understanding = asked(question, 2025)
    assert (understanding.topic, list(understanding.tables)) == (topic, tables)


def without_accents(name: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", name) if not unicodedata.combining(letter))


PERSON_QUESTIONS = (
    "talks by {}", "When does {} speak?", "{}", "who is {}?", "{}'s talk on Sunday", "is {} giving a talk"
)  # fmt: skip


@pytest.mark.parametrize("year", [2024, 2025])
def test_every_speaker_is_found_with_and_without_accents(year: int) -> None:
    catalogue = conference(year)
    written = [(name, way) for name in catalogue.values("speaker") for way in {name, without_accents(name).lower()}]
    missed = [
        question
        for n, (name, way) in enumerate(written)
        for question in (PERSON_QUESTIONS[n % len(PERSON_QUESTIONS)].format(way),)
        if name not in understand(question, catalogue).filters.speakers
    ]
    # A name of three letters that is a common word needs a sign that a person is meant.
    assert [question for question in missed if question.lower() != "don"] == []


def mistyped(name: str) -> str:
    """A name with the second and the third letter of its longest word swapped."""
    word = max(name.split(), key=len)
    return name.replace(word, word[0] + word[2] + word[1] + word[3:])


@pytest.mark.parametrize("year", [2024, 2025])
def test_speakers_are_found_by_mistyped_names(year: int) -> None:
    catalogue = conference(year)
    names = [name for name in catalogue.values("speaker") if len(name.split()) == 2 and len(name) > 9]
    questions = [
        ("talks by {}", "when does {} speak?")[n % 2].format(mistyped(name).lower()) for n, name in enumerate(names)
    ]
    missed = [
        question
        for name, question in zip(names, questions, strict=True)
        if name not in understand(question, catalogue).filters.speakers
    ]
    assert len(missed) / len(names) < 0.01, missed


@pytest.mark.parametrize("year", [2024, 2025])
@pytest.mark.parametrize(
    "question", ["What is on in {} on Sunday?", "room {} at 14:00 on Saturday", "{} Sunday morning"]
)
def test_every_room_is_found_by_each_of_its_names(year: int, question: str) -> None:
    catalogue = conference(year)
    for room in catalogue.values("room"):
        for name in {room, *room.removesuffix(")").split(" (")}:
            understanding = understand(question.format(name), catalogue)
            assert (understanding.filters.rooms, understanding.topic) == ((room,), ""), question.format(name)


@pytest.mark.parametrize("year", [2024, 2025])
@pytest.mark.parametrize("question", ["What is on in the {} devroom?", "Sessions in the {} track on Sunday"])
def test_every_track_is_found_by_its_name(year: int, question: str) -> None:
    catalogue = conference(year)
    for track in catalogue.values("track"):
        name = track.removesuffix(" devroom")
        if " - " in name:
            continue
        understanding = understand(question.format(name), catalogue)
        assert (understanding.filters.tracks, understanding.topic) == ((track,), ""), question.format(name)


@pytest.mark.parametrize("year", [2024, 2025])
def test_the_topic_of_a_talk_filters_nothing(year: int) -> None:
    """Titles without their second word are topics; those that name a devroom or a kind of session may filter by it."""
    catalogue = conference(year)
    filtered: list[str] = []
    topics = 0
    for record in catalogue.of_table(Table.SESSIONS):
        words = record.title.split()
        if len(words) < 5 or any(
            said in record.title.lower() for said in ("devroom", "dev room", "bof", "lightning talk")
        ):
            continue
        topics += 1
        question = f"talks about {' '.join([words[0], *words[2:]])}"
        filters = understand(question, catalogue).filters
        if not filters.empty and not set(filters.speakers) & set(record.values("speaker")):
            filtered.append(question)
    assert topics > 500
    assert len(filtered) <= 2, filtered


@pytest.mark.parametrize("question", ["what is in room UB5.999", "UB5.999", "what is on in UB5.999?"])
def test_a_room_that_does_not_exist_is_no_other_one(question: str) -> None:
    understanding = asked(question, 2025)
    assert (understanding.topic, understanding.filters) == ("", Filters(rooms=("UB5.999",)))
    assert understanding.notes == ('There is no room "UB5.999" in the schedule.',)


def test_small_words_of_other_languages_name_nobody() -> None:
    assert asked("domingo por la tarde", 2025).filters.speakers == ()
    assert asked("Wo ist der Vortrag von Alex Domingo?", 2025).filters.speakers == ("Alex Domingo",)
