"""From talks, whatever file they come from, to the records of sessions and speakers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from loopwright.retrieval.text import fold
from loopwright.retrieval.web.cleaning import collapse
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import ConferenceInfo

_MOST_KEY = 200
_NOT_A_WORD = re.compile(r"[\W_]+")
# What would end or split the mark that cites a record.
_NOT_IN_KEYS = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who gives a talk."""

    name: str
    """The name."""
    key: str = ""
    """What identifies the person in the file; empty if only the name does."""
    biography: str = ""
    """What the person says of themselves."""
    url: str = ""
    """The person's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A session as its file has it, with all texts plain."""

    key: str = ""
    """What identifies it in the file; empty if only its title does."""
    title: str
    """Its title."""
    subtitle: str = ""
    """The line below the title."""
    abstract: str = ""
    """What it is about in short."""
    description: str = ""
    """What it is about in full."""
    persons: tuple[Person, ...] = ()
    """Who gives it."""
    rooms: tuple[str, ...] = ()
    """Where."""
    tracks: tuple[str, ...] = ()
    """The parts of the programme that it belongs to."""
    types: tuple[str, ...] = ()
    """What kind of session it is."""
    languages: tuple[str, ...] = ()
    """The languages that it is given in, as codes."""
    start: datetime | None = None
    """When it begins, with its time zone."""
    end: datetime | None = None
    """When it ends, with its time zone."""
    day: date | None = None
    """The day of the conference where the file says so itself; else it follows from `start`."""
    url: str = ""
    """Its page."""


def records_of(talks: Iterable[Talk], info: ConferenceInfo) -> tuple[Record, ...]:
    """The sessions in order of the file, then everybody who gives one.

    Args:
        talks: The talks.
        info: The conference that they belong to.
    """
    taken: set[str] = set()
    people = _People()
    sessions: list[Record] = []
    for talk in talks:
        key = unused_key(talk.key or slug(talk.title), taken)
        sessions.append(_session(key, talk, info, people.keys_of(talk.persons)))
        people.gave(talk.persons, sessions[-1])
    return (*sessions, *people.records())


def slug(text: str) -> str:
    """A short name made of a text: its letters and digits, folded, with hyphens between words.

    Args:
        text: Any text.
    """
    return _NOT_A_WORD.sub("-", fold(text)).strip("-")[:80] or "unnamed"


def unused_key(wanted: str, taken: set[str]) -> str:
    """A key that no other record of the table has, and that can stand in the mark that cites it.

    Args:
        wanted: What it should be.
        taken: The keys that are used; the new one is added.
    """
    base = collapse(wanted.translate(_NOT_IN_KEYS))[:_MOST_KEY] or "unnamed"
    key, number = base, 1
    while key in taken:
        number += 1
        key = f"{base}-{number}"
    taken.add(key)
    return key


def filled(texts: Mapping[str, str]) -> dict[str, str]:
    """The facets that say something.

    Args:
        texts: Facet -> text.
    """
    return {facet: text for facet, text in texts.items() if text}


def fields_of(fields: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The fields that have values, each value once.

    Args:
        fields: Field -> values.
    """
    return {name: tuple(dict.fromkeys(values)) for name, values in fields.items() if values}


def _session(key: str, talk: Talk, info: ConferenceInfo, speakers: Sequence[str]) -> Record:
    names = [person.name for person in talk.persons]
    day = talk.day or (info.day_of(talk.start) if talk.start else None)
    return Record(
        id=f"{Table.SESSIONS.value}:{key}",
        table=Table.SESSIONS,
        key=key,
        title=talk.title,
        texts=filled(
            {
                "title": talk.title,
                "subtitle": talk.subtitle,
                "abstract": talk.abstract,
                "description": talk.description if talk.description != talk.abstract else "",
                "track": ", ".join(talk.tracks),
                "speakers": ", ".join(names),
            }
        ),
        fields=fields_of(
            {
                "day": (day.isoformat(),) if day else (),
                "room": talk.rooms,
                "track": talk.tracks,
                "type": talk.types,
                "language": talk.languages,
                "speaker": names,
            }
        ),
        start=talk.start.astimezone(info.zone) if talk.start else None,
        end=talk.end.astimezone(info.zone) if talk.end else None,
        url=talk.url,
        related=tuple(dict.fromkeys(f"{Table.SPEAKERS.value}:{speaker}" for speaker in speakers)),
    )


class _People:
    """Everybody who gives a talk, each once, with what the talks tell of them."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._known: dict[str, Person] = {}
        self._sessions: dict[str, list[Record]] = {}

    def keys_of(self, persons: Iterable[Person]) -> list[str]:
        """The keys of these persons among all of the conference."""
        return [self._key(person) for person in persons]

    def gave(self, persons: Sequence[Person], session: Record) -> None:
        """Note that they gave this session."""
        for key, person in zip(self.keys_of(persons), persons, strict=True):
            if session not in (sessions := self._sessions.setdefault(key, [])):
                sessions.append(session)
            known = self._known.get(key)
            if known is None or (person.biography and not known.biography):
                self._known[key] = person

    def records(self) -> list[Record]:
        """Their records, in the order in which they appear."""
        return [_speaker(key, self._known[key], sessions) for key, sessions in self._sessions.items()]

    def _key(self, person: Person) -> str:
        identity = ("key", person.key) if person.key else ("name", fold(person.name))
        if identity not in self._keys:
            self._keys[identity] = unused_key(person.key or slug(person.name), self._taken)
        return self._keys[identity]


def _speaker(key: str, person: Person, sessions: Sequence[Record]) -> Record:
    tracks = dict.fromkeys(track for session in sessions for track in session.values("track"))
    return Record(
        id=f"{Table.SPEAKERS.value}:{key}",
        table=Table.SPEAKERS,
        key=key,
        title=person.name,
        texts=filled(
            {
                "name": person.name,
                "biography": person.biography,
                "talks": "\n".join(dict.fromkeys(session.title for session in sessions)),
                "topics": ", ".join(tracks),
            }
        ),
        url=person.url,
        related=tuple(session.id for session in sessions),
    )
