"""Shows a state in a log line or an error: short, and without secrets."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel

SECRET = re.compile(
    r"((api|access|private)[_-]?key|secret|token(?!i[sz](e|ing|ation))|password|passwd|authorization|credential|cookie)",
    re.IGNORECASE,
)
"""Names whose values are never shown; what cuts a text into tokens has no secret in it."""

MAX_VALUE = 200
"""Characters shown of one value."""

MAX_TOTAL = 1500
"""Characters shown of a state."""

MAX_PARTS = 150
"""So many mappings and sequences are searched within one of the value's own items, which may hold each other."""


def redacted(value: Any, left: Iterator[int] | None = None) -> Any:
    """The same value with what looks like a secret by its name replaced by ``***``.

    Mappings, sequences, dataclasses and pydantic models are searched. `left` ends with the last mapping or sequence to
    be searched within this one; any other is shown as ``…``.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    elif isinstance(value, BaseModel):
        names = (name for name, field in type(value).model_fields.items() if not field.exclude)
        value = {name: getattr(value, name, None) for name in names} | (value.model_extra or {})
    if not isinstance(value, Mapping | list | tuple):
        return value
    if left and next(left, None) is None:
        return "…"
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {
            key: "***" if SECRET.search(str(key)) else redacted(item, left or iter(range(MAX_PARTS)))
            for key, item in items
        }
    return [redacted(item, left or iter(range(MAX_PARTS))) for item in cast("list[Any]", value)]


def snapshot(state: Any) -> str:
    """One line that shows a state: redacted and truncated."""
    plain = redacted(state)
    if not isinstance(plain, dict):
        return _short(repr(plain), MAX_TOTAL)
    shown = ", ".join(f"{key}={_short(repr(value), MAX_VALUE)}" for key, value in cast("dict[Any, Any]", plain).items())
    return _short(shown, MAX_TOTAL)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
