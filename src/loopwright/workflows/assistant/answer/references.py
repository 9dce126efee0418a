"""The marks by which an answer cites records, for example ``[sessions:6196]``: written, read and checked."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Table

_TABLES = "|".join(Table)
# Keys may hold brackets themselves, so that an offered mark is looked for as it is before any other.
_GROUP = re.compile(rf"(?<!\\)[\[【]\s*(?:(?:{_TABLES})\s*[:：][^\[\]【】\n]{{0,300}})[\]】]", re.IGNORECASE)
_BARE = re.compile(r"(?<!\\)\[\s*([^\[\]\n:]{1,80}?)\s*\](?!\()")
_NEXT = re.compile(rf"\s*[,;，、]\s*(?=(?:{_TABLES})\s*[:：])", re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]\s*")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a text."""

    start: int
    """Where it begins, in characters."""
    end: int
    """Where it ends."""
    ids: tuple[str, ...]
    """The offered ids that it names."""
    strangers: int
    """How many ids it names that were not offered."""


def mark(record_id: str) -> str:
    """The mark that cites a record.

    Args:
        record_id: The record's id.
    """
    return f"[{record_id}]"


def referenced(text: str, offered_ids: Sequence[str]) -> tuple[str, ...]:
    """The records that a text cites, each once, in the order of the text.

    Args:
        text: The text with its marks.
        offered_ids: The ids that were put before its writer; no other one counts.
    """
    return tuple(dict.fromkeys(each for found in marks_in(text, offered_ids) for each in found.ids))


def without_strangers(text: str, offered_ids: Sequence[str]) -> str:
    """The text without marks to records that were not offered, and with the others as `mark` writes them.

    Args:
        text: The text with its marks.
        offered_ids: The ids that were put before its writer.
    """
    plain, marks = [""], list[str]()
    position = 0
    for found in marks_in(text, offered_ids):
        before = text[position : found.start]
        plain[-1] += before if found.ids else before.rstrip(" ")
        for place, each in enumerate(found.ids):
            plain[-1] += " " if place else ""
            marks.append(mark(each))
            plain.append("")
        position = found.end
    plain[-1] += text[position:]
    return _without_chance_marks(plain, marks, offered_ids)


def _without_chance_marks(plain: list[str], marks: Sequence[str], offered_ids: Sequence[str]) -> str:
    """The text of plain pieces with the marks between them, where nothing else reads as a mark.

    What stood around a stranger may come together as another: ``[sessions:[sessions:9]1]`` must not become
    ``[sessions:1]``, which nobody wrote. Such a one loses its opening bracket, so that this ends.
    """
    while True:
        pieces = [piece for pair in zip(plain, [*marks, ""], strict=True) for piece in pair]
        begins = [0, *accumulate(map(len, pieces))]
        cleaned = "".join(pieces)
        written = set(begins[1:-2:2])
        chance = next((each for each in marks_in(cleaned, offered_ids) if each.start not in written), None)
        if chance is None:
            return cleaned
        place = bisect_right(begins, chance.start) - 1
        at = chance.start - begins[place]
        plain[place // 2] = pieces[place][:at] + pieces[place][at + 1 :]


def marks_in(text: str, offered_ids: Sequence[str]) -> list[Mark]:
    """Every mark of a text, in order, without overlaps.

    Chat models vary the form: several ids in one pair of brackets, other brackets, blanks, other case, and the key
    alone. The key alone counts where exactly one offered record has it, and what else stands in brackets is no mark.

    Args:
        text: The text.
        offered_ids: The ids that were put before its writer.
    """
    found = _exact(text, offered_ids)
    exact = {each.start for each in found}
    others = [match for match in _GROUP.finditer(text) if match.start() not in exact]
    bare = list(_BARE.finditer(text))
    known = {fold(each): each for each in offered_ids} if others else {}
    keys: dict[str, list[str]] = {}
    for each in offered_ids if bare else ():
        keys.setdefault(fold(each.partition(":")[2]), []).append(each)
    for match in others:
        names = _NEXT.split(match[0][1:-1].strip())
        ids = [known.get(fold(_COLON.sub(":", name.strip(), count=1))) for name in names]
        kept = tuple(each for each in ids if each)
        found.append(Mark(match.start(), match.end(), kept, len(ids) - len(kept)))
    for match in bare:
        one = keys.get(fold(match[1]), [])
        if len(one) == 1:
            found.append(Mark(match.start(), match.end(), (one[0],), 0))
    return _apart(found)


def _exact(text: str, offered_ids: Sequence[str]) -> list[Mark]:
    marks: list[Mark] = []
    for each in dict.fromkeys(offered_ids):
        sought = mark(each)
        start = text.find(sought)
        while start >= 0:
            marks.append(Mark(start, start + len(sought), (each,), 0))
            start = text.find(sought, start + len(sought))
    return marks


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Of marks that overlap the longest, in order."""
    kept: list[Mark] = []
    for each in sorted(marks, key=lambda one: (one.start, -one.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept
