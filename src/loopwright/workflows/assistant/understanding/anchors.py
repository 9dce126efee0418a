"""Times that are told by a session: after the keynote, before the closing, between two talks, while another is on."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.understanding.clock import CLOCK
from loopwright.workflows.assistant.understanding.frames import SESSION_NOUNS, TOPIC_MARKS
from loopwright.workflows.assistant.understanding.index import Index
from loopwright.workflows.assistant.understanding.times import Times, day_of
from loopwright.workflows.assistant.understanding.words import Words

RELATION = re.compile(
    r"\b(?:(?P<soon>right|directly|immediately|straight|just|shortly)\s+)?"
    r"(?:(?P<after>after|following)|(?P<before>before)|(?P<between>between)"
    r"|(?P<during>during|while|overlap(?:s|ping)?\s+with|overlaps?|clash(?:es|ing)?\s+with|conflict(?:s|ing)?\s+with"
    r"|(?:at\s+)?the\s+same\s+time\s+as|(?:in\s+)?parallel\s+(?:to|with)|alongside|opposite))\s+",
    re.IGNORECASE,
)
"""A relation to what follows: ``after``, ``before``, ``between`` or ``during``; ``soon`` for what is next to it."""
_TAIL = re.compile(r"\W{0,2}\s*(?:is\s+(?:on|running|over|happening)|runs|ends|takes\s+place)\b", re.IGNORECASE)
_ARTICLES = frozenset("the a an this that".split())
_OWN = frozenset("my our".split())
_FIRST, _LAST = frozenset("opening welcome first".split()), frozenset("closing final last".split())
_TITLED = frozenset("opening welcome closing".split())
_NOUNS = SESSION_NOUNS | frozenset("keynote panel workshop concert ceremony event tour party lecture".split())
_LONGEST = 30
_MOST_ALIKE = 3
_SLOT = timedelta(minutes=30)
"""What begins within so long of the first session after a break comes right after it as well."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A relation to a session that a question names."""

    relation: str
    """``after``, ``before``, ``during`` or ``between``."""
    soon: bool
    """Whether what is next to it is meant, and not all that is earlier or later that day."""
    sessions: tuple[tuple[Record, ...], ...]
    """The sessions that may be meant, in order of time; two lists where it is between two, none if it is not known."""
    asked: tuple[str, ...]
    """How the question calls them."""


def take_anchor(words: Words, index: Index, own: Collection[str]) -> Anchor | None:
    """The relation to a session that a question names, if there is one.

    Args:
        words: The question; what is read is taken.
        index: The conference.
        own: The names under which the person who asks speaks there.
    """
    for match in RELATION.finditer(words.text):
        place = words.within(match.start(), match.end())
        relation = next(name for name in ("after", "before", "between", "during") if match[name])
        if place is None or not words.free(*place):
            continue
        first = place[1] + 1
        if mine := _unknown_own(words, first, own):
            words.take(place[0], mine, CLOCK)
            return Anchor(relation, bool(match["soon"]), (), ())
        found = _named(words, first, index, own)
        if found is None:
            continue
        sessions, last = [found[0]], found[1]
        asked = [words.shown(first, last)]
        if relation == "between":
            pair = _pair(words, first, last, found[0], index, own)
            if pair is None:
                continue
            sessions, last, asked = pair
        tail = _TAIL.match(words.text, words[last].end)
        end = tail.end() if tail else words[last].end
        taken = words.within(match.start(), end) or (place[0], last)
        words.take(taken[0], taken[1], CLOCK)
        return Anchor(relation, bool(match["soon"]), tuple(map(tuple, sessions)), tuple(asked))
    return None


def at_anchor(anchor: Anchor, times: Times, index: Index, now: datetime | None) -> tuple[Times, tuple[str, ...]]:
    """The times of a question with what its relation to a session adds.

    Args:
        anchor: The relation.
        times: What else the question says of time; its days choose among several sessions.
        index: The conference.
        now: The moment of asking in the conference's time zone: of several sessions the next is meant.

    Returns:
        The times, and the ids of the sessions themselves, which are not asked for.
    """
    if not anchor.sessions:
        note = "Which talks are yours is not known: say what your name is, or name the talks."
        return replace(times, notes=(*times.notes, note)), ()
    notes: list[str] = []
    possible = [_possible(sessions, times, now) for sessions in anchor.sessions]
    chosen = [sessions[0] for sessions in possible]
    for session, sessions, asked in zip(chosen, possible, anchor.asked, strict=True):
        if len(sessions) > 1 and anchor.relation != "between":
            when = f"{_start(session):%A}, {_start(session):%H:%M}"
            notes.append(
                f'There are {len(sessions)} sessions that "{asked}" may be; taken as "{session.title}", {when}.'
            )
    first, last = chosen[0], chosen[-1]
    start, end = _start(first), first.end or _start(first)
    day = (day_of(start, index).isoformat(),)
    timed = replace(times, days=day, notes=(*times.notes, *notes), next_only=False, at=None)
    if anchor.relation == "between":
        timed = replace(timed, after=end, before=_start(last))
    elif anchor.relation == "during":
        timed = replace(timed, days=(), after=None, before=end, ends_after=start)
    elif anchor.relation == "after":
        timed = replace(timed, after=end, before=_soon_after(end, day, index) if anchor.soon else times.before)
    else:
        timed = replace(timed, before=start, after=_soon_before(start, day, index) if anchor.soon else times.after)
    return timed, tuple(session.id for session in chosen)


def _pair(
    words: Words, first: int, last: int, found: Sequence[Record], index: Index, own: Collection[str]
) -> tuple[list[Sequence[Record]], int, list[str]] | None:
    """Two sessions: "X and Y", or "my two talks" on the first day that has two of them."""
    if words.key(last + 1) == "and" and (other := _named(words, last + 2, index, own)):
        return [found, other[0]], other[1], [words.shown(first, last), words.shown(last + 2, other[1])]
    for one, two in pairwise(found):
        if words.key(first) in _OWN and one.values("day") == two.values("day"):
            return [[one], [two]], last, [words.shown(first, last)] * 2
    return None


def _named(words: Words, first: int, index: Index, own: Collection[str]) -> tuple[Sequence[Record], int] | None:
    """The sessions that the words from a place on name, and the last of these words; the longest name counts."""
    for last in range(min(first + _LONGEST, len(words)) - 1, first - 1, -1):
        start = first + 1 if words.key(first) in _ARTICLES and last > first else first
        whole = index.by_title.get(words.joined(first, last)) or index.by_title.get(words.joined(start, last))
        # A title of one word is said with an article or a word such as "talk", or it is a topic.
        timed = [record for record in whole or () if record.start]
        if timed and (last > start or words.kinds[last]):
            return timed, last
        if last - first < 8 and (found := _described(words, first, last, index, own)):
            return found, last
    return None


def _described(words: Words, first: int, last: int, index: Index, own: Collection[str]) -> list[Record]:
    """The sessions of "the closing session", "the keynote", "my talk", "Ada's talk", "the talk by Ada"."""
    keys = [words.key(i) for i in range(first, last + 1)]
    mine, article = keys[0] in _OWN, keys[0] in _ARTICLES
    inner = [key for key in (keys[1:] if mine or article else keys) if key not in index.own_names]
    if not inner or keys[0] in TOPIC_MARKS:
        return []
    noun = inner[-1]
    kinds = index.kinds.get(noun.rstrip("s"), ())
    named = noun in _NOUNS or noun.rstrip("s") in _NOUNS or bool(kinds)
    said = [key for key in (inner[:-1] if named else inner) if key not in ("two", "both", "own")]
    if mine:
        return _of_kind(_given(own, index), kinds) if named and not said else []
    if not said:
        # "the keynote" is of a type; "the concert" may only be titled so.
        generic = not article or noun in SESSION_NOUNS
        return [] if generic else list(kinds) or list(index.title_words.get(noun, ()))
    if len(said) == 1 and said[0] in _FIRST | _LAST:
        return _at_edge(said[0], kinds, index, named=named)
    if persons := _persons(said if named else inner, index, single=named):
        return _of_kind(_given(persons, index), kinds)
    alike = _titled(said, index) if named and article else []
    return alike if len(alike) <= _MOST_ALIKE else []


def _given(persons: Collection[str], index: Index) -> list[Record]:
    """What persons give, in order of time."""
    found = {record.id: record for person in persons for record in index.given.get(person, ())}
    return sorted(found.values(), key=_start)


def _of_kind(records: Sequence[Record], kinds: Sequence[Record]) -> list[Record]:
    """The records that are of a kind; all where that leaves none, since a keynote may be said to be a talk."""
    ids = {record.id for record in kinds}
    return [record for record in records if record.id in ids] or list(records)


def _titled(said: Sequence[str], index: Index) -> list[Record]:
    first, *rest = [index.title_words.get(word, []) for word in said]
    return [record for record in first if all(record in records for records in rest)]


def _at_edge(said: str, kinds: Sequence[Record], index: Index, *, named: bool) -> list[Record]:
    """The opening or the closing: what is titled so, else the first or the last session."""
    words, place = (_FIRST, 0) if said in _FIRST else (_LAST, -1)
    titled = sorted((record for word in words & _TITLED for record in index.title_words.get(word, ())), key=_start)
    among = titled if said in _TITLED and titled else kinds or (index.sessions if named else ())
    return [among[place]] if among else []


def _persons(keys: Sequence[str], index: Index, *, single: bool) -> set[str]:
    """The persons of a full name, of "talk by X", or of a single name where that is enough."""
    for place, key in enumerate(keys[:-1]):
        if key in ("by", "of", "from") and keys[place - 1] in _NOUNS:
            alias = "".join(keys[place + 1 :])
            return set(index.persons.full.get(alias) or index.persons.short.get(alias, ()))
    alias = "".join(keys)
    return set(index.persons.full.get(alias, ()) if len(keys) > 1 or not single else index.persons.short.get(alias, ()))


def _unknown_own(words: Words, first: int, own: Collection[str]) -> int:
    """The last word of "my two talks" where nobody knows whose they are; 0 if something else is said."""
    last = first + 1 + (words.key(first + 1) in ("two", "both", "own"))
    return last if not own and words.key(first) in _OWN and words.key(last) in _NOUNS else 0


def _possible(sessions: Sequence[Record], times: Times, now: datetime | None) -> Sequence[Record]:
    """The sessions that may be meant: those on the days that are asked, and those to come."""
    on_day = [record for record in sessions if not set(record.values("day")).isdisjoint(times.days)] or sessions
    ahead = [record for record in on_day if now and (record.end or _start(record)) > now]
    return ahead[:1] or on_day


def _start(record: Record) -> datetime:
    if record.start is None:
        raise ValueError(f"{record.id} has no time")
    return record.start


def _soon_after(end: datetime, days: Collection[str], index: Index) -> datetime:
    first = min((start for record in index.sessions if (start := _start(record)) >= end), default=end)
    return (first if day_of(first, index).isoformat() in days else end) + _SLOT


def _soon_before(start: datetime, days: Collection[str], index: Index) -> datetime | None:
    ended = (record for record in index.sessions if (record.end or _start(record)) <= start)
    last = max(map(_start, ended), default=None)
    return last - _SLOT if last and day_of(last, index).isoformat() in days else None
