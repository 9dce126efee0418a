"""What changed between two states, in words and lines a person can read."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

_LONG = 60
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


@dataclass(frozen=True)
class Change:
    """What became of one value."""

    path: str
    """Where it is: a state key, with keys of dicts after dots and places of lists in brackets."""
    kind: Literal["added", "removed", "changed"]
    """What happened to it."""
    lines: tuple[str, ...]
    """The value, or the difference as lines that begin with ``+``, ``-`` or a blank."""


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """Compare two states.

    Args:
        before: Plain data.
        after: Plain data.

    Returns:
        The changes, in the order of the keys.
    """
    return [*_of_dicts("", before, after)]


def _of_dicts(path: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *after]):
        place = f"{path}.{key}" if path else str(key)
        if key not in after:
            yield Change(place, "removed", _marked("-", before[key]))
        elif key not in before:
            yield Change(place, "added", _marked("+", after[key]))
        else:
            yield from _of_values(place, before[key], after[key])


def _of_values(path: str, before: Any, after: Any) -> Iterator[Change]:
    if type(before) is type(after) and _same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_dicts(path, cast("dict[str, Any]", before), cast("dict[str, Any]", after))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(path, cast("list[Any]", before), cast("list[Any]", after))
    elif isinstance(before, str) and isinstance(after, str) and ("\n" in before + after or len(before + after) > _LONG):
        yield Change(path, "changed", _unified(_sentences(before), _sentences(after)))
    else:
        yield Change(path, "changed", (*_marked("-", before), *_marked("+", after)))


def _of_lists(path: str, before: list[Any], after: list[Any]) -> Iterator[Change]:
    """Tell what was appended; of lists of one length what changed in which place; of others a unified difference."""
    if len(after) > len(before) and _same(after[: len(before)], before):
        added = after[len(before) :]
        lines = [line for item in added for line in _marked("+", item)]
        yield Change(path, "changed", (f"  {len(before)} items as before, {len(added)} appended", *lines))
    elif len(after) == len(before):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _of_values(f"{path}[{index}]", old, new)
    else:
        yield Change(path, "changed", _unified([_text(item) for item in before], [_text(item) for item in after]))


def _same(before: Any, after: Any) -> bool:
    """Compare as JSON does, so that 1, 1.0 and true are different."""
    return before is after or _text(before) == _text(after)


def _unified(before: list[str], after: list[str]) -> tuple[str, ...]:
    lines = difflib.unified_diff(before, after, lineterm="", n=1)
    return tuple(line for line in lines if not line.startswith(("---", "+++")))


def _sentences(text: str) -> list[str]:
    """Split at the ends of lines and sentences, so that a change in a long line shows only its surroundings."""
    return [part for line in text.splitlines() for part in _SENTENCE_END.split(line)]


def _marked(sign: str, value: Any) -> tuple[str, ...]:
    lines = value.splitlines() if isinstance(value, str) else [_text(value)]
    return tuple(f"{sign} {line}" for line in lines or [""])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
