"""Two states in plain JSON put side by side: which keys differ, and where within their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from loopwright.engine.ledger import HIDDEN
from loopwright.runs.comparing.schemas import KeyDifference, ValueDifference

MAX_DIFFERENCES = 50
"""Places told of one key."""

MAX_DEPTH = 40
"""Levels that are looked into; below, values are compared as wholes."""

MAX_TEXT = 400
"""Characters shown of one text."""

MAX_ITEMS = 10
"""Items shown of one list or mapping."""

SHOWN_DEPTH = 3
"""Levels shown of one value."""

PLANS = frozenset({"plan", "plans", "query", "queries", "attempts"})
"""Last words of the keys that hold what a run means to do: ``planned_queries``, ``next_query``, ``plan``."""

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)?")
"""A moment taken from a clock, with its fraction of a second; a moment that is asked for has none."""

UUID = re.compile(r"(run-{1,2}|lc_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-\d+)?")
"""An id that is made anew in each run, as LangChain gives one to each message."""


def compared_states(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[KeyDifference, ...]:
    """Compare two states.

    What differs in every run says nothing and is left out: the engine's books, clock times, measured seconds, and the
    ids of messages.

    Args:
        a: One state in plain JSON.
        b: The other.

    Returns:
        The keys that differ, in the order of the states.
    """
    compared = (_compared_key(key, a, b) for key in dict.fromkeys((*a, *b)) if key not in HIDDEN)
    return tuple(difference for difference in compared if difference is not None)


def is_plan(key: str) -> bool:
    """Whether a key of a state holds a plan or queries, by its name."""
    return key.rpartition("_")[2] in PLANS


def shortened(value: Any, depth: int = SHOWN_DEPTH) -> Any:
    """A value as it is shown: long texts and lists cut, what lies deep in words.

    Args:
        value: A value in plain JSON.
        depth: Levels of lists and mappings that are shown.
    """
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value):,} characters)"
    if isinstance(value, Mapping):
        items = [*cast("Mapping[str, Any]", value).items()]
        if depth <= 0 and items:
            return f"… ({len(items)} keys)"
        shown = {key: shortened(item, depth - 1) for key, item in items[:MAX_ITEMS]}
        return {**shown, "…": f"{len(items) - MAX_ITEMS} more"} if len(items) > MAX_ITEMS else shown
    if isinstance(value, list | tuple):
        listed = [*cast("list[Any]", value)]
        if depth <= 0 and listed:
            return f"… ({len(listed)} items)"
        more = [f"… ({len(listed) - MAX_ITEMS} more)"] if len(listed) > MAX_ITEMS else []
        return [*(shortened(item, depth - 1) for item in listed[:MAX_ITEMS]), *more]
    return value


def _compared_key(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> KeyDifference | None:
    if key not in b:
        only = ValueDifference(pointer="", where="a", a=shortened(a[key]))
        return KeyDifference(key=key, where="a", differences=(only,))
    if key not in a:
        only = ValueDifference(pointer="", where="b", b=shortened(b[key]))
        return KeyDifference(key=key, where="b", differences=(only,))
    found = [*_differences(a[key], b[key], "", 0)]
    if not found:
        return None
    told = tuple(found[:MAX_DIFFERENCES])
    return KeyDifference(key=key, where="both", differences=told, more=len(found) - len(told))


def _differences(a: Any, b: Any, pointer: str, depth: int) -> Iterator[ValueDifference]:
    if depth < MAX_DEPTH and isinstance(a, dict) and isinstance(b, dict):
        yield from _inside(cast("dict[str, Any]", a), cast("dict[str, Any]", b), pointer, depth)
    elif depth < MAX_DEPTH and isinstance(a, list) and isinstance(b, list):
        in_a, in_b = cast("list[Any]", a), cast("list[Any]", b)
        yield from _inside(
            {str(at): item for at, item in enumerate(in_a)},
            {str(at): item for at, item in enumerate(in_b)},
            pointer,
            depth,
        )
    elif not _same(a, b) and not _incidental(a, b, pointer):
        yield ValueDifference(pointer=pointer, where="both", a=shortened(a), b=shortened(b))


def _inside(a: dict[str, Any], b: dict[str, Any], pointer: str, depth: int) -> Iterator[ValueDifference]:
    for key in dict.fromkeys((*a, *b)):
        at = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in b:
            yield ValueDifference(pointer=at, where="a", a=shortened(a[key]))
        elif key not in a:
            yield ValueDifference(pointer=at, where="b", b=shortened(b[key]))
        else:
            yield from _differences(a[key], b[key], at, depth + 1)


def _incidental(a: Any, b: Any, pointer: str) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return any(made.fullmatch(a) and made.fullmatch(b) for made in (MOMENT, UUID))
    return pointer.rpartition("/")[2] == "seconds" and isinstance(a, float) and isinstance(b, float)


def _same(a: Any, b: Any) -> bool:
    """A whole number may come back from JSON as ``1`` or ``1.0``, which are the same; True is no number."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)
