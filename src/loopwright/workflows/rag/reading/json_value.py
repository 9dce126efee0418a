"""Parsing JSON within bounds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from loopwright.workflows.rag.reading.source import Source


def parse_json(source: Source, text: str, *, key: str = "") -> object:
    """Parse a JSON value.

    Args:
        source: The file that it is from.
        text: The JSON text.
        key: The line that it is from, for messages.

    Returns:
        The value.

    Raises:
        DocumentError: If it is no JSON, or nested too deeply.
    """
    most = source.limits.json_depth
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        hint = "; if it has one object a line, name it .jsonl" if error.msg == "Extra data" and not key else ""
        raise source.error(f"is no valid JSON: {error.msg} at {place}{hint}", key=key) from None
    except RecursionError:
        raise source.error(f"is nested more than {most} deep, the limit json_depth", key=key) from None
    except ValueError as error:
        raise source.error(f"is no valid JSON: {error}", key=key) from None
    # Counting the brackets settles nearly all cases without a walk.
    if text.count("[") + text.count("{") > most and _is_deeper(value, most):
        raise source.error(f"is nested more than {most} deep, the limit json_depth", key=key)
    return value


def _is_deeper(value: object, most: int) -> bool:
    level: list[object] = [value]
    for _ in range(most + 1):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast(dict[str, Any], value).values()
    return cast(list[Any], value) if isinstance(value, list) else ()
