"""Records inside a file: objects of JSON, rows of CSV; with text, with columns, or as triples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from loopwright.errors import DocumentError
from loopwright.workflows.rag.reading.documents import ReadDocument, Section
from loopwright.workflows.rag.reading.source import Source, parse_date, unusable_date
from loopwright.workflows.rag.reading.triples import TripleGroups, is_triple
from loopwright.workflows.rag.reading.values import as_text, as_texts, lines_of


def read_records(source: Source, media_type: str, values: Iterable[tuple[int, object]]) -> Iterator[ReadDocument]:
    """Make documents of a file's records, one after the other.

    A record with ``text`` is that text; of the other fields ``id``, ``title`` (or ``name``), ``date``, ``tags``,
    ``facets`` and ``url`` are read. A record without ``text`` but with ``subject``, ``relation`` and ``object`` is a
    triple. Any other record becomes one line "name: value" for each field. A record that is broken, or whose key an
    earlier one has, is told to `Source.on_problem` and left out.

    Args:
        source: The file.
        media_type: What it is.
        values: The records with their line or place.

    Raises:
        DocumentError: If there are no records at all, or too many triples.
    """
    seen: set[str] = set()
    groups = TripleGroups(source, media_type)
    empty = True
    for number, value in values:
        empty = False
        groups.check_size()
        try:
            fields = _fields(source, number, value)
            if is_triple(fields):
                groups.add(fields, number)
                continue
            document = _document(source, media_type, number, value, fields)
            _claim(source, document.key, seen)
        except DocumentError as problem:
            source.left_out(problem)
            continue
        yield document
    if empty:
        raise source.error("has no records")
    for document in groups.documents():
        try:
            _claim(source, document.key, seen)
        except DocumentError as problem:
            source.left_out(problem)
        else:
            yield document


def _claim(source: Source, key: str, seen: set[str]) -> None:
    if key in seen:
        raise source.error("an earlier record of the file has this id; give each its own", key=key)
    seen.add(key)


def _fields(source: Source, number: int, value: object) -> dict[str, Any]:
    """The record's fields by name in lower case."""
    if not isinstance(value, dict):
        raise source.error(f"the record is a {type(value).__name__}, not an object", key=str(number))
    return {name.strip().casefold(): inner for name, inner in cast(dict[str, Any], value).items()}


def _document(source: Source, media_type: str, number: int, value: object, fields: dict[str, Any]) -> ReadDocument:
    key = as_text(fields.get("id")) or str(number)
    text = fields.get("text")
    if text is None:
        text = "\n".join(lines_of(value))
    elif not isinstance(text, str):
        raise source.error(f"its text is a {type(text).__name__}, not a string", key=key)
    date = parse_date(fields.get("date"))
    # Without a text field the date stands in the lines, whatever its form, so nothing is lost.
    if "text" in fields and fields.get("date") and not date:
        source.ignored(source.error(unusable_date(fields["date"]), key=key))
    facets = cast(dict[str, Any], fields["facets"]) if isinstance(fields.get("facets"), dict) else {}
    shown = {name: texts for name, inner in facets.items() if (texts := as_texts(inner))}
    if url := as_text(fields.get("url")):
        shown["url"] = (url,)
    tags = fields.get("tags")
    return source.document(
        text,
        (Section(start=0, end=len(text)),),
        title=as_text(fields.get("title")) or as_text(fields.get("name")) or key,
        media_type=media_type,
        raw=canonical_json(value),
        key=key,
        date=date,
        tags=as_texts(tags.replace(";", ",").split(",") if isinstance(tags, str) else tags),
        facets=shown,
    )


def canonical_json(value: object) -> bytes:
    """A value as JSON with sorted keys and without spaces: the same value always gives the same bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
