"""What the names in a question are compared with, made once for each catalogue."""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, time, tzinfo
from typing import Any
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from loopwright.workflows.assistant.conference.catalogue import NIGHT_ENDS, Catalogue
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.understanding.exhibitors import ExhibitorNames
from loopwright.workflows.assistant.understanding.frames import BARE, SESSION_NOUNS, TRACK_NOUNS
from loopwright.workflows.assistant.understanding.persons import PersonNames
from loopwright.workflows.assistant.understanding.places import RoomNames
from loopwright.workflows.assistant.understanding.spelling import WORD, plain, squash, words_of
from loopwright.workflows.assistant.understanding.tracks import TrackNames

_LONG_TITLE, _SHORTEST_TITLE = 4, 2
_LETTER = re.compile(r"(?<![\w.'’&/-])[A-Z](?![\w.'’&-])")
_NAMING = frozenset({"track", "speakers"})


class Index:
    """The names of a conference, ready to be looked for; never changes, and may be used by several threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Collect the names.

        Args:
            catalogue: The conference.
        """
        sessions = catalogue.of_table(Table.SESSIONS)
        self.spread: Counter[str] = Counter(word for record in sessions for word in _content_words(record))
        """Word -> in how many sessions' titles and texts it stands."""
        persons = catalogue.values("speaker") | catalogue.values("speaker", Table.SPEAKERS)
        rooms = catalogue.values("room") | catalogue.values("room", Table.EXHIBITORS)
        self.persons = PersonNames(persons)
        """Who speaks."""
        self.rooms = RoomNames(rooms)
        """Where."""
        self.session_rooms = frozenset(catalogue.values("room"))
        """Where sessions are, without the places of stands."""
        self.tracks = TrackNames(catalogue.values("track"))
        """The tracks."""
        self.types = tuple(catalogue.values("type"))
        """The types of session."""
        self.languages = tuple(catalogue.values("language"))
        """The languages, as the schedule has them."""
        self.exhibitors = ExhibitorNames(record.title for record in catalogue.of_table(Table.EXHIBITORS))
        """Who has a stand."""
        self.sessions = tuple(record for record in sessions if record.start)
        """The sessions that have a time, in its order."""
        title_words, given, kinds = (defaultdict[str, list[Record]](list) for _ in range(3))
        for record in self.sessions:
            for word in set(words_of(record.title)):
                title_words[word].append(record)
            for person in record.values("speaker"):
                given[person].append(record)
            for word in {word for kind in record.values("type") for word in words_of(kind)}:
                kinds[word.rstrip("s")].append(record)
        self.title_words: Mapping[str, Sequence[Record]] = title_words
        """Word -> the sessions whose titles have it."""
        self.given: Mapping[str, Sequence[Record]] = given
        """Person -> the sessions that the person gives."""
        self.kinds: Mapping[str, Sequence[Record]] = kinds
        """Word of a type, singular -> the sessions of such a type."""
        by_title = defaultdict[str, list[Record]](list)
        for record in sessions:
            by_title[squash(record.title)].append(record)
        self.by_title: Mapping[str, Sequence[Record]] = by_title
        """A title as one string -> the sessions of that title."""
        nouns = {word for kind in self.types for word in words_of(kind)} | SESSION_NOUNS | TRACK_NOUNS
        titles = [words for record in sessions if _is_telling(words := words_of(record.title), nouns)]
        self.titles = frozenset("".join(words) for words in titles)
        """The titles of sessions that are no topic or filter by chance, as one string each."""
        self.title_starts = frozenset(words[0] for words in titles)
        """The words that these titles begin with."""
        info = catalogue.info
        starts = [record.start for record in sessions if record.start]
        self.days: tuple[date, ...] = info.days if info else tuple(sorted({start.date() for start in starts}))
        """The days of the conference."""
        self.zone: tzinfo = info.zone if info else _zone_of(starts)
        """The time zone that its times are in."""
        self.day_change: time = info.day_change if info else time(0)
        """When its days begin."""
        self.own_names = frozenset(words_of(info.acronym)) if info else frozenset[str]()
        """The words of the conference's short name."""
        self.own_title = squash(info.title) if info else ""
        """The conference's name as one string."""
        hours = [start.astimezone(self.zone).hour for start in starts]
        self.earliest_hour = min((hour for hour in hours if hour >= NIGHT_ENDS.hour), default=8)
        """The hour at which the first session of any day begins, those at night left out."""


def index_of(catalogue: Catalogue) -> Index:
    """The index of a catalogue, made at its first use; safe in threads.

    Args:
        catalogue: The conference.
    """
    known = _indexes.get(catalogue)
    if known is not None:
        return known
    with _making:
        known = _indexes.get(catalogue)
        if known is None:
            known = _indexes[catalogue] = Index(catalogue)
        return known


_indexes: WeakKeyDictionary[Catalogue, Index] = WeakKeyDictionary()
_making = threading.Lock()


def _is_telling(title: Sequence[str], kinds: Set[str]) -> bool:
    """Whether a title is meant wherever it stands: "Closing keynote" or "Talks on Sunday" may be meant otherwise."""
    if len(title) >= _LONG_TITLE:
        return True
    return len(title) >= _SHORTEST_TITLE and kinds.isdisjoint(title) and not BARE.issuperset(title)


def _content_words(record: Record) -> set[str]:
    """The plain words of what a session says of itself, without the names of its track and speakers."""
    said = " ".join((record.title, *(text for facet, text in record.texts.items() if facet not in _NAMING)))
    # Folding a word is slow, and only those with accents need it.
    words = {word if word.isascii() else plain(word) for word in set(WORD.findall(said.casefold()))}
    # A letter counts where it stands as a name, as "C" does; not as a part of "H.264" or "24 h".
    return {word for word in words if len(word) > 1} | {letter.lower() for letter in _LETTER.findall(said)}


def _zone_of(starts: list[datetime]) -> tzinfo:
    zones: list[Any] = [start.tzinfo for start in starts if start.tzinfo]
    return zones[0] if zones else ZoneInfo("UTC")
