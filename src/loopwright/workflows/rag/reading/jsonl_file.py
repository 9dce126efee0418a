"""JSONL: one object a line."""

from __future__ import annotations

from collections.abc import Iterator

from loopwright.errors import DocumentError
from loopwright.workflows.rag.reading.documents import ReadDocument
from loopwright.workflows.rag.reading.json_value import parse_json
from loopwright.workflows.rag.reading.lines import text_lines
from loopwright.workflows.rag.reading.records import read_records
from loopwright.workflows.rag.reading.source import Source


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a JSONL file record by record; empty lines are nothing.

    Args:
        source: The file.
    """
    return read_records(source, "application/jsonl", _objects(source))


def _objects(source: Source) -> Iterator[tuple[int, object]]:
    for number, line in text_lines(source, guess=False):
        if not line.strip():
            continue
        try:
            value = parse_json(source, line, key=str(number))
        except DocumentError as problem:
            source.left_out(problem)
        else:
            yield number, value
