"""The marks by which an answer cites records, for example ``[sessions:6196]``: written, read and checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Table

_TABLES = "|".join(Table)
_BRACKETS = re.compile(r"(?<!\\)[\[【]\s*([^\[\]【】\n]{1,300}?)\s*[\]】]")
_NAMED = re.compile(rf"(?:{_TABLES})\s*[:：]", re.IGNORECASE)
_NEXT = re.compile(rf"\s*[,;，、]\s*(?=(?:{_TABLES})\s*[:：])", re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]\s*")
_UNCLOSED = re.compile(r"[\[【](?=[^\]】\n]*$)")


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
        record_id: The record's id; no id holds brackets.
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
    cleaned, position = "", 0
    for found in marks_in(text, offered_ids):
        before = text[position : found.start]
        if not found.ids:
            # What stood around a stranger may not come together as a mark that nobody wrote, nor be escaped.
            before = before if before.rstrip(" ").endswith("\\") else before.rstrip(" ")
            cleaned = _UNCLOSED.sub("", cleaned + before)
        else:
            cleaned += before + " ".join(map(mark, found.ids))
        position = found.end
    return cleaned + text[position:]


def marks_in(text: str, offered_ids: Sequence[str]) -> list[Mark]:
    """Every mark of a text, in order, without overlaps.

    Chat models vary the form: several ids in one pair of brackets, other brackets, blanks, other case, and the key
    alone. The key alone counts where exactly one offered record has it, and what else stands in brackets is no mark.

    Args:
        text: The text.
        offered_ids: The ids that were put before its writer.
    """
    found: list[Mark] = []
    known = {fold(each): each for each in offered_ids} | {each: each for each in offered_ids}
    keys: dict[str, list[str]] = {}
    for each in offered_ids:
        keys.setdefault(fold(each.partition(":")[2]), []).append(each)
    for match in _BRACKETS.finditer(text):
        if _NAMED.match(match[1]):
            names = (_COLON.sub(":", name.strip(), count=1) for name in _NEXT.split(match[1]))
            ids = [known.get(name) or known.get(fold(name)) for name in names]
            kept = tuple(each for each in ids if each)
            found.append(Mark(match.start(), match.end(), kept, len(ids) - len(kept)))
        elif len(one := keys.get(fold(match[1]), [])) == 1 and text[match.end() : match.end() + 1] != "(":
            found.append(Mark(match.start(), match.end(), (one[0],), 0))
    return found
