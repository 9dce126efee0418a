"""A small conference about bread, as records and hits, for tests of answers."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from loopwright.workflows.assistant.answer.listing import list_answer
from loopwright.workflows.assistant.config import SearchSection
from loopwright.workflows.assistant.schemas import Condition, Draft, Filters, Found, Question, Record, Table
from loopwright.workflows.assistant.sources.catalogue import Catalogue
from loopwright.workflows.assistant.sources.info import ConferenceInfo

ZONE = ZoneInfo("Europe/Lisbon")
INFO = ConferenceInfo(
    title="Bread Days", start=date(2024, 5, 4), end=date(2024, 5, 5), time_zone="Europe/Lisbon", city="Porto"
)


def moment(day: int, time: str) -> datetime:
    """A moment of May 2024 in the conference's zone."""
    return datetime.fromisoformat(f"2024-05-{day:02d}T{time}").replace(tzinfo=ZONE)


def session(
    key: str,
    title: str,
    *,
    day: int = 4,
    time: str = "10:00-10:45",
    room: str = "Hall 2",
    track: str = "Baking",
    speakers: Sequence[str] = ("Ana Reis",),
    abstract: str = "",
) -> Record:
    start, end = (moment(day, each) for each in time.split("-"))
    return Record(
        id=f"sessions:{key}",
        table=Table.SESSIONS,
        key=key,
        title=title,
        texts={"title": title, "abstract": abstract},
        fields={
            "day": (f"2024-05-{day:02d}",),
            "room": (room,),
            "track": (track,),
            "type": ("talk",),
            "language": ("en",),
            "speaker": tuple(speakers),
        },
        start=start,
        end=end,
    )


def other(table: Table, title: str, *, text: str = "", related: Sequence[str] = (), key: str = "") -> Record:
    """A speaker, an exhibitor or an attendee."""
    key = key or title
    texts = {"name": title, "description": text} if text else {"name": title}
    return Record(id=f"{table.value}:{key}", table=table, key=key, title=title, texts=texts, related=tuple(related))


def hit(record: Record, score: float = 0.8, *terms: str) -> Found:
    return Found(record=record, score=score, terms=terms)


def asked(*tables: Table, topic: str = "", notes: Sequence[str] = (), **conditions: str) -> Question:
    """What was understood of a question: each condition is a slot with its value."""
    include = tuple(Condition(slot=name, values=(value,), said=value) for name, value in conditions.items())
    return Question(
        text=topic,
        tables=tables or (Table.SESSIONS,),
        topic=topic,
        filters=Filters(include=include),
        notes=tuple(notes),
    )


def listed(
    question: Question, results: Mapping[str, Sequence[Found]], *records: Record, limit: int = 10, **state: Any
) -> Draft:
    """The answer by rules to what was found, at a conference of these records."""
    state |= {"question": question, "query_results": results}
    return list_answer(state, Catalogue(INFO, records), SearchSection(limit=limit))


SOURDOUGH = session("17", "Bread without yeast", abstract="Sourdough at home, from flour and water alone.")
OVENS = session(
    "23",
    "Ovens of the north",
    time="10:30-11:00",
    room="Cellar",
    track="History",
    speakers=("Jan Moe", "Ana Reis"),
    abstract="How stone ovens were built and fired.",
)
SUNDAY = session("31", "Rye on Sunday", day=5, time="14:00-14:30", room="Cellar", abstract="Sourdough with rye flour.")
MILL = other(Table.EXHIBITORS, "Mill Lane", text="Stone-ground flour from old kinds of wheat.")
ANA = other(Table.SPEAKERS, "Ana Reis", key="7", related=("sessions:17", "sessions:23"))
