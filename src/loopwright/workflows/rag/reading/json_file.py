"""JSON: one object, a list of objects, or ``{"documents": [...]}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from loopwright.workflows.rag.reading.documents import ReadDocument
from loopwright.workflows.rag.reading.encodings import decode
from loopwright.workflows.rag.reading.json_value import parse_json
from loopwright.workflows.rag.reading.records import read_records
from loopwright.workflows.rag.reading.source import Source


def read(source: Source) -> Iterator[ReadDocument]:
    """Read the records of a JSON file; a record without ``id`` has its place in the list, from 1, as its key.

    Args:
        source: The file.

    Raises:
        DocumentError: If it is no valid JSON.
    """
    text = decode(source.data(source.limits.whole_bytes))
    if text is None:
        raise source.error("is not text, so it is no JSON; check what kind of file it is")
    value = parse_json(source, text)
    if isinstance(value, dict) and isinstance(inner := cast(dict[str, Any], value).get("documents"), list):
        value = cast(list[Any], inner)
    records = cast(list[Any], value) if isinstance(value, list) else [value]
    return read_records(source, "application/json", enumerate(records, 1))
