"""Types of session and languages in a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.frames import BARE, SESSION_NOUNS, TOPIC_MARKS, TRACK_NOUNS
from loopwright.workflows.assistant.understanding.languages import CODES, NAMES, code_of
from loopwright.workflows.assistant.understanding.spelling import squash
from loopwright.workflows.assistant.understanding.tracks import TrackNames
from loopwright.workflows.assistant.understanding.words import Words

TYPE = "type"
"""The kind of words that name a type of session."""
LANGUAGE = "language"
"""The kind of words that name a language."""

# What the same type of session is called elsewhere; each group as strings without spaces, singular.
_SAME = (
    frozenset({"keynote", "plenary", "keynotetalk", "keynotesession", "keynotespeech"}),
    frozenset({"bof", "birdsofafeather", "bofsession", "birdsofafeathersession"}),
    frozenset({"lightningtalk", "lightning", "lightningsession"}),
    frozenset({"workshop", "handsonworkshop", "handsonsession", "workshopsession"}),
    frozenset({"paneldiscussion", "paneldebate", "panel", "panelsession"}),
    frozenset({"tutorial", "tutorialsession"}),
    frozenset({"poster", "postersession"}),
    frozenset({"maintrack", "maintracktalk"}),
)
# These hardly ever are a topic, so they count wherever they stand; any other needs a word such as "session" with it.
_PLAIN = frozenset(
    "keynote plenary keynotespeech bof birdsofafeather lightningtalk workshop tutorial paneldiscussion paneldebate "
    "maintrack handsonworkshop handsonsession postersession".split()
)
_GENERIC = frozenset({"talk", "session", "presentation", "lecture", "event", "other", "slot", "track", "devroom"})
_NOUNS = SESSION_NOUNS | TRACK_NOUNS | {"workshop", "workshops", "activity", "activities", "event", "events"}
_ANY_TALK = frozenset(word.rstrip("s") for word in _NOUNS - TRACK_NOUNS)
_TOPIC_BEFORE = TOPIC_MARKS | {"of", "organise", "organize", "run", "running", "organising", "organizing", "to"}
_SPOKEN = (
    r"(?P<noun>talks?|sessions?|presentations?|lectures?|workshops?|events?|keynotes?|anything|something|what|held|given"
    r"|presented|speaks?|speaking|talking)"
)
_NAME = "|".join(sorted(NAMES, key=len, reverse=True))
_LANGUAGE = re.compile(
    rf"\b{_SPOKEN}\s+(?:(?:is|are|that|which|there|held|given|presented|being)\s+)*(?:in|auf|en)\s+(?P<a>{_NAME})\b"
    rf"|\b(?P<b>{_NAME})[\s-]+(?:language\s+|speaking\s+|spoken\s+)?(?:talks?|sessions?|presentations?|lectures?|workshops?)\b"
    rf"|\bin\s+(?:the\s+)?(?P<c>{_NAME})\s+language\b|\bin\s+(?P<d>{_NAME})\s*[?.!]*$"
    rf"|\bi\s+(?:only\s+|just\s+)?(?:speak|understand)\s+(?:only\s+|just\s+)?(?P<e>{_NAME})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Kinds:
    """What a question says of types and languages."""

    types: tuple[str, ...] = ()
    """Types as the schedule has them."""
    tracks: tuple[str, ...] = ()
    """Tracks that are named for such a type, where the schedule has no such type."""
    languages: tuple[str, ...] = ()
    """Languages as the schedule has them; one that nobody speaks there as a code."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def read_kinds(words: Words, types: Sequence[str], languages: Sequence[str], tracks: TrackNames) -> Kinds:
    """The types of session and the languages that a question asks for.

    Args:
        words: The question; what is read is taken.
        types: Types as the schedule has them.
        languages: Languages as the schedule has them.
        tracks: The tracks, of which one may stand for a type.
    """
    found_types, found_tracks = _read_types(words, types, tracks)
    found_languages, notes = _read_languages(words, languages)
    return Kinds(found_types, found_tracks, found_languages, notes)


def _read_types(words: Words, types: Sequence[str], tracks: TrackNames) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = {_singular(squash(kind)): kind for kind in types if _singular(squash(kind)) not in _GENERIC}
    found: dict[str, None] = {}
    found_tracks: dict[str, None] = {}
    for first, last, alias in list(words.phrases(5)):
        names = _names_of(_singular(alias))
        kinds = sorted(known[name] for name in names if name in known)
        as_tracks = () if kinds or names.isdisjoint(_PLAIN) else names
        named_so = set[str]().union(*(tracks.whole.get(name + s, ()) for name in as_tracks for s in ("", "s")))
        if (kinds or named_so) and words.free(first, last) and _is_type(words, first, last, _singular(alias)):
            found.update(dict.fromkeys(kinds))
            found_tracks.update(dict.fromkeys(tracks.in_order(named_so)))
            words.take(first, last, TYPE)
    return tuple(found), tuple(found_tracks)


def _names_of(alias: str) -> set[str]:
    """What a type may be called in the schedule if a question calls it so."""
    names = {alias}
    for group in _SAME:
        if alias in group:
            names |= group
    for noun in _ANY_TALK:
        if alias.endswith(noun) and len(alias) > len(noun):
            names.add(alias.removesuffix(noun))
    return names


def _is_type(words: Words, first: int, last: int, alias: str) -> bool:
    if words.key(first - 1) in _TOPIC_BEFORE and words.key(first - 2) != "is":
        return False
    if alias in _PLAIN or (last > first and words.key(last) in _NOUNS):
        return True
    # "panels about energy": a kind of session, where "solar panels on roofs" are none.
    if words.key(last + 1) in TOPIC_MARKS and (first == 0 or words.key(first - 1) in BARE):
        return True
    others = (i for i in range(len(words)) if not first <= i <= last and words.free(i, i))
    return all(words.key(i) in BARE for i in others)


def _singular(alias: str) -> str:
    return alias[:-1] if alias.endswith("s") and len(alias) > 3 else alias


def _read_languages(words: Words, languages: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, None] = {}
    notes: list[str] = []
    for match in _LANGUAGE.finditer(words.text):
        group = next(name for name in "abcde" if match[name])
        code = NAMES[match[group].casefold()]
        theirs = [value for value in languages if value.casefold() == CODES[code].casefold() or code_of(value) == code]
        place = words.within(match.start(group), match.end(group))
        # "... in German" at the end may be the topic where the schedule has no talks in German.
        if place is None or not words.free(*place) or not languages or (group == "d" and not theirs):
            continue
        words.take(*place, LANGUAGE)
        found.update(dict.fromkeys(theirs or [code]))
        if not theirs:
            shown = " and ".join(CODES.get(code_of(value), value) for value in languages[:3])
            notes.append(f"Nothing is held in {CODES[code]}; the schedule has {shown}.")
    return tuple(found), tuple(notes)
