"""Values of records as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, cast

_SHOWN = 100


def as_text(value: object) -> str:
    """A string, number or truth value as text without needless spaces; anything else as the empty text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def as_texts(value: object) -> tuple[str, ...]:
    """A value, or a list of values, as texts; what is empty is left out."""
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    return tuple(text for inner in values if (text := as_text(inner)))


def shown(value: object) -> str:
    """A value as a message shows it: its beginning; of a list or an object only its kind, for it may be endless."""
    if isinstance(value, str):
        return repr(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else "")
    if isinstance(value, float | date) or (isinstance(value, int) and value.bit_length() < _SHOWN):
        return str(value)
    return f"(a {type(value).__name__})"


def lines_of(value: object, name: str = "") -> Iterator[str]:
    """A value as lines "name: value"; names of nested values are joined by dots, and empty values left out.

    Args:
        value: A JSON value, whose depth was checked.
        name: What it is called.
    """
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            yield from lines_of(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        values = cast(list[Any], value)
        if any(isinstance(inner, dict | list) for inner in values):
            for place, inner in enumerate(values, 1):
                yield from lines_of(inner, f"{name}.{place}")
        elif texts := as_texts(values):
            yield f"{name}: {', '.join(texts)}"
    elif text := value.strip() if isinstance(value, str) else as_text(value):
        yield f"{name}: {text}"
