"""What the cells of a table hold, and what of the table could not be used."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.reading.columns import row_values, unknown_columns
from loopwright.workflows.assistant.sources.reading.json_values import as_list, as_text
from loopwright.workflows.assistant.sources.reading.markup import plain_line
from loopwright.workflows.assistant.sources.reading.rows import Rows

logger = logging.getLogger("loopwright.assistant")

_SEPARATORS = re.compile(r"[;|\n]")


def missing_names(path: Path, table: Table, rows: Rows) -> DocumentError:
    """What to say of a file where no row has a title.

    Args:
        path: The file.
        table: What it should hold.
        rows: What it holds.
    """
    columns = ", ".join(sorted({name for _, row in rows.rows for name in row})) or "none"
    return DocumentError(str(path), f"no row has a column 'title' or 'name' for {table}; its columns: {columns}")


def problems_of(path: Path, table: Table, rows: Rows) -> list[str]:
    """The rows that cannot be used, since they have no title; columns that nobody knows go to the log.

    Args:
        path: The file.
        table: What it holds.
        rows: Its rows.
    """
    nameless = [
        f"{path.name}, {place}: has no title or name and was left out"
        for place, row in rows.rows
        if not plain_line(as_text(row_values(table, row).get("title")))
    ]
    if unknown := dict.fromkeys(name for _, row in rows.rows for name in unknown_columns(table, row)):
        logger.info("%s: columns that were not used: %s", path.name, ", ".join(unknown))
    return nameless


def several(value: object) -> tuple[str, ...]:
    """The values of a cell that may hold more than one: a JSON array, or text with separators.

    Args:
        value: The cell; text is split at semicolons, bars and line ends, or at commas if it has none of these.
    """
    if isinstance(value, list):
        parts: Iterable[str] = (as_text(item) for item in as_list(value))
    else:
        text = as_text(value)
        parts = _SEPARATORS.split(text) if _SEPARATORS.search(text) else text.split(",")
    return tuple(dict.fromkeys(filter(None, map(plain_line, parts))))
