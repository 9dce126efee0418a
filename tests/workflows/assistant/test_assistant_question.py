"""What a question asks for: conditions, what is excluded, what is to be done, and what a later turn replaces."""

import re
from datetime import datetime
from functools import cache
from importlib import resources

import pytest
import yaml
from assistant_answers import INFO, session
from conferences import sample_services, search

from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.question.names import names_of
from loopwright.workflows.assistant.question.understanding import understand
from loopwright.workflows.assistant.schemas import ChatResult, Profile, Question, Record, Slot, Table, Turn
from loopwright.workflows.assistant.searching.lexicon import LANGUAGES, table
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.sources.storing import contribution_of, info_contribution
from loopwright.workflows.assistant.workflow import chat

SATURDAY, SUNDAY = "2027-04-17", "2027-04-18"
NOW = datetime.fromisoformat(f"{SATURDAY}T11:05:00")
MOST_ENTRIES = 60


def read(text: str, *turns: Turn, profile: Profile | None = None) -> Question:
    return understand(text, search(), now=NOW, history=turns, profile=profile)


@cache
def nobodys() -> Services:
    """For questions of nobody, of whom nothing is remembered."""
    return sample_services()


def said(text: str) -> ChatResult:
    return chat(text, user_context={"now": NOW.isoformat()}, services=nobodys())


def asked(question: Question, slot: Slot) -> list[tuple[object, ...]]:
    return [each.values or (each.least, each.most) for each in question.filters.include if each.slot == slot]


def barred(question: Question, slot: Slot) -> list[tuple[object, ...]]:
    return [each.values or (each.least, each.most) for each in question.filters.exclude if each.slot == slot]


@pytest.mark.parametrize(
    ("text", "slot", "values"),
    [
        ("what was on last night at midnight?", "day", ("2027-04-16",)),
        ("I leave at 3 on Sunday, so nothing after that. What radio is there that day?", "day", (SUNDAY,)),
        ("my train leaves at 4 on Sunday so what about radio can I hear before", "end", (None, 960)),
        ("what will I miss if I leave at 3?", "start", (900, None)),
        ("Between 2 and 4 is best for me, anything on radio?", "start", (840, 960)),
        ("everything on Saturday evening at 8", "on", (1200, 1201)),
        ("I arrive on Friday evening, what is there on Saturday at 10?", "on", (600, 601)),
        ("ik kan zondag pas vanaf 14 uur, wat is er over compost?", "start", (840, None)),
        ("what is there about AI in the morning", "start", (None, 720)), ("what about Sun?", "day", (SUNDAY,)),
        ("who has the Sun morning walk?", "day", (SUNDAY,)), ("anything on day 2", "day", (SUNDAY,)),
        ("the last day", "day", (SUNDAY,)), ("Vorträge am Sonntag", "day", (SUNDAY,)),
        ("lezingen op zondagochtend", "day", (SUNDAY,)), ("há palestras sobre compost no domingo?", "day", (SUNDAY,)),
        ("talks on 18 avril, maybe 3 of them", "day", (SUNDAY,)), ("talks on April 31st", "day", ("none",)),
        ("was läuft am 18.4.?", "day", (SUNDAY,)), ("talks on 2027-04-20", "day", ("none",)),
        ("anything on the 18th?", "day", (SUNDAY,)), ("was gibt es am 18. im Quay?", "day", (SUNDAY,)),
        ("what is on at 1 am?", "on", (1500, 1501)), ("talks about radio on sonday", "day", (SUNDAY,)),
        ("talks on Sunday before 11", "start", (None, 660)), ("from 14:30 on", "start", (870, None)),
        ("between 2 and 4 pm", "start", (840, 960)), ("what starts at half past two", "start", (870, 871)),
        ("what starts in the next 20 minutes", "start", (665, 686)), ("at 3 or later", "start", (900, None)),
        ("what is on at noon in the Attic", "on", (720, 721)), ("talks that end before 12:30", "end", (None, 750)),
        ("what was on in the Attic half an hour ago", "on", (635, 636)),
        ("radio talks within the next hour", "start", (665, 726)), ("um 10 oder früher", "start", (None, 601)),
        ("when is the last talk of the day?", "day", (SATURDAY,)), ("à deux heures et quart", "on", (855, 856)),
        ("talks over 20 minutes about radio", "minutes", (21, None)),
        ("radio, shorter than 20 minutes", "minutes", (None, 19)),
        ("what is on tomorrow at 2pm that is not about radio", "on", (840, 841)),
        ("lezingen over radio morgenmiddag", "day", (SUNDAY,)),
        ("quoi de neuf sur la radio cet après-midi ?", "start", (720, 1080)),
        ("was läuft um viertel nach zwei im Great Hall?", "on", (855, 856)),
        ("what can I see of food before my talk at 5 pm", "start", (None, 1020)),
        ("what is on the day after tomorrow?", "day", ("2027-04-19",)),
        ("which radio talks are on now?", "on", (665, 666)), ("the next three talks about radio", "start", (665, None)),
        ("what is on during the talk “Bread from old wheat”?", "on", (600, 640)),
        ("what else is on at the same time as the bread talk?", "on", (600, 640)),
        ("something about radio, not longer than an hour", "minutes", (None, 60)),
        ("talks about radio that take 20 minutes at most", "minutes", (None, 20)),
        ("which radio talks are just 20 minutes?", "minutes", (20, 20)),
        ("what is on in 20 minutes in the Great Hall?", "on", (685, 686)),
        ("radio on Saturday, no wait, Sunday", "day", (SUNDAY,)),
        ("I'm free on Sunday between 2 and 4 pm, is there anything on radio?", "end", (None, 960)),
        ("which keynotes are there?", "type", ("keynote",)), ("is amara diallo on?", "person", ("Amara Diallo",)),
        ("when does Amara Dialo speak?", "person", ("Amara Diallo",)),
        ("is Amara up more than once?", "person", ("Amara Diallo",)),
        ("what is on in the Great Hall?", "room", ("Great Hall (R.0.10)",)),
        ("what is on at the quay?", "room", ("Customs Quay",)), ("Was läuft im Quay?", "room", ("Customs Quay",)),
        ("what is on in C.3.20?", "room", ("C.3.20 (Attic)",)),
        ("is “Bread from old wheat, too” the same as “Bread from old wheat”?", "record", ("sessions:1161",)),
    ],
)  # fmt: skip
def test_conditions_are_read(text: str, slot: Slot, values: tuple[object, ...]) -> None:
    assert asked(read(text), slot) == [values]


@cache
def misleading() -> Search:
    """Rooms, kinds and persons that are called like words of plain speech, on two weekends."""
    store = open_store("memory")
    store.put([info_contribution(INFO)])
    for day, kind in zip((3, 4, 5, 10, 11, 12), ["-", "other", "talk"] * 2, strict=True):
        talk = session(str(day), "Rust H.264", day=day, room="Room A", speakers=("Jo Doe (Google)", "Al Røe (Google)"))
        fields = {**talk.fields, "type": (kind,), "language": (), "room": ("Room A",)[: day != 3]}
        store.put([contribution_of(talk.model_copy(update={"fields": fields}))])
    return Search(store)


@pytest.mark.parametrize(
    ("text", "slot", "values"),
    [
        ("is there a talk on Rust on Sunday?", "room", []), ("what is on in room A?", "room", [("Room A",)]),
        ("which other talks are there?", "type", []),
        ("Rust from Friday to Sunday", "day", [tuple(f"2024-05-{day:02}" for day in (3, 4, 5, 10, 11, 12))]),
        ("from Monday to Wednesday", "day", [("none",)]),
        ("Rust from Friday and Sunday", "day", [tuple(f"2024-05-{day:02}" for day in (3, 10, 5, 12))]),
        ("Rust between Saturday 4 May and Sunday 5 May", "day", [("2024-05-04", "2024-05-05")]),
        ("talks in English", "language", []), ("talks about Google", "person", []), ("H.264 in Rust", "room", []),
        ("talks by Al Roe", "person", [("Al Røe (Google)",)]),
        ("are there any Next.js talks?", "start", []), ("we are about twelve people: Rust?", "on", []),
    ],
)  # fmt: skip
def test_names_that_mislead(text: str, slot: Slot, values: list[tuple[object, ...]]) -> None:
    question = understand(text, misleading(), now=NOW)
    assert asked(question, slot) == values
    assert not asked(understand("and after that?", misleading(), history=turns("Rust", "sessions:3")), "room")
    assert len(question.notes) == (slot == "language") + 2 * (values == [("none",)])
    assert understand("which workshops does Jo Doe give?", misleading(), now=NOW).unread == ("workshops",)


PROGRAMME = {
    "Registration": "08:00-09:00 Foyer", "Opening Ceremony": "09:00-09:30 Hall A", "Scaling Postgres": "10:00-10:45 Hall A", "A tour of C++": "10:30-11:15 Hall B",
    "C for ASP.NET": "12:00-12:30 Hall B", "Q&A": "13:00-13:30 Hall B", "Machine Learning": "14:00-14:30 Hall B", "Learning of a machine": "14:30-15:00 Hall A", "Closing Bread Days": "16:00-16:30 Hall A", "After-party": "19:00-23:00 Bar",
    "Opening the flour": "11:30-12:00 Hall B", "Saturday evening": "18:30-19:00 Foyer", "Hall B": "18:00-18:30 Hall B", "A workshop of rye": "17:00-17:40 Hall A", "Workshop: oats": "17:30-18:00 Hall B",
}  # fmt: skip
GARDEN = {
    "Keynote": "09:00-10:00 Großer Saal", "Bees": "10:30-11:15 Kleiner Saal", "Panel": "12:20-13:00 Großer Saal", "Lunch": "13:10-14:10 Bar", "Worms": "14:10-15:00 Saal 1",
    "Sunday roses": "10:45-11:30 Saal 1", "Sunday lunch": "11:30-12:10 Bar", "Sunday ponds": "12:15-13:00 Großer Saal",
}  # fmt: skip
LATE = {"A workshop of rye", "Workshop: oats", "Hall B", "Saturday evening", "After-party"}


@cache
def services_for(garden: bool) -> Services:
    store = open_store("memory")
    programme = (GARDEN if garden else PROGRAMME).items()
    talks = (session(n, n, day=4 + n.startswith("Sunday"), time=told[:11], room=told[12:], speakers=["Ana Reis"][: "unch" not in n]) for n, told in programme)  # fmt: skip
    stands = (Record(id=f"exhibitors:{n}", table=Table.EXHIBITORS, key=n, title=n) for n in ("Reis", "Bar", "Next"))
    store.put([info_contribution(INFO), *map(contribution_of, (*talks, *stands))])
    return Services.of(AssistantConfig(), store)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("When is the Opening Ceremony?", {"Opening Ceremony"}), ("When is the opening?", {"Opening Ceremony"}), ("the first session", {"Registration"}),
        ("how long until the closing?", {"Closing Bread Days"}), ("What is after the closing?", LATE), ("When is the After-party?", {"After-party"}),
        ("Who gives Scaling Postgres?", {"Scaling Postgres"}), ("talks about machine learning", {"Machine Learning", "Learning of a machine"}), ("When is the Q&A?", {"Q&A"}),
        ("talks about C++", {"A tour of C++"}), ("talks about C", {"C for ASP.NET"}), ("what is there on .NET?", {"C for ASP.NET"}),
        ("what ends at 10:45?", {"Scaling Postgres"}), ("I leave when it ends at 11:15, what is on in Hall A before?", "in Hall A ending before 11:15"),
        ("which talks overlap?", {"Scaling Postgres", "A tour of C++", "A workshop of rye", "Workshop: oats"}),
        ("where is the Bar?", {"After-party"}), ("who is Ana Reis?", "Ana Reis has"), ("Next", {"Opening Ceremony"}),
        ("compare the two openings", {"Opening Ceremony", "Opening the flour"}),
        ("do the workshops overlap?", {"A workshop of rye", "Workshop: oats"}), ("do the tutorials overlap?", set[str]()), ("Which talks overlap in the morning?", {"Scaling Postgres", "A tour of C++"}),
        ("Plan my day without overlaps", "I make no plan: what I list may overlap."), ("which rooms are there?", "The rooms are: Bar, Foyer, Hall A, Hall B."), ("which venues are there?", "The rooms are: Bar, Foyer, Hall A, Hall B."),
        ("Which rooms are free at 10:40?", "without a session (at 10:40) are: Bar, Foyer."), ("how many rooms are free at 10:40?", "There are 2 rooms without a session"),
        ("any free rooms between 11:00 and 12:00?", "11:00 and 12:00) are: Bar, Foyer, Hall A."), ("which rooms are empty now?", "(today, now) are: Bar, Hall A, Hall B."),
        ("which rooms are free all day?", "no rooms without a session."), ("which rooms are available?", "The rooms are: Bar, Foyer, Hall A, Hall B."),
        ("what's on at 17:45 in Hall B?", {"Workshop: oats"}), ("Saturday evening", LATE), ("what ends at 10:45 on Saturday?", "What I found on Saturday"),
        ("what ends on Saturday at 10:45?", {"Scaling Postgres"}), ("machine learning at 14:30", {"Learning of a machine"}), ("no machine learning, only Hall A after 14:00", {"Closing Bread Days", "A workshop of rye"}),
        ("how many tutorials are there?", "There are 0 sessions about"), ("how many did you find on Saturday?", f"There are {len(PROGRAMME)} sessions on Saturday"), ("how many papers are there?", f"There are {len(PROGRAMME)} sessions."), ("the last bit", {"After-party"}),
        ("what is on on the last day?", "What I found on Saturday"), ("do you think scaling postgres clashes?", "during “Scaling Postgres”"), ("ponds after lunch", {"Sunday ponds"}), ("Was läuft um 9 pm im Bar?", "at 21:00"), ("Was läuft ab 14 Uhr 5.5.?", "from 14:00"),
        ("What is the last talk before lunch on Saturday?", {"Panel"}), ("first talk after the lunch on Sunday", {"Sunday ponds"}),
        ("what is on between lunch and 15:00 on Saturday?", {"Worms"}), ("And how long until lunch?", {"Lunch", "Sunday lunch"}), ("last talk before the panel", {"Bees"}), ("how many talks are there after the panel?", {"Lunch", "Worms"}),
        ("Was läuft am Samstag im Kleinen Saal?", {"Bees"}), ("Was läuft am Sonntag nicht im Großen Saal oder im Saal 1?", {"Sunday lunch"}), ("what is on on 5/5/2024 at 11:00?", {"Sunday roses"}),
        ("Was läuft um halb 1 am Samstag?", {"Panel"}), ("Was läuft um halb eins am Samstag?", {"Panel"}), ("Was läuft um 14 Uhr 30 am Samstag?", {"Worms"}), ("letzter Vortrag am Sonntag", {"Sunday ponds"}), ("Wann ist die letzte Veranstaltung am Sonntag?", {"Sunday ponds"}), ("Was kommt nach dem Panel?", {"Lunch"}), ("Saturday after 14:00 and Sunday before 11:00", {"Worms", "Sunday roses"}), ("Was kann ich am Sonntag ansehen?", {each for each in GARDEN if each.startswith("Sunday")}), ("¿cuál es el último evento del domingo?", {"Sunday ponds"}), ("wat is het eerste evenement op zondag?", {"Sunday roses"}), ("qual è l'ultimo evento di domenica?", {"Sunday ponds"}), ("Postgres before 9 and after 20", "I am not sure that I found anything."),
    ],
)  # fmt: skip
def test_a_days_sessions_are_told_by_their_titles_and_computed_from(text: str, told: set[str] | str) -> None:
    services = services_for(garden={*told} <= {*GARDEN} and bool(told))
    result = chat(text, user_context={"now": "2024-05-04T08:30:00"}, services=services)
    assert told in result.answer if isinstance(told, str) else {each[9:] for each in result.referenced_ids} == told


def test_what_is_not_wanted_may_be_named_before_and_after() -> None:
    for text in ("too many talks about repair, show me anything but repair", "anything but Sunday; Sunday is full"):
        assert said(text).referenced_ids


@pytest.mark.parametrize(
    "text",
    [
        "talks about repair, but nothing about repair cafes",
        "talks on Saturday, but not on Saturday morning",
        "talks on Saturday except on Saturday in the morning",
    ],
)
def test_what_is_left_out_in_part_is_asked_for_else(text: str) -> None:
    assert not read(text).notes
    if "morning" in text:
        assert [each.slot for each in read(text).filters.exclude] == ["start"]
        assert asked(read(text), "day") == [(SATURDAY,)]


def test_a_language_is_read_before_talks_and_a_kind_not_within_a_subject() -> None:
    assert asked(read("only German talks"), "language") == [("de",)]
    question = read("I don't speak Portuguese, what food talks can I follow?")
    assert barred(question, "language") == [("pt",)]
    assert question.topic == "food"
    assert asked(read("the neighbourhood social network"), "type") == []
    assert barred(read("sessions by Hedda Solvang that aren't talks"), "type") == [("talk",)]
    assert read("food; cheese doesn't count").filters.without == ("cheese",)
    assert not read("we have no money for a hall, anything about repair?").filters.without
    assert asked(read("Was gibt es im Track Food and Farming?"), "track") == [("Food and Farming",)]
    assert read("what starts on Sunday at 10:00").topic == read("which talks are there?").topic == ""


def test_a_number_before_what_is_asked_for_is_how_many_are_wanted_and_twice_is_not_dropped() -> None:
    assert read("give me three hands-on things about food").wanted == 3
    assert read("2 really beginner friendly short talks").wanted == 2
    assert any("twice" in note for note in read("repair talks that run twice").notes)
    assert len(said("three talks about software on Saturday").referenced_ids) == 3
    assert read("talks of at most 20 minutes about radio").wanted == 0
    assert read("speakers with more than two sessions about soil").wanted == 0


def test_who_or_what_is_not_there_is_said_and_nothing_else_is_taken() -> None:
    question = read("Is Zebulon Quatermain giving a talk?")
    assert question.notes == ("The programme has nobody called Zebulon Quatermain",)
    assert question.filters.values("person") == ("Zebulon Quatermain",)
    result = said("zzyzx is what I hear, so where is the Alchemy track?")
    assert "There is no track Alchemy" in result.answer and result.status != "answered"


@pytest.mark.parametrize(
    ("text", "slot", "values"),
    [
        ("radio talks that don't start after 4pm", "start", (961, None)),
        ("what is there about food that doesn't kick off until 2pm", "start", (None, 840)),
        ("music on any day but Saturday", "day", (SATURDAY,)), ("food, but nothing before 1pm", "start", (None, 780)),
        ("all of Sunday except the Great Hall", "room", ("Great Hall (R.0.10)",)),
        ("tomorrow at 2pm without the Great Hall", "room", ("Great Hall (R.0.10)",)),
        ("am Sonntag ohne Great Hall", "room", ("Great Hall (R.0.10)",)), ("pero no hoy: radio", "day", (SATURDAY,)),
        ("Vorträge über Musik, aber nicht am Samstag", "day", (SATURDAY,)),
        ("anything about water, I can't make it on Sunday", "day", (SUNDAY,)),
        ("music on Saturday, between one and two we'll be eating", "on", (780, 840)),
        ("radio on Saturday morning, after lunch I'm with my parents", "end", (780, None)),
        ("Sunday is no good for me. Anything on radio?", "day", (SUNDAY,)), ("before ten is early", "start", (None, 600)),
        ("radio - skip whatever begins in the break though (noon to two), the rest is fine", "start", (720, 840)),
        ("I'm at our own stand until noon, what about food after that?", "start", (None, 720)),
        ("keynotes but not the ones on Saturday", "day", (SATURDAY,)),
        ("I won't sit there past six, food it is", "start", (1080, None)),
        ("Saturday is out for me, and so is anything before eleven: radio?", "start", (None, 660)),
    ],
)  # fmt: skip
def test_what_stands_behind_a_cue_is_excluded(text: str, slot: Slot, values: tuple[object, ...]) -> None:
    question = read(text)
    assert values in barred(question, slot)
    assert values not in asked(question, slot)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("food, leave out whatever deals with gardening or bread", ("gardening", "bread")),
        ("energy without yet another one about batteries", ("batteries",)), ("Not those. Show me food.", ()),
        ("food talks, leaving out gardening, and not at the crack of dawn", ("gardening",)),
        ("what is there on energy that hasn't got anything to do with batteries?", ("batteries",)),
        ("I'm not a programmer, is there anything on radio?", ()),  # of themselves somebody may say anything
        ("radio please, if I'm not mistaken, there is a talk on it", ()), ("nothing happening on Sunday?", ()),
        ("food please, gardening bores me", ("gardening",)), ("food, anything but bread or beer", ("bread", "beer")),
        ("I've had it with radio. Food on Sunday?", ("radio",)), ("Food; I'm not at all into bread", ("bread",)),
    ],
)  # fmt: skip
def test_subjects_are_excluded_too(text: str, without: tuple[str, ...]) -> None:
    question = read(text)
    assert question.filters.without == without
    assert not set(without) & set(question.topic.split())


def test_what_was_not_understood_is_said_and_the_answer_is_one_in_part() -> None:
    assert read("food talks without me").notes == ("I did not understand “without me”, so this goes by the rest",)
    assert [said(text).status for text in ("food talks without me", "Who speaks about acequias?")] == ["partial"] * 2
    asks = "security on Sunday; what is there for kids before four?; talks on 9 May; Which session has no room?; "
    asks += "which talks have no speaker?; who speaks on both days?; go home on Sunday; does it start late each day?; "
    asks += "which talk has the most speakers?; talks given by two people; do the lists overlap?"
    for text in asks.split("; "):
        assert said(text).status != "answered", text
    assert read("and the week after?", *turns("what is on on Saturday?")).unread == ("week",)
    assert not read("all talks, both days").unread


def test_what_is_on_now_is_asked_of_its_subject_and_what_was_before_is_told() -> None:
    question = read("what can I see right now about bicycles?")
    assert (question.operation, question.topic) == ("now", "bicycles")
    question = read("which talk did I just miss in the Great Hall?")
    assert (question.operation, asked(question, "end")) == ("previous", [(None, NOW.hour * 60 + NOW.minute)])


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("how many talks are there about food?", "count"), ("which day has more talks about energy?", "most"),
        ("what is the most popular topic?", "most"), ("list all keynotes", "find"), ("when is Tidewater?", "about"),
        ("the last session on Sunday", "last"), ("what is on right now?", "now"),
        ("the Great Hall is empty. When does it go on again?", "next"), ("which one closes the Energy track?", "last"),
        ("what is next in the Great Hall?", "next"), ("how long until the opening keynote?", "until"),
        ("does the radio talk clash with the bread talk?", "clash"), ("surprise me", "recommend"),
        ("grazie mille!", "thanks"), ("what would you recommend about maps on Sunday?", "find"),
        ("which of Hedda Solvang's talks is the last?", "last"), ("Combien d'ateliers y a-t-il ?", "count"),
        ("There are two workshops on maps. Could I go to both of them?", "clash"), ("when is everything over?", "last"),
        ("is the bread talk before or after the one on bamboo?", "compare"), ("what is the wifi password?", "outside"),
        ("do I need a ticket for the stands?", "outside"), ("when does Amara Diallo talk?", "find"),
        ("what time does Hedda Solvang talk?", "find"), ("when can I leave on Sunday?", "last"),
        ("what time does Amara Diallo's last talk end?", "last"), ("when does Amara Diallo finish?", "last"),
        ("how do I get rid of eels?", "find"), ("when can I go home?", "last"), ("what is the next keynote?", "next"),
        ("when does the congress end?", "last"), ("is the bread talk before the bamboo one?", "compare"),
        ("is there something on both bread and bamboo?", "find"), ("go home on Sunday", "find"),
    ],
)  # fmt: skip
def test_what_is_to_be_done(text: str, operation: str) -> None:
    assert read(text).operation == operation


@pytest.mark.parametrize(
    ("at", "left"),
    [(f"{SATURDAY}T21:30:00", "12 hours"), (f"{SUNDAY}T05:30:00", "4 hours"), (f"{SUNDAY}T16:00:00", "15 minutes")],
)
def test_nobody_waits_for_what_has_begun_nor_only_until_the_day_ends(at: str, left: str) -> None:
    with sample_services() as services:
        told = chat("how long is it until the next one in the Great Hall?", user_context={"now": at}, services=services)
    assert told.answer.partition("\n")[0].endswith(f"begins in {left}.")


def test_rooms_are_counted_and_the_most_is_listed_within_what_is_asked() -> None:
    asks, sunday = said("how many rooms are used on Sunday?").answer, search().catalogue.of_table(Table.SESSIONS)
    rooms = {room for record in sunday if SUNDAY in record.values("day") for room in record.values("room")}
    assert asks.startswith(f"There are {len(rooms)} rooms (Sunday).")
    busiest = said("which room has the most sessions on Sunday?")
    held = {room for id in busiest.referenced_ids for room in search().catalogue.records[id].values("room")}
    assert busiest.answer.startswith(held.pop().partition(" (")[0]) and not held


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ('talks about "old wheat"', "old wheat"), ("talks about MariaDB 11", "MariaDB 11"),
        ("talks about हिन्दी कविता", "हिन्दी कविता"), ("anything for children tomorrow?", "children"),
        ("a talk on error correction", "error correction"), ("wie praat er dit jaar over bamboo?", "bamboo"),
        ("what is there about the Sun?", "Sun"), ("food in the customs", "food customs"),
    ],
)  # fmt: skip
def test_a_topic_in_quotes_or_in_plain_words_is_one(text: str, topic: str) -> None:
    assert read(text).topic == topic


def test_sides_of_a_clash_are_tracks_and_persons_too() -> None:
    tracks = [each.filters.values("track") for each in read("do the Energy and Health tracks overlap?").parts]
    assert len(tracks) == 2 and all(tracks) and tracks[0] != tracks[1]
    assert not said('does "A Foo of Bar" clash with "Quux for Beginners"?').answer.startswith(("Yes", "No,"))


def test_stands_are_looked_for_where_they_are_asked_for() -> None:
    assert read("which stands sell seeds?").tables == (Table.EXHIBITORS,)
    # A stand may offer what no programme has, and is no verb.
    for text in ("stands where my 10 year old can learn to code", "is there a booth where I can get a coat mended?"):
        question = read(text)
        assert (question.operation, question.tables) == ("find", (Table.EXHIBITORS,)), text
    assert Table.EXHIBITORS not in read("what does compost stand for?").tables
    assert read("talks about seeds").tables == (Table.SESSIONS,)
    assert Table.EXHIBITORS in read("who repairs bicycles?").tables
    assert read("who is at C.0 Hall, 3?").tables == (Table.EXHIBITORS,)


def test_who_is_named_beside_the_programme_is_found_and_is_no_word_of_its_sessions() -> None:
    for kind, text in (("exhibitors", "where is {}?"), ("exhibitors", "tell me about {}"), ("attendees", "who is {}?")):
        for each in search().catalogue.of_table(Table(kind)):
            question = read(text.format(each.title))
            assert (question.filters.values("record"), question.tables) == ((each.id,), (each.table,))
    assert read("who is Yuki Tanabe, and where are Cabra and Roofshare?").tables == (Table.ATTENDEES, Table.EXHIBITORS)
    for text in ("talks by Maja Kowalczyk", "I'm Hannah Weiss, what is on on Sunday?", "where can I charge my phone?"):
        assert not read(text).filters.values("record")


def turns(text: str, *cited: str) -> tuple[Turn, Turn]:
    return Turn(role="user", text=text), Turn(role="assistant", text="…", referenced_ids=cited)


def test_a_later_turn_replaces_what_it_corrects_and_asks_of_all_that_was_asked_for() -> None:
    before = turns("radio talks on Saturday")
    question, other = (read(text, *before) for text in ("oh srry, meant Sunday", "actually, zzkubor on Sunday"))
    assert asked(question, "day") == [(SUNDAY,)] and "radio" in question.topic and "zzkubor" in other.topic
    for text in ("what is on today about radio?", "radio talks now"):  # of another day, all of it
        assert [each.slot for each in read("and tomorrow?", *turns(text)).filters.include] == ["day"]
    for text in ("and the day after?", "und am Tag danach?", "et le lendemain ?", "¿y al día siguiente?"):
        assert asked(read(text, *turns("radio talks on Saturday")), "day") == [(SUNDAY,)], text
    assert asked(read("and the day before that?", *turns("what is on on Sunday?")), "day") == [(SATURDAY,)]
    spanish, french = read("¿y el domingo?", *turns("radio", GOATS)), read("rien sur bread s'il vous plaît", *before)
    assert (spanish.topic, french.topic, french.filters.values("person")) == ("radio", "radio", ())
    whole = read("when can I go home?", *turns("radio talks on Saturday"))
    assert (whole.operation, whole.topic, asked(whole, "day")) == ("last", "", [(SATURDAY,)])
    for text in ("when does it end?", "not the zebra one"):  # of the one shown, neither the last nor compared
        ends = read(text, *turns("radio", GOATS))
        assert ends.operation == "find" and ends.filters.values("record"), text
    moved = read("no, bread", *before)
    assert asked(moved, "day") == [(SATURDAY,)] and moved.topic == "bread"
    before = turns("what is there on Sunday?", "sessions:1007")
    for text, operation in (("no, how many are there?", "count"), ("which of them is the longest?", "longest")):
        later = read(text, *before)
        assert (later.operation, asked(later, "day"), later.filters.values("record")) == (operation, [(SUNDAY,)], ())
    welcome = read("ok, bread too", *turns("food but not bread"))
    assert (welcome.topic, welcome.filters.without) == ("food", ())
    assert not read("no I meant Sunday", *turns("radio talks")).filters.without
    assert read("and what is there about it on Sunday?", *turns("radio"), *turns("where can I park?")).topic == "radio"
    rooms = [read(text, *turns("how many rooms are there?")).by for text in ("and on Sunday?", "what is on on Sunday?")]
    assert rooms == ["room", ""]  # a question of its own is answered as such


def test_a_later_turn_points_at_what_was_cited() -> None:
    records = [record for record in search().catalogue.of_table(Table.SESSIONS) if record.start][:3]
    before = turns("what is on?", *(record.id for record in records))
    assert read("the second one, where is it?", *before).filters.values("record") == (records[1].id,)
    lasts = {each.id: each.end - each.start for each in records if each.start and each.end}
    (longer,) = read("which is longer?", *before).filters.values("record")
    (shorter,) = read("the shorter one, please", *before).filters.values("record")
    assert (lasts[shorter], lasts[longer]) == (min(lasts.values()), max(lasts.values()))
    after = read("and after that?", *before)
    assert after.operation == "first" and after.filters.values("room") == records[0].values("room")
    garden, now = services_for(True).search, datetime(2024, 5, 4, 8)
    lunch = understand("and after lunch?", garden, now=now, history=turns("on Sunday", ""))
    assert [each.least for each in lunch.filters.include if each.slot == "start"] == [12 * 60 + 10]
    before = turns("talks about repair", "sessions:1042", "sessions:1056", "sessions:1231")
    for text, record in (("who sits on that panel?", "1056"), ("where is the last of those?", "1231"), ("where is it?", "1042"), ("how long is it?", "1042"), ("wie lange dauert das?", "1042")):  # fmt: skip
        assert read(text, *before).filters.values("record") == (f"sessions:{record}",), text


WASHING, BAMBOO, GOATS = "sessions:1042", "sessions:1217", "sessions:1182"


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("not the first one", {WASHING}), ("all but the second", {BAMBOO}), ("drop the goats one", {GOATS}),
        ("without the bamboo one please", {BAMBOO}), ("not that", {WASHING}),
    ],
)  # fmt: skip
def test_a_later_turn_leaves_out_what_it_refuses_and_asks_for_the_rest(text: str, left_out: set[str]) -> None:
    before = turns("what is on Saturday between 14:20 and 15:00?", WASHING, BAMBOO, GOATS)
    question = read(text, *before)
    assert {key for values in barred(question, "record") for key in values} == left_out
    assert asked(question, "day") == [(SATURDAY,)] and not question.filters.values("record")
    # What was only seen is left out of the same alone.
    seen = turns("what is on on Saturday?", GOATS) + turns("what else?", BAMBOO)
    assert not barred(read("what is in the Great Hall?", *seen), "record")
    for other, slot in (("anything later?", "start"), ("und danach?", "start"), ("earlier", "end")):
        assert asked(read(other, *before), slot) and asked(read(other, *before), "day") == [(SATURDAY,)]
    # It stays so in the turns that follow.
    later = read("and in the Great Hall?", *before, *turns(text, WASHING))
    assert {key for values in barred(later, "record") for key in values} == left_out


def test_a_later_turn_points_at_one_of_several_and_at_what_is_on_beside_it() -> None:
    before = turns("what is on Saturday between 14:20 and 15:00?", WASHING, BAMBOO, GOATS)
    assert read("no not the goats, the other one", *turns("x", BAMBOO, GOATS)).filters.values("record") == (BAMBOO,)
    told = read("do those two overlap?", *turns("goats", GOATS), *turns("bamboo", BAMBOO))
    assert told.filters.values("record") == (GOATS, BAMBOO)
    texts = {"no, the Great Hall one": WASHING, "wo ist der zweite?": BAMBOO, "who is speaking?": GOATS}
    for text, meant in texts.items():
        assert read(text, *before, *turns("the third", GOATS)).filters.values("record") == (meant,), text
    beside = read("anything at the same time as the second one that's not a workshop?", *before)
    assert (asked(beside, "on"), barred(beside, "type")) == ([(870, 910)], [("workshop",)])
    assert asked(read("at the same time as the bread talk?", *before), "on") == [(600, 640)]
    assert asked(read("at the same time as the goats one?", *turns("x", "sessions:1007", GOATS)), "on") == [(870, 910)]
    assert not asked(read("is the goats one before the bread one?", *turns("goats", GOATS)), "day")
    assert read("what would I miss if I went there?", *before).filters.exclude[0].values == (WASHING,)
    one = (*before, *turns("the third one", GOATS))
    assert read("and the second?", *one).filters.values("record") == (BAMBOO,)
    assert read("what is the first talk after that?", *one).filters.exclude[0].values == (GOATS,)
    assert "record" not in str(read("is there a second one?", *one, *turns("the keynote", "sessions:1007")).filters)
    both = read("do the 1st and no. 3 overlap?", *one)
    assert (both.operation, both.filters.values("record")) == ("clash", (WASHING, GOATS))
    texts = ("what is on there at 15:00?", "what is on in that room?", "what else is out there?", "who speaks there?")
    room = search().catalogue.records[GOATS].values("room")
    assert [read(text, *one).filters.values("room") for text in texts] == [room, room, (), ()]
    assert read("Are there tracks about food?", *one).filters.values("track") == ("Food and Farming",)
    assert read("is there a video of it?", *before).operation == "outside"
    assert read("any exhibitors on that?", *turns("goats", GOATS)).tables == (Table.EXHIBITORS,)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the second keynote", {"sessions:1014"}), ("Noor Haddad's second talk", {"sessions:1280"}),
        ("what is on after Seagrass meadows in the Great Hall?", {"sessions:1035", "sessions:1042", "sessions:1049"}),
        ("which talks overlap with the walk along the harbour?", {"sessions:1028", "sessions:1084"}),
        ("everything by Kwame Asante or Lobo", {"sessions:1168", "sessions:1175", "sessions:1189"}),
        ("when is dinner?", {"sessions:1070"}), ("a talk on sea grass", {"sessions:1028"}),
        ("who are the speakers?", {"speakers:108"}),
    ],
)  # fmt: skip
def test_what_is_named_by_its_place_its_neighbour_or_its_name_is_found(text: str, found: set[str]) -> None:
    assert found <= {*said(text).referenced_ids}


def test_a_kind_takes_no_word_behind_it_and_a_building_needs_none() -> None:
    question = read("un atelier seaweed dimanche, quand est-ce ?")
    assert (asked(question, "type"), question.topic) == ([("workshop",)], "seaweed")
    (out,) = barred(read("food, but not in C"), "room")
    assert {"C.1.05 (Library)", "C.3.20 (Attic)"} <= {*out} and not any(str(room).startswith("R.") for room in out)


def test_beside_a_time_words_of_plain_speech_are_no_subject_and_what_is_denied_stands_behind_the_cue() -> None:
    plain = ("pls list Sunday", "Sunday morning thx", "a quick overview of Sunday", "um, Sunday ok?")
    plain += ("what kind of talks are on Sunday?", "which sessions take place on Sunday?", "must-see talks on Sunday")
    for text in (*plain, "no idea what to see on Sunday", "what should I not miss on Sunday?"):
        assert not read(text).unread, text
        question = read(text)
        assert (question.topic, asked(question, "day"), question.filters.exclude) == ("", [(SUNDAY,)], ()), text
    assert read("I couldn't care less about soil, what is on Sunday?").topic == ""
    for text in ("anything except workshops on Sunday", "something on Sunday that is not a workshop"):
        question = read(text)
        assert (asked(question, "day"), barred(question, "type")) == ([(SUNDAY,)], [("workshop",)]), text
    assert read("a talk on eels, or if not on soil").filters.without == ()
    assert read("I don't give a damn about soil, what is on Sunday?").filters.without == ("soil",)


def test_what_was_told_of_a_time_holds_for_a_subject_and_not_for_a_question_of_its_own() -> None:
    before = turns("I can only come on Sunday, from 10 to 14")
    assert asked(read("what is there about radio?", *before), "day") == [(SUNDAY,)]
    for text in ("Which keynotes are there on Sunday?", "what's on at ten on Sunday?", "who plays on Sunday?"):
        question = read(text, *turns("radio talks in the Great Hall"))
        assert not asked(question, "room") and question.topic == "", text
    assert asked(read("what's on at 3pm?"), "day") == [(SATURDAY,)] and not asked(read("radio talks at 3pm"), "day")
    assert asked(read("which films are on in April?"), "day") == [(SATURDAY, SUNDAY)]
    assert read("and next?", *turns("who is speaking now?")).operation == "next"


def test_who_says_their_name_asks_for_nobody_and_those_who_come_are_in_no_programme() -> None:
    for text in ("hi, I'm Amara, I like radio", "my name is Amara and I like radio", "Amara here, anything on radio?"):
        assert not read(text).filters.values("person")
    assert read("talks by Amara about radio").filters.values("person")
    assert read("how many people attend?").operation == "outside"
    assert read("how many people speak?").operation != "outside"


def test_what_comes_after_something_else_takes_its_day_and_a_window_may_go_over_days() -> None:
    first, second = read("repair on Sunday, and after that knitting in the same building").parts
    assert (first.topic, second.topic) == ("repair", "knitting")
    assert asked(second, "day") == [(SUNDAY,)] and asked(second, "start")[0][0]
    (rooms,) = asked(second, "room")
    assert len(rooms) > 1 and all("R." in str(room) for room in rooms)
    assert "same building" in said("repair on Sunday, then knitting in the same building").answer
    for text in ("all between Saturday 4pm and Sunday 10am", "from 4 pm on Saturday until Sunday at 10, what's on?"):
        question = read(text)
        assert asked(question, "day") == [(SATURDAY, SUNDAY)] and question.topic == ""
        told = [(each.values, each.least, each.most) for each in question.filters.exclude]
        assert told == [((SATURDAY,), None, 960), ((SUNDAY,), 600, None)]


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("Good morning! What is on about repair?", []),
        ("We can only be there on Sunday morning.", [(None, 720)]),
        ("What is there about food on Sunday morning? In the afternoon I am away.", [(None, 720)]),
        ("food in the morning or in the evening", [(None, 1800)]),
    ],
)
def test_a_part_of_the_day_is_asked_for_only_where_it_is_wanted(text: str, starts: list[object]) -> None:
    assert asked(read(text), "start") == starts


def test_words_of_plain_speech_are_nobodys_name(monkeypatch: pytest.MonkeyPatch) -> None:
    who = "The one with the braid (she/her)"
    for word in ("the", "one", "with", "braid", "she", "her", "dalloo"):
        monkeypatch.setitem(names_of(search().catalogue).persons, word, {who})
    assert not asked(read("is there one with a demonstration on Sunday?"), "person")
    assert not asked(read("what else does she talk about?"), "person")
    assert asked(read("what does the one with the braid talk about?"), "person") == [(who,)]
    assert asked(read("what does Dialloo say on batteries?"), "person") == [("Amara Diallo",)]


@pytest.mark.parametrize("text", ["", "   ", "?!", "\u200b", "ล่าสุด", "a" * 5000, "[[[", "but but", "0th talk: xyzzy"])
def test_nothing_makes_it_fail(text: str) -> None:
    assert read(text).text[:5] == text.strip()[:5] or read(text).text == text


def test_the_word_lists_stay_short() -> None:
    """No list grows with the phrasings that it meets."""
    for purpose in ("time", "things", "negation", "turns", "glossary"):
        for language in LANGUAGES:
            for key, entry in table(purpose).get(language, {}).items():
                entries = re.split(r"[,\s]+" if isinstance(entry, str) else ",", str(entry))
                assert len(entries) <= MOST_ENTRIES, (purpose, language, key)
    examples = resources.files("loopwright.workflows.assistant") / "data" / "examples.yaml"
    listed = yaml.safe_load(examples.read_text(encoding="utf-8"))
    assert all(len(texts) <= MOST_ENTRIES for texts in listed.values())


def test_a_session_that_is_named_says_from_when_or_until_when() -> None:
    later, earlier = (said(f"anything on food {when} the talk on eels?") for when in ("after", "before"))
    starts = {key: search().catalogue.records[key].start for key in (*later.referenced_ids, *earlier.referenced_ids)}
    eels = next(each for each in search().catalogue.records.values() if each.title.startswith("Counting eels"))
    assert eels.end and eels.start and later.status == "answered"
    assert all(start and start >= eels.end for key in later.referenced_ids if (start := starts[key]))
    meant = said("what should I do after the keynote?")
    assert meant.status == "partial" and "any of several" in meant.answer


def test_what_stands_beside_what_is_counted_or_compared_is_its_own() -> None:
    plain, told = (said(f"How many workshops are there on Sunday?{more}") for more in ("", " I like wide seats."))
    assert plain.answer == told.answer
    answer = said("which is longer, the flood map workshop or the bread talk?").answer
    assert "“Draw your first flood map”" in answer and "“Bread from old wheat”" in answer


def test_a_subject_is_denied_and_not_the_day_behind_it_and_a_part_of_a_day_alone() -> None:
    question = read("anything but radio on Sunday")
    assert (question.filters.without, barred(question, "day")) == (("radio",), [])
    assert asked(question, "day") == [(SUNDAY,)]
    assert {read(text).operation for text in ("bread, radio no thanks", "Hasn't Sunday got anything?")} == {"find"}
    assert not barred(read("not only on Saturday: radio"), "day") + barred(read("why not on Saturday? radio"), "day")
    (out,) = read("music, any time except Saturday afternoon").filters.exclude
    assert (out.slot, out.values, out.least, out.most) == ("start", (SATURDAY,), 720, 1080)
