"""A question read against a conference: every reader in its order, on words that each is read once."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.schemas import Filters, Table
from loopwright.workflows.assistant.understanding.anchors import at_anchor, take_anchor
from loopwright.workflows.assistant.understanding.compounds import Joint, joints_of
from loopwright.workflows.assistant.understanding.exhibitors import read_exhibitors, take_exhibitors
from loopwright.workflows.assistant.understanding.foreign import in_english
from loopwright.workflows.assistant.understanding.index import Index
from loopwright.workflows.assistant.understanding.kinds import read_kinds
from loopwright.workflows.assistant.understanding.persons import read_persons, take_full_names
from loopwright.workflows.assistant.understanding.places import read_rooms
from loopwright.workflows.assistant.understanding.refusing import take_refused
from loopwright.workflows.assistant.understanding.spelling import corrected, squash
from loopwright.workflows.assistant.understanding.tables import Tables, read_tables
from loopwright.workflows.assistant.understanding.times import Times, day_of, local_now, read_times
from loopwright.workflows.assistant.understanding.topics import TITLE, topic_of
from loopwright.workflows.assistant.understanding.tracks import read_tracks
from loopwright.workflows.assistant.understanding.words import Words

EXTREME = "extreme"
"""The kind of words that ask for the first or the last session."""
_OWN, _ASKED = "own name", "asked"
_LONGEST_TITLE = 30
_LONGEST_NAME = 8

_QUOTED = re.compile('["“”„«]([^"“”„«»]{3,200})["“”»]')
_EXTREME = re.compile(
    r"\b(?P<side>last|final|latest|first|earliest)\s+(?:(?P<count>two|three|four|five|[2-9])\s+)?(?:talks?|sessions?|presentations?"
    r"|lectures?|keynotes?|workshops?|slots?|one|thing|event|bofs?|lightning\s+talks?)\b(?!\s+(?:year|time))",
    re.IGNORECASE,
)
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5}
# Words that ask, and would else be taken for a topic.
_ASKING = re.compile(
    r"\b(?:at\s+)?(?:what|which)\s+(?:time|room|building)s?\b|\bhow\s+long\b"
    r"|\btak(?:es?|ing)\s+place\b|\bi(?:['’]?m|\s+am)\s+free\b|\bi\s+(?:only\s+)?have\s+(?:got\s+)?(?:\w+\s+){1,2}(?:minutes?|hours?)(?:\s+(?:free|time|left))?\b",
    re.IGNORECASE,
)
_OF_THE_DAY = re.compile(r"\bof\s+the\s+(?:day|conference|event|weekend)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rules read in one question."""

    words: Words
    """The question, with what each of its words was read for."""
    topic: str
    """What it is about."""
    filters: Filters
    """What is asked of time, place, track, language and persons."""
    tables: Tables
    """Where to look."""
    notes: tuple[str, ...]
    """What could not be taken as asked."""
    joints: tuple[Joint, ...]
    """Where it may be parted into several questions."""


def read(question: str, catalogue: Catalogue, index: Index, now: datetime | None, own: Collection[str] = ()) -> Reading:
    """Read a question that stands alone.

    Args:
        question: The question.
        catalogue: The conference.
        index: Its names.
        now: The moment of asking, or None if it is not known.
        own: The names under which the person who asks speaks there.
    """
    words = _words_of(question, index)
    refused = take_refused(words, index.languages)
    exhibitor = take_exhibitors(words, index.exhibitors)
    anchor = take_anchor(words, index, own)
    full_names = take_full_names(words, index.persons, index.spread)
    for match in _ASKING.finditer(words.text):
        words.take_span(match.start(), match.end(), _ASKED)
    extreme = _extreme(words)
    tracks = read_tracks(words, index.tracks)
    rooms = read_rooms(words, index.rooms, index.spread)
    here = local_now(now, index)
    times = read_times(words, index, here)
    if extreme and here and not times.days and _OF_THE_DAY.search(words.text):
        times = replace(times, days=(day_of(here, index).isoformat(),))
    without: tuple[str, ...] = ()
    if anchor:
        times, without = at_anchor(anchor, times, index, here)
    kinds = read_kinds(words, index.types, index.languages, index.tracks)
    persons = read_persons(words, index.persons, index.spread, full_names)
    known = [table for table in Table if catalogue.of_table(table)]
    exhibitors = read_exhibitors(words, index.exhibitors, index.spread, taken=exhibitor)
    tables = read_tables(words, known, persons=bool(persons.speakers), exhibitors=exhibitors)
    joints = joints_of(words)
    words.absorb_links()
    filters = Filters(
        days=times.days,
        after=times.after,
        before=times.before,
        at=times.at,
        from_time=times.from_time,
        until_time=times.until_time,
        at_time=times.at_time,
        ends_after=times.ends_after,
        without=without,
        rooms=_rooms_of(rooms.rooms, tables, index),
        tracks=tuple(dict.fromkeys((*tracks.tracks, *kinds.tracks))),
        types=kinds.types,
        languages=kinds.languages or refused.languages,
        speakers=persons.speakers,
    )
    topic = topic_of(words, index.own_names)
    if not topic:
        filters = _at_the_edge(filters, times, extreme, catalogue)
    notes = (*refused.notes, *times.notes, *rooms.notes, *tracks.notes, *kinds.notes, *persons.notes, *tables.notes)
    return Reading(words, topic, filters, tables, notes, joints)


def _rooms_of(rooms: tuple[str, ...], tables: Tables, index: Index) -> tuple[str, ...]:
    """The rooms of a building without the places of its stands, unless stands are asked for."""
    if Table.EXHIBITORS in tables.tables:
        return rooms
    return tuple(room for room in rooms if room in index.session_rooms) or rooms


def _words_of(question: str, index: Index) -> Words:
    """The words of a question in English, with its titles taken; where a title is named, no word of it is changed."""
    words = Words(corrected(question, index.spread, index.persons.tokens))
    _take_titles(words, index)
    english = question if TITLE in words.kinds else in_english(question, index.persons.tokens)
    if english != question:
        words = Words(corrected(english, index.spread, index.persons.tokens))
        _take_titles(words, index)
    return words


def _take_titles(words: Words, index: Index) -> None:
    """Quoted words and long titles are not read for filters; the conference's own name says nothing."""
    for match in _QUOTED.finditer(words.text):
        if squash(match[1]) not in index.persons.nicknames:
            words.take_span(match.start(1), match.end(1), TITLE)
    for first in range(len(words)):
        if words.key(first) in index.title_starts:
            _take_title(words, first, index)
    for first, last, alias in list(words.phrases(_LONGEST_NAME)):
        if alias == index.own_title and words.free(first, last):
            words.take(first, last, _OWN)


def _take_title(words: Words, first: int, index: Index) -> None:
    for last in range(min(first + _LONGEST_TITLE, len(words)) - 1, first, -1):
        if words.free(first, last) and words.joined(first, last) in index.titles:
            words.take(first, last, TITLE)
            return


def _extreme(words: Words) -> int:
    """How many of the first sessions are asked for, or of the last as a negative number; 0 for neither."""
    match = _EXTREME.search(words.text)
    if match is None:
        return 0
    end = match.end("count") if match["count"] else match.end("side")
    if not words.take_span(match.start("side"), end, EXTREME):
        return 0
    if of_the_day := _OF_THE_DAY.search(words.text):
        words.take_span(of_the_day.start(), of_the_day.end(), EXTREME)
    said = (match["count"] or "1").lower()
    count = _COUNTS.get(said) or int(said)
    return count if match["side"].lower() in ("first", "earliest") else -count


def _at_the_edge(filters: Filters, times: Times, extreme: int, catalogue: Catalogue) -> Filters:
    """Only the first, last or next of what the filters let through; without a topic that can be told from times."""
    if not (extreme or times.next_only):
        return filters
    starts = sorted({record.start for record in catalogue.filtered(Table.SESSIONS, filters) if record.start})
    if not starts:
        return filters
    edge = starts[extreme:] if extreme < 0 else starts[: max(extreme, 1)]
    # Across many rooms what begins within the hour comes next, not only what begins first.
    wide = times.next_only and not (filters.rooms or filters.tracks or filters.types or filters.speakers)
    return filters.model_copy(update={"after": edge[0], "before": edge[-1] + timedelta(minutes=60 if wide else 1)})
