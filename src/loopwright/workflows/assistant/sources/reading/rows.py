"""The rows of a table, whatever file holds it: CSV, JSON, JSONL or Markdown."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.sources.reading.files import read_text
from loopwright.workflows.assistant.sources.reading.json_values import as_list, as_mapping, parse_json
from loopwright.workflows.assistant.sources.reading.markdown_rows import markdown_rows

_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Rows:
    """What a file holds."""

    rows: list[tuple[str, dict[str, Any]]]
    """Of each row its place in words, for messages, and its values by column."""
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """What stands beside the rows in a JSON object."""
    problems: tuple[str, ...] = ()
    """Rows that had to be left out."""


def read_rows(path: Path, known_columns: Collection[str]) -> Rows:
    """Read a table.

    Args:
        path: The file, whose name ends in ``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, ``.md`` or
            ``.markdown``.
        known_columns: The names that columns can have, to tell a Markdown line ``Name: value`` from text.

    Raises:
        DocumentError: If it cannot be read, is damaged as a whole, or is none of these.
    """
    suffix = path.suffix.lower()
    reader = _READERS.get(suffix)
    if reader is not None:
        return reader(path, read_text(path))
    if suffix in (".md", ".markdown"):
        rows = markdown_rows(read_text(path), known_columns)
        return Rows([(f"line {line}", values) for line, values in rows])
    known = ", ".join((*_READERS, ".md", ".markdown"))
    raise DocumentError(str(path), f"has an unknown ending {suffix!r}; known: {known}")


def rows_of_json(path: Path, value: object) -> Rows:
    """The rows of a JSON value: an array of objects, or an object that holds one.

    Args:
        path: The file, for messages.
        value: What it holds.

    Raises:
        DocumentError: If there is no such array.
    """
    about = as_mapping(value)
    held = [name for name, inner in about.items() if any(as_mapping(item) for item in as_list(inner))]
    items = as_list(about[held[0]]) if held else as_list(value)
    rows = [(f"element {place}", row) for place, item in enumerate(items, 1) if (row := as_mapping(item))]
    if not rows:
        raise DocumentError(str(path), 'holds no array of objects, such as [{"name": ...}, ...]')
    problems = tuple(
        f"{path.name}, element {place}: is no object and was left out"
        for place, item in enumerate(items, 1)
        if not as_mapping(item)
    )
    return Rows(rows, {name: inner for name, inner in about.items() if name not in held[:1]}, problems)


def _json(path: Path, text: str) -> Rows:
    return rows_of_json(path, parse_json(path, text))


def _json_lines(path: Path, text: str) -> Rows:
    rows: list[tuple[str, dict[str, Any]]] = []
    problems: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = as_mapping(json.loads(line))
        except (ValueError, RecursionError):
            row = {}
        if row:
            rows.append((f"line {number}", row))
        else:
            problems.append(f"{path.name}, line {number}: is no JSON object and was left out")
    if not rows:
        raise DocumentError(str(path), "line 1: is no JSON object; a JSONL file has one on each line")
    return Rows(rows, {}, tuple(problems))


def _csv(path: Path, text: str) -> Rows:
    header = next(line for line in text.split("\n") if line.strip())
    reader = csv.reader(iter(text.splitlines(keepends=True)), delimiter=max(_DELIMITERS, key=header.count))
    rows: list[tuple[str, dict[str, Any]]] = []
    problems: list[str] = []
    names: list[str] = []
    for number, cells in _cells(path, reader):
        if not any(cell.strip() for cell in cells):
            continue
        if not names:
            names = [cell.strip() for cell in cells]
        elif len(cells) > len(names):
            problems.append(
                f"{path.name}, line {number}: has {len(cells)} cells, the header {len(names)}, and was left out; "
                "quote cells that hold the sign between cells"
            )
        else:
            rows.append((f"line {number}", dict(zip(names, cells, strict=False))))
    return Rows(rows, {}, tuple(problems))


def _cells(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    begin = 1
    try:
        for cells in reader:
            yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DocumentError(str(path), f"is no valid CSV, line {reader.line_num}: {error}") from None


_READERS: dict[str, Callable[[Path, str], Rows]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
