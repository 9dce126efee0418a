"""The files that somebody gave: their text, the JSON in it, and the rows of a table, whatever holds it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from loopwright.errors import DocumentError

MOST_BYTES = 50_000_000
"""The largest file in bytes; a schedule of 1,105 sessions has 3.5 million."""
_PREFERRED = ("en", "name", "title", "label", "value")
_DELIMITERS = ",;\t|"


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        DocumentError: If it cannot be read, is empty, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DocumentError(str(path), f"cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise DocumentError(str(path), f"has more than {MOST_BYTES:,} bytes, the most that is read")
    if not data.strip():
        raise DocumentError(str(path), "is empty")
    return data


def read_text(path: Path) -> str:
    """A file's text with single line feeds: UTF-8, UTF-16 with its mark, else Windows-1252, as spreadsheets write it.

    Raises:
        DocumentError: If it cannot be read, is empty, too large, or no text.
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    if "\0" in text:
        raise DocumentError(str(path), "is no text; give a CSV, JSON, JSONL or Markdown file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(path: Path, text: str) -> object:
    """Parse a JSON file.

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
    """A JSON object, or an empty one if the value is none."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A JSON array, or an empty one if the value is none."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The text of a JSON value; of one in several languages the English, of a list its parts.

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


@dataclass(frozen=True, slots=True)
class Rows:
    """What a file holds."""

    rows: list[tuple[str, dict[str, Any]]]
    """Of each row its place in words, for messages, and its values by column."""
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """What stands beside the rows in a JSON object."""
    problems: tuple[str, ...] = ()
    """Rows that had to be left out."""


def read_rows(path: Path) -> Rows:
    """Read a table.

    Args:
        path: The file, whose name ends in ``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.ndjson``, ``.md`` or
            ``.markdown``; a Markdown file holds tables.

    Raises:
        DocumentError: If it cannot be read, is damaged as a whole, or is none of these.
    """
    suffix = path.suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise DocumentError(str(path), f"has an unknown ending {suffix!r}; known: {', '.join(_READERS)}")
    return reader(path, read_text(path))


def rows_of_json(path: Path, value: object) -> Rows:
    """The rows of a JSON value: an array of objects, or an object that holds one.

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


def _markdown(path: Path, text: str) -> Rows:
    from markdown_it import MarkdownIt

    rows: list[tuple[str, dict[str, Any]]] = []
    names: list[str] = []
    cells: list[str] = []
    line = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        line = token.map[0] + 1 if token.map else line
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline" and token.level > 2:  # a cell
            shown = (part.content if part.type in ("text", "code_inline") else " " for part in token.children or ())
            cells.append(" ".join("".join(shown).split()))
        elif token.type == "thead_close":
            names = cells
        elif token.type == "tr_close" and names and any(cells):
            rows.append((f"line {line}", dict(zip(names, cells, strict=False))))
        elif token.type == "table_close":
            names = []
    if not rows:
        raise DocumentError(str(path), "holds no table; a Markdown file needs one with a header, or give CSV or JSON")
    return Rows(rows)


_READERS: dict[str, Callable[[Path, str], Rows]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".md": _markdown,
    ".markdown": _markdown,
}
