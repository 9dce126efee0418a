"""Which column of a table holds what, by the names that organisers give them; see ``data/columns.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from loopwright.config import shipped
from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Table

_SIGNS = re.compile(r"[\W_]+")


def column_name(name: str) -> str:
    """A column's name as it is compared: folded, with single spaces for signs."""
    return _SIGNS.sub(" ", fold(name)).strip()


def row_values(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says, by what it is about.

    Returns:
        Field -> value, for the fields that the row fills.
    """
    by_name = {column_name(name): value for name, value in row.items() if value not in (None, "", [])}
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for field, names in _columns()[table].items():
        chosen = next((name for name in names if name in by_name and name not in taken), None)
        if chosen is not None:
            found[field] = by_name[chosen]
            taken.add(chosen)
    return found


def unknown_columns(table: Table, row: Mapping[str, Any]) -> list[str]:
    """The columns of a row that no field takes, as they stand in the file."""
    known = {name for names in _columns()[table].values() for name in names}
    return [name for name in row if name and column_name(name) not in known]


@cache
def _columns() -> dict[Table, dict[str, tuple[str, ...]]]:
    listed = shipped("loopwright.workflows.assistant", "data/columns.yaml")
    return TypeAdapter(dict[Table, dict[str, tuple[str, ...]]]).validate_python(listed)
