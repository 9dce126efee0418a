"""Tracks in a question: only where a word such as "track" or "devroom" says that one is meant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.understanding.frames import BARE, TRACK_NOUNS
from loopwright.workflows.assistant.understanding.spelling import words_of
from loopwright.workflows.assistant.understanding.words import Words

TRACK = "track"
"""The kind of words that name a track."""

_SEGMENTS = re.compile(r"\s+[-–—]\s+")
_PARTS = re.compile(r"\s*[()（）:,/&+]\s*|\s+(?:and|und|et|y|or)\s+|\s+[-–—]\s+", re.IGNORECASE)
_NOUNS = TRACK_NOUNS | {"room"}
_JOINING = frozenset("and or of the for in".split())
_AFTER = frozenset("on about for called named".split())
_LONGEST = 12
_MOST_PARTIAL = 4
_NEAR = 85
"""The least likeness, of 100, of a mistyped track to a track's name."""


class TrackNames:
    """All that the tracks of a conference may be called."""

    def __init__(self, tracks: Iterable[str]) -> None:
        """Derive short forms: parts of a name, initials, single words.

        Args:
            tracks: Names of tracks, as the schedule has them.
        """
        self.known = tuple(tracks)
        """Names of tracks, as the schedule has them."""
        whole, parts = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        self.stems: dict[str, frozenset[str]] = {}
        """Track -> the stems of its words."""
        for track in self.known:
            core = _core(words_of(track))
            whole["".join(words_of(track))].add(track)
            whole["".join(core)].add(track)
            for piece in (*_SEGMENTS.split(track), *_PARTS.split(track)):
                parts["".join(words_of(piece))].add(track)
                parts["".join(_core(words_of(piece)))].add(track)
            for initials in _initials(core):
                parts[initials].add(track)
            self.stems[track] = frozenset(terms(" ".join(core)))
        for names in (whole, parts):
            names.pop("", None)
        self.whole: Mapping[str, set[str]] = whole
        """A track's whole name as one string -> the tracks of that name."""
        self.parts: Mapping[str, set[str]] = {**parts, **whole}
        """A part of a name, or its initials -> the tracks; a whole name goes before a part."""

    def in_order(self, tracks: set[str]) -> tuple[str, ...]:
        """Tracks, the largest first.

        Args:
            tracks: Some of them.
        """
        return tuple(track for track in self.known if track in tracks)

    def by_words(self, words: list[str]) -> set[str]:
        """The tracks whose names hold all of some words; none if there are too many of them.

        Args:
            words: Plain words.
        """
        wanted = set(terms(" ".join(word for word in words if word not in _JOINING)))
        found = {track for track, stems in self.stems.items() if wanted and wanted <= stems}
        return found if len(found) <= _MOST_PARTIAL else set()


@dataclass(frozen=True, slots=True)
class Tracks:
    """What a question says of tracks."""

    tracks: tuple[str, ...] = ()
    """Tracks as the schedule has them."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def read_tracks(words: Words, names: TrackNames) -> Tracks:
    """The tracks that a question names together with a word for a track.

    A track that does not exist restricts nothing: its name stays in the topic, and a note says so.

    Args:
        words: The question; what is read is taken.
        names: The tracks.
    """
    found: dict[str, None] = {}
    notes: list[str] = []
    for i in range(len(words)):
        if not names.known or words.key(i) not in _NOUNS or not words.free(i, i):
            continue
        tracks = _around(words, i, names)
        if not tracks and words.key(i) in TRACK_NOUNS:
            tracks = _mistyped_or_missing(words, i, names, notes)
        found.update(dict.fromkeys(names.in_order(tracks)))
    return Tracks(tuple(found), tuple(notes))


def _around(words: Words, i: int, names: TrackNames) -> set[str]:
    """The tracks named with the noun at a place: around it, before it, or after it."""
    with_noun = words.key(i) != "room"
    spans = [
        (first, last)
        for first in range(max(0, i - _LONGEST), i + 1)
        for last in range(i, min(len(words), i + _LONGEST))
        if first < last
    ]
    for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
        joined = words.joined(first, last)
        if with_noun and joined in names.parts and words.free(first, last) and _capital_if_single(words, first, last):
            words.take(first, last, TRACK)
            return set(names.parts[joined])
    found = _before(words, i, names)
    if found or not with_noun:
        return found
    return _after(words, i, names)


def _capital_if_single(words: Words, first: int, last: int) -> bool:
    """A single letter is a name only as a capital: "a track" is any, "track A" is one."""
    return all(len(words.key(j)) > 1 or words[j].capitalised for j in range(first, last + 1))


def _before(words: Words, i: int, names: TrackNames) -> set[str]:
    found = set[str]()
    end = i - 1
    while end >= 0:
        spans = [(first, end) for first in range(max(0, end - _LONGEST), end + 1)]
        match = _phrase(words, names, spans, partial=words.key(i) in TRACK_NOUNS)
        if match is None:
            break
        first, tracks = match[0], match[2]
        words.take(first, i, TRACK)
        found |= tracks
        end = first - 1
        if words.key(end) not in ("and", "or"):
            break
        end -= 1
    return found


def _after(words: Words, i: int, names: TrackNames) -> set[str]:
    start = i + 1
    while words.key(start) in _AFTER or words.key(start) == "the":
        start += 1
    lasts = range(min(len(words), start + _LONGEST) - 1, start - 1, -1)
    spans = [(start, last) for last in lasts]
    # Only a name as the schedule has it: in "keep track of issues" the last word is no part of one.
    match = _phrase(words, names, spans, partial=False)
    if match is None:
        return set()
    words.take(i, match[1], TRACK)
    return match[2]


def _phrase(
    words: Words, names: TrackNames, spans: list[tuple[int, int]], *, partial: bool = True
) -> tuple[int, int, set[str]] | None:
    """The first phrase that is a track's name or a part of one; else the longest that has only words of one."""
    for first, last in spans:
        alias = words.joined(first, last)
        if (
            words.free(first, last)
            and len(alias) > 1
            and alias in names.parts
            and (alias in names.whole or alias not in BARE)
        ):
            return first, last, set(names.parts[alias])
    for first, last in spans if partial else ():
        keys = [words.key(j) for j in range(first, last + 1)]
        bounded = keys[0] not in BARE and keys[-1] not in BARE and words.free(first, last)
        if bounded and (tracks := names.by_words(keys)):
            return first, last, tracks
    return None


def _mistyped_or_missing(words: Words, i: int, names: TrackNames, notes: list[str]) -> set[str]:
    first = i
    while first > 0 and i - first < 5 and words.free(first - 1, first - 1) and words.key(first - 1) not in BARE:
        first -= 1
    if first == i or (words.key(i) not in ("devroom", "devrooms") and words.key(first - 1) not in ("the", "a")):
        return set()
    asked = words.joined(first, i - 1)
    match = process.extractOne(asked, list(names.parts), scorer=fuzz.ratio, score_cutoff=_NEAR)
    shown = words.shown(first, i - 1)
    if match is None or len(asked) < 4:
        notes.append(f'There is no track "{shown}" in the schedule.')
        return set()
    tracks = names.parts[match[0]]
    notes.append(f'There is no track "{shown}"; taken as {" or ".join(names.in_order(tracks))}.')
    words.take(first, i, TRACK)
    return set(tracks)


def _core(words: list[str]) -> list[str]:
    """A name's words without those for a track at its ends."""
    while words and words[-1] in TRACK_NOUNS:
        words = words[:-1]
    while words and words[0] in TRACK_NOUNS:
        words = words[1:]
    return words


def _initials(words: list[str]) -> set[str]:
    """Initials of three words or more: of all, and without the small ones."""
    large = [word for word in words if word not in _JOINING]
    return {"".join(word[0] for word in group) for group in (words, large) if len(large) >= 3}
