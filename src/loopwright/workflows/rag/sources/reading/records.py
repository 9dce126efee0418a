"""Records inside a file: objects of JSON, rows of CSV; with text, with columns, or as triples."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from loopwright.errors import DocumentError
from loopwright.workflows.files import csv_rows, json_lines, json_of, text_of
from loopwright.workflows.files.source import document_id
from loopwright.workflows.rag.sources.reading.layout import ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

_TRIPLE = ("subject", "relation", "object")
_OF_TEXT = ("title", "text", "tags")
_SHOWN = 100
_SEPARATORS = re.compile(r"[\W_]+")


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a JSON file, or row by row a CSV and line by line a JSONL file, where empty lines are nothing.

    The key of a record is its ``id``; else the number of its first line, or in JSON its place in the list, from 1.

    Raises:
        DocumentError: If it is no valid JSON.
    """
    kind = source.path.suffix.lower()
    if kind == ".json":
        return _documents(source, _records(json_of(source, text_of(source, source.data(source.limits.text_bytes)))))
    is_table = kind in (".csv", ".tsv")
    return _documents(source, csv_rows(source) if is_table else json_lines(source), rows=is_table)


def as_text(value: object) -> str:
    """A string, number or truth value as text without needless spaces; anything else as the empty text."""
    value = str(value).lower() if isinstance(value, bool) else value
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def as_texts(value: object, separators: str = ",") -> tuple[str, ...]:
    """A value, a list of values, or a text with several, as texts; what is empty is left out."""
    if isinstance(value, str):
        value = re.split(f"[{separators}]", value)
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    return tuple(text for inner in values if (text := as_text(inner)))


def _documents(source: Source, values: Iterable[tuple[object, object]], rows: bool = False) -> Iterator[ReadDocument]:
    """The documents of a file's records, one after the other; one that is broken or comes again is told and left out.

    A record with ``text`` is that text, with a line "name: value" below it for each other field but ``title`` (or
    ``name``) and ``tags``, of those of JSON if it is short. A record without ``text`` but with ``subject``,
    ``relation`` and ``object`` is a triple. Any other record becomes such a line for each field.
    """
    seen: set[str] = set()
    empty = True
    for number, value in values:
        empty = False
        try:
            document = _document(source, str(number), value, rows)
            if document.id in seen:
                key = document.id.removeprefix(f"{document_id(source.path)}#")
                raise source.error("an earlier record of the file has this id; give each its own", key=key)
        except DocumentError as problem:
            source.left_out(problem)
            continue
        seen.add(document.id)
        yield document
    if empty:
        raise source.error("has no records")


def _document(source: Source, number: str, value: object, rows: bool) -> ReadDocument:
    if not isinstance(value, dict):
        raise source.error(f"the record is a {type(value).__name__}, not an object", key=number)
    fields = {name.strip().casefold(): inner for name, inner in cast(dict[str, Any], value).items()}
    key, text = as_text(fields.get("id")) or number, fields.get("text")
    title = as_text(fields.get("title")) or as_text(fields.pop("name", None))
    names, headings = (), ()
    if text is None and all(part in fields for part in _TRIPLE):
        text, names = _triple(source, fields, key)
        title = as_text(fields.get("source")) or title or source.path.stem
    elif text is None:
        # A row says what it is, and only its file of what: of a price list, of the staff.
        text, file = "\n".join(_lines(value)), _SEPARATORS.sub(" ", source.path.stem).strip()
        # The number of a line names nothing.
        title, headings = title or ("" if "id" in fields else file), (file, *filter(None, [number.rpartition(".")[0]]))
    elif not isinstance(text, str):
        raise source.error(f"its text is a {type(text).__name__}, not a string", key=key)
    else:
        # "Date;Text;Amount" is a bank statement: its text is a part of what it says. A vector, and HTML, say no more.
        kept = {name: inner for name, inner in fields.items() if name != "id" and not _is_list_of_objects(inner)}
        short = {name for name, inner in kept.items() if len("\n".join(_lines(inner))) <= _SHOWN}
        rest = {name: inner for name, inner in fields.items() if name not in _OF_TEXT and (rows or name in short)}
        text = "\n\n".join(filter(None, [text, "\n".join(_lines(rest))]))
    given = fields.get("date")
    return source.document(
        text,
        headings=headings,
        title=title or as_text(fields.get("id")),
        # The same value always gives the same bytes, whatever the order of its fields.
        raw=json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii"),
        key=key,
        # Without a text field the date stands in the lines, whatever its form, so nothing is lost.
        date=source.told_date(given, key) if "text" in fields else source.date(given),
        tags=as_texts(fields.get("tags"), ",;"),
        names=names,
    )


def _records(value: object) -> Iterator[tuple[str, object]]:
    """The records of a JSON value, each with its key.

    A list holds records. So does each list of objects in an object without ``text``, and in those within it; what else
    the object says is one more record.
    """
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    value = inner if _is_list_of_objects(inner := fields.get("documents")) else value
    if isinstance(value, list):
        yield from ((str(place), record) for place, record in enumerate(cast(list[Any], value), 1))
        return
    flat = {} if "text" in fields else dict(_flat(fields))
    lists = {name: each for name, each in flat.items() if _is_list_of_objects(each)}
    for name, records in lists.items():
        yield from ((f"{name}.{place}", record) for place, record in enumerate(records, 1))
    if not lists:
        yield "1", value
    elif any(_lines(rest := {name: each for name, each in flat.items() if name not in lists})):
        yield "rest", rest


def _flat(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of an object and of those within it that have no ``text``, by their names joined by dots."""
    for name, inner in fields.items():
        if isinstance(inner, dict) and "text" not in inner:
            yield from _flat(cast(dict[str, Any], inner), f"{above}{name}.")
        else:
            yield above + name, inner


def _is_list_of_objects(value: object) -> bool:
    listed = [each for each in cast(list[Any], value) if each is not None] if isinstance(value, list) else []
    return bool(listed) and all(isinstance(each, dict) for each in listed)


def _triple(source: Source, fields: Mapping[str, Any], key: str) -> tuple[str, tuple[str, ...]]:
    """A triple as a sentence, and the names of its two sides."""
    subject, relation, object_ = (as_text(fields[part]) for part in _TRIPLE)
    if not (subject and relation and object_):
        raise source.error("a triple needs a subject, a relation and an object", key=key)
    said = f"{subject} {relation} {object_}"
    return said if said.endswith((".", "!", "?", "。")) else f"{said}.", (subject, object_)


def _lines(value: object, name: str = "") -> Iterator[str]:
    """A value as lines "name: value"; names of nested values are joined by dots, and empty values left out."""
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            yield from _lines(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        values = cast(list[Any], value)
        if any(isinstance(inner, dict | list) for inner in values):
            for place, inner in enumerate(values, 1):
                yield from _lines(inner, f"{name}.{place}")
        elif texts := as_texts(values):
            yield f"{name}: {', '.join(texts)}"
    elif text := value.strip() if isinstance(value, str) else as_text(value):
        yield f"{name}: {text}"
