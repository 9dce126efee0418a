"""CSV: a header, then one record a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from loopwright.workflows.rag.reading.documents import ReadDocument
from loopwright.workflows.rag.reading.lines import text_lines
from loopwright.workflows.rag.reading.records import read_records
from loopwright.workflows.rag.reading.source import Source

_DELIMITERS = ",;\t|"


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a CSV file row by row; a row without ``id`` has the number of its first line as its key.

    The delimiter is the most frequent of comma, semicolon, tab and bar in the header.

    Args:
        source: The file.
    """
    return read_records(source, "text/csv", _rows(source))


class _Feed:
    """The lines for `csv.reader`, remembering which was taken last, because a row may span several."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number = number
            yield line


def _rows(source: Source) -> Iterator[tuple[int, object]]:
    lines = text_lines(source, guess=True)
    number, header_line = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    if not number:
        raise source.error("has no header; the first line of a CSV names its columns")
    delimiter = max(_DELIMITERS, key=header_line.count)
    feed = _Feed(_with_first(number, header_line, lines))
    reader = csv.reader(iter(feed), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        begun = feed.number + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            source.left_out(source.error(f"is no valid CSV row: {error}", key=str(begun)))
            continue
        if row is None:
            return
        if header is None:
            header = _column_names(row)
        elif len(row) > len(header):
            problem = f"the row has {len(row)} cells, the header {len(header)}; quote cells that hold {delimiter!r}"
            source.left_out(source.error(problem, key=str(begun)))
        elif any(cell.strip() for cell in row):
            yield begun, dict(zip(header, row, strict=False))


def _with_first(number: int, line: str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield number, line
    yield from lines


def _column_names(row: list[str]) -> list[str]:
    """The names of the columns, made up where they are missing, and unlike each other."""
    names: list[str] = []
    for place, cell in enumerate(row, 1):
        name = " ".join(cell.split()) or f"column {place}"
        names.append(name if name not in names else f"{name} {place}")
    return names
