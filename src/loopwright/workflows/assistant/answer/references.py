"""The marks by which an answer cites records, for example ``[sessions:6196]``: written, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Table

_TABLES = "|".join(Table)
_BRACKETS = re.compile(r"(?<!\\)[\[【]\s*([^\[\]【】\n]{1,300}?)\s*[\]】](?!\()")
_NAMED = re.compile(rf"(?:{_TABLES})\s*[:：]", re.IGNORECASE)
_NEXT = re.compile(rf"\s*[,;，、]\s*(?=(?:{_TABLES})\s*[:：])", re.IGNORECASE)
_UNCLOSED = re.compile(r"[\[【](?=[^\]】\n]*$)")
_COLON = re.compile(r"\s*[:：]\s*")


def mark(record_id: str) -> str:
    """The mark that cites a record by its id; no id holds brackets."""
    return f"[{record_id}]"


def referenced(text: str, offered_ids: Sequence[str]) -> tuple[str, ...]:
    """The records that a text cites of those that were offered to its writer, each once, in the order of the text."""
    return tuple(dict.fromkeys(each for _start, _end, ids in _marks(text, offered_ids) for each in ids))


def without_strangers(text: str, offered_ids: Sequence[str]) -> str:
    """The text without marks to records that were not offered, and with the others as `mark` writes them."""
    cleaned, position = "", 0
    for start, end, ids in _marks(text, offered_ids):
        cleaned += text[position:start]
        # What stood around a stranger may not come together as a mark that nobody wrote, nor be escaped.
        kept = cleaned if cleaned.rstrip(" ").endswith("\\") else _UNCLOSED.sub("", cleaned.rstrip(" "))
        cleaned = cleaned + " ".join(map(mark, ids)) if ids else kept
        position = end
    return cleaned + text[position:]


def _marks(text: str, offered_ids: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Every mark of a text, in order: where it begins and ends, and the offered ids that it names.

    Chat models vary the form: several ids in one pair of brackets, other brackets, blanks, other case, and the key
    alone. The key alone counts where exactly one offered record has it, and what else stands in brackets is no mark.
    """
    known = {fold(each): each for each in offered_ids}
    keys: dict[str, list[str]] = {}
    for each in offered_ids:
        keys.setdefault(fold(each.partition(":")[2]), []).append(each)
    for match in _BRACKETS.finditer(text):
        if _NAMED.match(match[1]):
            names = (_COLON.sub(":", name.strip(), count=1) for name in _NEXT.split(match[1]))
            yield match.start(), match.end(), tuple(known[fold(name)] for name in names if fold(name) in known)
        elif len(one := keys.get(fold(match[1]), [])) == 1:
            yield match.start(), match.end(), (one[0],)
