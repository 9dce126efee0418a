"""Questions that ask for several things: "Java on Saturday and Kotlin on Sunday", "X, then lunch, then Y"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopwright.workflows.assistant.schemas import Filters
from loopwright.workflows.assistant.understanding.clock import CLOCK
from loopwright.workflows.assistant.understanding.days import DAY
from loopwright.workflows.assistant.understanding.frames import BARE, SESSION_NOUNS, TOPIC_MARKS
from loopwright.workflows.assistant.understanding.kinds import TYPE
from loopwright.workflows.assistant.understanding.places import ROOM
from loopwright.workflows.assistant.understanding.spelling import words_of
from loopwright.workflows.assistant.understanding.tables import TABLE, Tables
from loopwright.workflows.assistant.understanding.topics import TITLE
from loopwright.workflows.assistant.understanding.tracks import TRACK
from loopwright.workflows.assistant.understanding.words import FREE, Words

if TYPE_CHECKING:
    from loopwright.workflows.assistant.understanding.reading import Reading

BETWEEN_TOPICS = "; "
"""What stands between the topics of a question that has several; `Filters.any_of` then has in the same order what is
asked of each alone."""
_MOST = 3
_MOST_WORDS = 3
_JOINT = re.compile(
    r"\s*(?:(?P<then>[,;]?\s*(?:\b(?:and|or)\s+)?\b(?:then|after\s+that|afterwards|followed\s+by)\b|;)|,|\b(?:and|or)\b)[,\s]*",
    re.IGNORECASE,
)
_OR = re.compile(r",\s*(?:or\s+)?|\s+or\s+", re.IGNORECASE)
_LUNCH = frozenset({"lunch"})
_BREAKS = _LUNCH | frozenset("break coffee breakfast dinner pause".split())
_PLACED = frozenset({DAY, CLOCK, ROOM, TRACK})


@dataclass(frozen=True, slots=True)
class Joint:
    """Where one part of a question may end and another begin."""

    last: int
    """The last word before it."""
    first: int
    """The first word after it."""
    then: bool
    """Whether it says plainly that another part follows."""


def joints_of(words: Words) -> tuple[Joint, ...]:
    """Where a question may be parted: at words such as "and" that no reader has taken.

    Args:
        words: The question, all of it read.
    """
    found: list[Joint] = []
    for match in _JOINT.finditer(words.text):
        before = [i for i, word in enumerate(words.words) if word.end <= match.start()]
        after = [i for i, word in enumerate(words.words) if word.start >= match.end()]
        if not before or not after or not words.free(before[-1] + 1, after[0] - 1):
            continue
        within_title = words.kinds[before[-1]] == words.kinds[after[0]] == TITLE and after[0] == before[-1] + 1
        if not within_title:
            found.append(Joint(before[-1], after[0], bool(match["then"])))
    return tuple(found)


def parts_of(reading: Reading, read: Callable[[str], Reading]) -> list[Reading]:
    """The parts of a question that asks for several things, each read for itself; none if it asks for one.

    A part that names no day is meant for the day of the part before it, or else of the one after it.

    Args:
        reading: The question as a whole.
        read: Reads a question that stands alone.
    """
    words = reading.words
    bounds = _bounds(reading)
    if len(bounds) > 1:
        texts = _with_times(words, bounds, strong=any(joint.then for joint in reading.joints))
        parts = [part for part in map(read, texts) if part.topic or not part.filters.empty]
        return parts[:_MOST] if len(parts) > 1 else []
    return [replace(reading, topic=topic) for topic in _alternatives(reading)]


def combined(parts: Sequence[Reading]) -> tuple[str, Filters, Tables, tuple[str, ...]]:
    """What a question with several parts asks for as a whole: topic, filters, tables and notes.

    Args:
        parts: Its parts, two or more.
    """
    topics = [part.topic for part in parts]
    known = next((topic for topic in topics if topic), "")
    filters = [part.filters for part in parts]
    same = {name for name, value in filters[0] if all(getattr(other, name) == value for other in filters[1:])}
    shared = _only(filters[0], same)
    apart = tuple(_only(each, set(Filters.model_fields) - same) for each in filters)
    whole = shared if len(set(apart)) == 1 else shared.model_copy(update={"any_of": apart})
    filled = [topic or known for topic in topics]
    tables = Tables(
        tuple(dict.fromkeys(table for part in parts for table in part.tables.tables)),
        any(part.tables.meeting for part in parts),
    )
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return BETWEEN_TOPICS.join(filled if len(set(filled)) > 1 else filled[:1]), whole, tables, notes


def alternatives(filters: Filters) -> list[Filters]:
    """Filters with each of their alternatives in full, in order; the filters alone if they have none.

    Args:
        filters: The filters.
    """
    shared = filters.model_copy(update={"any_of": ()})
    return [shared.model_copy(update={name: value for name, value in each if value}) for each in filters.any_of] or [
        shared
    ]


def _only(filters: Filters, names: Set[str]) -> Filters:
    return Filters().model_copy(update={name: value for name, value in filters if name in names})


def _bounds(reading: Reading) -> list[tuple[int, int]]:
    """First and last word of each part; one alone if the question asks for one thing."""
    words, bounds, first = reading.words, list[tuple[int, int]](), 0
    for place, joint in enumerate(reading.joints):
        following = reading.joints[place + 1 :]
        ends = [len(words) - 1, *(other.last for other in following)]
        left = _asks(words, first, joint.last)
        if any(_parted(left, _asks(words, joint.first, end), then=joint.then) for end in ends if end >= joint.first):
            bounds.append((first, joint.last))
            first = joint.first
    return [*bounds, (first, len(words) - 1)]


def _asks(words: Words, first: int, last: int) -> set[str]:
    """What a stretch of a question asks for: kinds of filters, `TABLE`, `TITLE` for a topic."""
    kinds = set(words.kinds[first : last + 1]) - {FREE, "asked", "own name", "extreme"}
    free = [i for i in range(first, last + 1) if words.kinds[i] == FREE]
    keys = {words.key(i) for i in free}
    # "Go" with a capital is a name.
    if not keys <= BARE or any(i and words[i].capitalised and len(words.key(i)) > 1 for i in free):
        kinds.add(TITLE)
    if TYPE in kinds or not keys.isdisjoint(SESSION_NOUNS):
        kinds.add(TABLE)
    return kinds


def _parted(left: set[str], right: set[str], *, then: bool) -> bool:
    if then:
        return bool(left) and bool(right)
    if TITLE in right:
        # "Java on Saturday and Kotlin on Sunday"; but "search and rescue" is one topic.
        alike = (left & right) - {TITLE} or (left & _PLACED and right & _PLACED)
        return TITLE in left and bool(alike)
    filters = left - {TITLE, TABLE}
    return len(filters) > 1 and filters == right - {TABLE}


def _with_times(words: Words, bounds: Sequence[tuple[int, int]], *, strong: bool) -> list[str]:
    """The parts as questions of their own: with the day of another part, and with the lunch between them."""
    days = [_said(words, first, last, DAY) for first, last in bounds]
    clocks = [_said(words, first, last, CLOCK) for first, last in bounds]
    keys = [{words.key(i) for i in range(first, last + 1)} for first, last in bounds]
    lunch = next((i for i, said in enumerate(keys) if said & _LUNCH and said <= _BREAKS | BARE), None)
    texts: list[str] = []
    for i, (first, last) in enumerate(bounds):
        if keys[i] <= _BREAKS | BARE and keys[i] & _BREAKS:
            continue
        extra = "" if days[i] else next(filter(None, [*reversed(days[:i]), *days[i + 1 :]]), "")
        if not clocks[i] and lunch is not None:
            extra += " before lunch" if i < lunch else " after lunch"
        elif not clocks[i] and not days[i] and not strong:
            extra += " " + next(filter(None, [*reversed(clocks[:i]), *clocks[i + 1 :]]), "")
        texts.append(f"{words.text[words[first].start : words[last].end]} {extra}".strip())
    return texts


def _said(words: Words, first: int, last: int, kind: str) -> str:
    # The link to it may be the word that parts the question.
    spans = [(max(a, first), b) for a, b in words.runs(kinds=(kind,)) if a <= last and first <= b <= last]
    return " ".join(words.text[words[a].start : words[b].end] for a, b in spans)


def _alternatives(reading: Reading) -> list[str]:
    """The topics of "talks about X or Y", "X, Y or Z talks"; none if it is one topic."""
    topic = reading.topic
    if " or " not in topic or TITLE in reading.words.kinds:
        return []
    pieces = [piece.strip() for piece in _OR.split(topic)]
    short = all(0 < len(words_of(piece)) <= _MOST_WORDS and _says_something(piece) for piece in pieces)
    start = reading.words.text.find(topic)
    before = words_of(reading.words.text[:start])[-1:]
    after = words_of(reading.words.text[start + len(topic) :])[:1]
    listed = bool(TOPIC_MARKS.intersection(before) or SESSION_NOUNS.intersection(after))
    return pieces[:_MOST] if short and listed and start >= 0 and len(pieces) > 1 else []


def _says_something(piece: str) -> bool:
    return piece[0].isupper() or not BARE.issuperset(words_of(piece))
