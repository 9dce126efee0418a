"""Tables on disk: CSV, JSON Lines and Parquet, written and read row by row."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from loopwright.checkpoints.disk import sync_folder
from loopwright.errors import BackendError, InputError, unknown_name_message
from loopwright.workflows.iqa.batch.rows import Kind, Row, columns

_ROWS_AT_ONCE = 5_000
"""Rows of one row group of Parquet."""


def check_format(path: Path) -> None:
    """Make sure that a table can be written or read, before there is anything to lose.

    Args:
        path: The table.

    Raises:
        InputError: If its ending is none of `FORMATS`, or the package for it is missing.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{str(path)!r}: {unknown_name_message('ending of a table', path.suffix, FORMATS)}")
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{str(path)!r} needs pyarrow: pip install 'loopwright[parquet]', or name it .csv or .jsonl")


def write_table(path: Path, rows: Iterable[Row]) -> int:
    """Write a table; it appears under its name only when it is complete.

    Args:
        path: The file, whose ending says the format; an older one is replaced.
        rows: Rows with all of `columns`.

    Returns:
        The number of rows.

    Raises:
        InputError: See `check_format`.
        BackendError: If it cannot be written.
    """
    check_format(path)
    write, _ = FORMATS[path.suffix.lower()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _complete(path) as unfinished:
            count = write(unfinished, rows)
    except OSError as error:
        raise BackendError(f"cannot write {str(path)!r}: {error.strerror}") from error
    return count


def read_table(path: Path) -> Iterator[Row]:
    """Read a table that `write_table` wrote.

    Args:
        path: The file, whose ending says the format.

    Yields:
        Rows with all of `columns`.

    Raises:
        InputError: If it cannot be read, or has other columns.
    """
    check_format(path)
    _, read = FORMATS[path.suffix.lower()]
    try:
        for number, row in enumerate(read(path), 1):
            if row.keys() != columns().keys():
                odd = sorted(row.keys() ^ columns().keys())
                raise InputError(
                    f"{str(path)!r}, row {number}: no table of this version's batch; these columns are missing or "
                    f"unknown: {', '.join(map(str, odd[:5]))}"
                )
            yield row
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no table of a batch: {error}") from error


@contextmanager
def _complete(path: Path) -> Generator[Path, None, None]:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
        sync_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_csv(path: Path, rows: Iterable[Row]) -> int:
    kinds = columns()
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kinds)
        for row in rows:
            writer.writerow([_text(row[name], kind) for name, kind in kinds.items()])
            count += 1
    return count


def _text(value: Any, kind: Kind) -> Any:
    return json.dumps(value, ensure_ascii=False) if kind == "json" and value is not None else value


def _read_csv(path: Path) -> Iterator[Row]:
    kinds: dict[str, Any] = dict(columns())
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        while (row := _next_of_any_size(reader)) is not None:
            yield {name: _value(text, kinds.get(name, "text")) for name, text in row.items()}


def _next_of_any_size(reader: csv.DictReader[str]) -> dict[str, str] | None:
    """The next row; a reasoning may be longer than the 128 KiB that the module allows every reader of the process."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _value(text: Any, kind: Kind) -> Any:
    """A cell's value; an empty cell is None, as no text that a batch writes is empty."""
    if not text:
        return None
    convert: dict[Kind, Callable[[str], Any]] = {"text": str, "number": float, "whole": int, "json": json.loads}
    return convert[kind](text)


def _write_jsonl(path: Path, rows: Iterable[Row]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def _read_jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is no JSON object")
            yield row


def _write_parquet(path: Path, rows: Iterable[Row]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "json": pa.string()}
    kinds = columns()
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        remaining = iter(rows)
        while some := list(islice(remaining, _ROWS_AT_ONCE)):
            plain = [{name: _text(row[name], kind) for name, kind in kinds.items()} for row in some]
            writer.write_table(pa.Table.from_pylist(plain, schema))
            count += len(some)
    return count


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    kinds: dict[str, Any] = dict(columns())
    with pq.ParquetFile(path) as file:
        for some in file.iter_batches(_ROWS_AT_ONCE):
            for row in some.to_pylist():
                yield {
                    name: json.loads(value) if kinds.get(name) == "json" and value else value
                    for name, value in row.items()
                }


FORMATS: dict[str, tuple[Callable[[Path, Iterable[Row]], int], Callable[[Path], Iterator[Row]]]] = {
    ".csv": (_write_csv, _read_csv),
    ".jsonl": (_write_jsonl, _read_jsonl),
    ".parquet": (_write_parquet, _read_parquet),
}
"""Ending of a table -> what writes it and what reads it."""
