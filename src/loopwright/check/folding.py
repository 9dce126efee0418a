"""Computes what constants alone decide, as Python would: operators, f-strings, methods of texts, and some builtins."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from loopwright.engine.proof.source import UNKNOWN, Symbol


class _More:
    """Stands in a list or table for items that nobody knows."""

    def __repr__(self) -> str:
        return "..."


MORE = _More()
"""In a list, or as a key of a table: something unknown was added to it."""

MOST_ITEMS = 10_000
"""More items or characters than this are not counted out; what depends on them is unknown."""

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv,
    ast.USub: operator.neg, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
"""None of these makes something much larger than what it is given."""

_TEXT_METHODS = frozenset({
    "capitalize", "endswith", "isupper", "islower", "join", "lower", "lstrip", "removeprefix", "removesuffix",
    "rstrip", "split", "startswith", "strip", "title", "upper",
})  # fmt: skip

_OF_SEQUENCES = frozenset({"enumerate", "len", "list", "range", "reversed", "sorted", "tuple", "zip"})
"""Builtins that look at their arguments' order alone; what they are given may hold anything but for `sorted`."""


def operated(operation: ast.AST, values: Sequence[Any]) -> Any:
    """What an operator makes of its operands; `UNKNOWN` where they are no plain constants."""
    function = _OPERATORS.get(type(operation))
    textual = isinstance(operation, ast.Mod) and any(isinstance(value, str) for value in values)
    if function is None or textual or not all(map(is_plain, values)):
        return UNKNOWN
    return _tried(function, *values)


def formatted(parts: Sequence[Any]) -> Any:
    """An f-string, of its parts' values."""
    texts = [str(part) for part in parts if isinstance(part, str | int) and not isinstance(part, Symbol)]
    return _tried("".join, texts) if len(texts) == len(parts) else UNKNOWN


def method_of_text(text: str, name: str, values: Sequence[Any]) -> Any:
    """What a method of a string returns."""
    known = name in _TEXT_METHODS and all(map(is_plain, values))
    return _tried(getattr(text, name), *values) if known else UNKNOWN


def builtin(name: str, values: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What one of Python's own functions makes of sequences; iterators as lists."""
    fit = (isinstance(value, str | int | list | tuple | dict) for value in (*values, *named.values()))
    if name not in _OF_SEQUENCES or not all(fit):
        return UNKNOWN
    if any(MORE in value for value in values if isinstance(value, list | tuple | dict)):
        return UNKNOWN
    if name == "sorted" and not all(map(is_plain, values)):
        return UNKNOWN
    if name == "range" and (found := _tried(range, *values)) is not UNKNOWN and len(found) > MOST_ITEMS:
        return UNKNOWN
    found = _tried(partial(getattr(builtins, name), **named), *values)
    if name == "tuple" or not hasattr(found, "__iter__"):
        return found
    return [*found]


def is_plain(value: Any) -> bool:
    """Whether a value is a constant, or a list of constants."""
    items: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    return all(item is None or (isinstance(item, str | int | float) and not isinstance(item, Symbol)) for item in items)


def _tried(function: Callable[..., Any], *values: Any) -> Any:
    try:
        found = function(*values)
    except Exception:  # the program fails there, too
        return UNKNOWN
    return UNKNOWN if isinstance(found, str | list | tuple) and len(found) > MOST_ITEMS else found
