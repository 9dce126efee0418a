"""Rooms and buildings in a question."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.frames import BARE, ROOM_NOUNS
from loopwright.workflows.assistant.understanding.spelling import by_length, near, squash, words_of
from loopwright.workflows.assistant.understanding.words import Words

ROOM = "room"
"""The kind of words that name a place."""

_PARTS = re.compile(r"\s*[(（)）,/|:]\s*|\s+[-–—]\s+")
_CODE = re.compile(r"([^\W\d_]{1,4})(\d*)[.\-_ ]?(\d.*)")
_BEFORE = frozenset("in at inside into within room rooms hall auditorium building".split())
_INSIDE = frozenset("in inside into within".split())
_BUILDING = frozenset("building buildings block wing house pavilion".split())
_JOINED = re.compile(r"[.\-+#/&]\w|[+#]")
_FEW = 5
"""A word in no more sessions than this is no topic of the conference."""
_NAMED_PLACE = re.compile(
    r"\b(?:(?:room|auditorium|hall)\s+(?:(?=\S*\d)|(?=[A-ZÀ-Þ]))|in\s+(?=[A-Z]{1,3}\d?[.\-]\d))([^\W_][\w.\-]*)"
    r"|\b(?:in|at|inside)\s+(?:the\s+)?building\s+([A-Z]{1,2}\d?)\b(?!\s+[a-z]+s\b)"
    r"|\b(?:in|at|inside)\s+(?:the\s+)?([A-Z]{1,2}\d?)\s+(?i:building)\b"
)
_SAID_CODE = re.compile(r"(?<![\w.])([^\W\d_]{1,4}\d*)[.\-](?:\d+[.\-])?\d+[a-z]?(?![\w]|[.\-]\d)", re.IGNORECASE)
_CAPITALISED_PLACE = re.compile(r"\b(?:in|at|inside)\s+(?:the\s+)?([A-ZÀ-Þ][^\W\d_]{4,})\b")


class RoomNames:
    """All that the rooms of a conference may be called."""

    def __init__(self, rooms: Iterable[str]) -> None:
        """Derive short forms: parts of a name, codes, buildings.

        Args:
            rooms: Names of rooms, as the schedule has them.
        """
        names, buildings = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        prefixes = defaultdict[str, set[str]](set)
        self.known = tuple(rooms)
        """Names of rooms, as the schedule has them."""
        self.shapes = frozenset(_shape(part) for room in self.known for part in (room, *_PARTS.split(room)))
        """What their names look like: "K.3.201" and "K.9.999" look alike, "H.264" does not."""
        for room in self.known:
            for part in dict.fromkeys((room, *filter(None, _PARTS.split(room)))):
                words = words_of(part)
                core = [word for word in words if word not in ROOM_NOUNS]
                for alias in ("".join(words), "".join(core)):
                    names[alias].add(room)
                for n in range(1, len(words)):
                    prefixes["".join(words[:n])].add(room)
                self._add_code(part, room, names, buildings)
        for prefix, members in prefixes.items():
            if len(members) > 1 and prefix not in ROOM_NOUNS:
                buildings[prefix] |= members
        names.pop("", None)
        self.names: Mapping[str, set[str]] = names
        """What a room is called, as one string -> the rooms that are called so."""
        self.buildings: Mapping[str, set[str]] = buildings
        """What a building is called -> its rooms."""

    @staticmethod
    def _add_code(
        part: str, room: str, names: defaultdict[str, set[str]], buildings: defaultdict[str, set[str]]
    ) -> None:
        """A code such as K.3.201 or UD2.120 begins with its building, and its end alone may be said too."""
        code = _CODE.fullmatch(part)
        if code is None:
            return
        letters = squash(code[1])
        names[squash(code[3])].add(room)
        buildings[letters + code[2]].add(room)
        for n in range(1, len(letters) + 1):
            buildings[letters[:n]].add(room)

    def resolve(self, alias: str, *, building: bool) -> set[str]:
        """The rooms that are called so.

        Args:
            alias: A name as one string.
            building: Whether a building is meant in doubt.
        """
        first, second = (self.buildings, self.names) if building else (self.names, self.buildings)
        return first.get(alias) or second.get(alias) or set()


@dataclass(frozen=True, slots=True)
class Place:
    """What a question says of places."""

    rooms: tuple[str, ...] = ()
    """Rooms as the schedule has them; one that does not exist is given as it was asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def read_rooms(words: Words, names: RoomNames, spread: Mapping[str, int]) -> Place:
    """The rooms and buildings that a question names.

    A code such as "K.3.201" is a room wherever it stands; any other name needs a sign: a word such as "in" or "room"
    beside it, or a capital letter where it is no common word.

    Args:
        words: The question; what is read is taken.
        names: The rooms.
        spread: Word -> in how many sessions it stands.
    """
    notes: list[str] = []
    found = dict.fromkeys(_missing_codes(words, names, notes))
    for first, last, alias in list(words.phrases(6)):
        if not words.free(first, last):
            continue
        building = words.key(first - 1) in _BUILDING or words.key(last + 1) in _BUILDING
        rooms = names.resolve(alias, building=building)
        if rooms and _is_meant(words, first, last, alias, spread):
            found.update(dict.fromkeys(room for room in names.known if room in rooms))
            _take(words, first, last)
    if not found:
        found.update(dict.fromkeys(_guessed(words, names, spread, notes)))
    return Place(tuple(found), tuple(notes))


def _is_meant(words: Words, first: int, last: int, alias: str, spread: Mapping[str, int]) -> bool:
    letters, digits = any(map(str.isalpha, alias)), any(map(str.isdigit, alias))
    if letters and digits and len(alias) >= 4:
        return True
    before = words.key(first - 1)
    if before == "the":
        before = words.key(first - 2)
    beside = before in _BEFORE or words.key(last + 1) in ROOM_NOUNS
    capital = words[first].capitalised
    if len(alias) == 1 and letters:
        return _is_house(words, first, beside=beside, rare=spread.get(alias, 0) <= _FEW)
    named = words.key(first - 1) in ROOM_NOUNS or words.key(last + 1) in ROOM_NOUNS
    if not letters:
        # "at 3" is a time and "in 5 years" a span, but "in 3.201" and "room 3" are places.
        return named or (len(alias) >= 3 and before in _INSIDE)
    keys = [words.key(i) for i in range(first, last + 1)]
    if BARE.issuperset(keys):
        return named
    rare = all(spread.get(key, 0) <= _FEW for key in keys)
    return named or (beside and (capital or rare)) or (rare and (capital or digits))


def _is_house(words: Words, i: int, *, beside: bool, rare: bool) -> bool:
    """Whether a single letter is a building: "in C" is a programming language unless nobody speaks of C."""
    if _JOINED.match(words.text, words[i].end):
        return False
    if words.key(i + 1) in _BUILDING:
        return words[i].capitalised or words.key(i) != "a"
    if words.key(i - 1) in _BUILDING:
        # "building C libraries" is no place, "in building C" is one.
        return words.key(i - 2) in _BEFORE or words.key(i - 2) in ("the", "")
    return words[i].capitalised and beside and rare


def _take(words: Words, first: int, last: int) -> None:
    if words.key(last + 1) in ROOM_NOUNS and words.free(last + 1, last + 1):
        last += 1
    if words.key(first - 1) in ROOM_NOUNS and words.free(first - 1, first - 1):
        first -= 1
    words.take(first, last, ROOM)


def _missing_codes(words: Words, names: RoomNames, notes: list[str]) -> list[str]:
    """Codes of a known building and of the look of a room's, but of none that there is: "UB5.999"."""
    found: list[str] = []
    for match in _SAID_CODE.finditer(words.text):
        known = squash(match[0]) in names.names or squash(match[0]) in names.buildings
        if known or squash(match[1]) not in names.buildings or _shape(match[0]) not in names.shapes:
            continue
        place = words.within(match.start(), match.end())
        if place and words.free(*place):
            _take(words, *place)
            found += _missing(match[0], notes, "room")
    return found


def _guessed(words: Words, names: RoomNames, spread: Mapping[str, int], notes: list[str]) -> list[str]:
    """A room that is mistyped, or that does not exist."""
    if not names.known:
        return []
    for match in _NAMED_PLACE.finditer(words.text):
        group = match.lastindex or 1
        asked = match[group].rstrip(".-")
        place = words.within(match.start(group), match.end(group))
        if place is None or not words.free(*place):
            continue
        if match[0].lower().startswith("in ") and group == 1 and _shape(asked) not in names.shapes:
            continue
        _take(words, *place)
        return _nearest(asked, names, notes) or _missing(asked, notes, "building" if group > 1 else "room")
    for match in _CAPITALISED_PLACE.finditer(words.text):
        place = words.within(match.start(1), match.end(1))
        if place and words.free(*place) and not spread.get(words.key(place[0])) and _is_near(match[1], names):
            _take(words, *place)
            return _nearest(match[1], names, notes)
    return []


def _shape(name: str) -> str:
    return re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "9", name))


def _is_near(asked: str, names: RoomNames) -> bool:
    alias = squash(asked)
    return alias.isalpha() and bool(near(alias, _lettered(names), most=1 if len(alias) < 8 else 2))


def _nearest(asked: str, names: RoomNames, notes: list[str]) -> list[str]:
    if not _is_near(asked, names):
        return []
    alias = squash(asked)
    best = next(iter(near(alias, _lettered(names), most=1 if len(alias) < 8 else 2)))
    rooms = [room for room in names.known if room in names.names[best]]
    notes.append(f'There is no room "{asked}"; taken as {" or ".join(rooms)}.')
    return rooms


def _lettered(names: RoomNames) -> dict[int, list[str]]:
    return by_length(name for name in names.names if name.isalpha() and len(name) >= 5)


def _missing(asked: str, notes: list[str], kind: str) -> list[str]:
    notes.append(f'There is no {kind} "{asked}" in the schedule.')
    return [asked]
