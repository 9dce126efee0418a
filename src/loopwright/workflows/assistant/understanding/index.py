"""What the names in a question are compared with, made once for each catalogue."""

from __future__ import annotations

import re
import threading
from collections import Counter
from datetime import date, datetime, time, tzinfo
from typing import Any
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.understanding.persons import PersonNames
from loopwright.workflows.assistant.understanding.places import RoomNames
from loopwright.workflows.assistant.understanding.spelling import WORD, plain, squash, words_of
from loopwright.workflows.assistant.understanding.tracks import TrackNames

NIGHT_ENDS = time(5)
"""What begins earlier is at night, and belongs to the day before where the conference's days begin later."""
_SHORTEST_TITLE = 4
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
        long = [words for record in sessions if len(words := words_of(record.title)) >= _SHORTEST_TITLE]
        self.titles = frozenset("".join(words) for words in long)
        """The titles of sessions that are too long to be a topic by chance, as one string each."""
        self.title_starts = frozenset(words[0] for words in long)
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
