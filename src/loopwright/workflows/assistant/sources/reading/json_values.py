"""JSON as it comes: parsed with a message that helps, and looked into without trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from loopwright.errors import DocumentError

_PREFERRED = ("en", "name", "title", "label", "value")


def parse_json(path: Path, text: str) -> object:
    """Parse a JSON file.

    Args:
        path: The file, for messages.
        text: What it holds.

    Raises:
        DocumentError: If it is no JSON, or nests too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        hint = "; if it has one object a line, name it .jsonl" if error.msg == "Extra data" else ""
        raise DocumentError(str(path), f"is no valid JSON, line {error.lineno}: {error.msg}{hint}") from None
    except RecursionError:
        raise DocumentError(str(path), "nests too deeply") from None


def as_mapping(value: object) -> dict[str, Any]:
    """A JSON object, or an empty one if the value is none.

    Args:
        value: A JSON value.
    """
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A JSON array, or an empty one if the value is none.

    Args:
        value: A JSON value.
    """
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The text of a JSON value; of one in several languages the English, of a list its parts.

    Args:
        value: A JSON value.

    Returns:
        The text; empty for null, true, false, and what has none.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return ", ".join(filter(None, map(as_text, cast(list[object], value))))
    inside = as_mapping(value)
    chosen = [inside[key] for key in _PREFERRED if key in inside] or list(inside.values())
    return next((item for item in chosen if isinstance(item, str) and item), "")
