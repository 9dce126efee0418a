"""Joining the tables of several shards."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.reporting import WORST, Digest, write_table_report
from loopwright.workflows.iqa.batch.tables import Row, check_format, read_table, write_table

_From = tuple[str, int, Row]
"""Sample, index of the table, row: in the order of the merge."""


def merge_tables(
    tables: Sequence[Path], out: Path, *, report: Path | None = None, images: Path = Path(), worst: int = WORST
) -> int:
    """Join tables row by row, in bounded memory.

    A row that several tables have counts once, so that merging again, in any order, changes nothing. Of a sample that
    failed in one table and not in another, the finished row counts.

    Args:
        tables: What `loopwright.workflows.iqa.batch.run_batch` wrote, in any of its formats.
        out: The table to write; it may be one of those that are read.
        report: Where to write an HTML report over all rows, or None.
        images: The folder that the tables' paths are relative to, for the report's pictures.
        worst: How many rows the report shows with their pictures, the lowest scores first.

    Returns:
        The number of rows.

    Raises:
        InputError: If a table cannot be read, or tables contradict each other: rows of different configurations, or a
            sample with different content or another question; the message names the tables. For a report, also if a
            row has values that no batch writes.
        BackendError: If the table or the report cannot be written.
    """
    if not tables:
        raise InputError("there is nothing to merge; name the tables")
    for path in (*tables, out):
        check_format(path)
    if report is None:
        return write_table(out, _joined(tables))
    digest = Digest[Row](worst)
    count = write_table(out, _seen(_joined(tables), digest))
    write_table_report(report, images, digest)
    return count


def _seen(rows: Iterable[Row], digest: Digest[Row]) -> Iterator[Row]:
    for row in rows:
        try:
            digest.add(row, row)
        except (KeyError, ValueError, InputError) as error:
            raise InputError(
                f"sample {row['sample_id']!r} has a score or a distortion that no batch writes ({error}); "
                "merge the tables as `iqa batch` wrote them"
            ) from error
        yield row


def _joined(tables: Sequence[Path]) -> Iterator[Row]:
    configurations: dict[str, Path] = {}
    streams = [_sorted_rows(index, path, configurations) for index, path in enumerate(tables)]
    merged = heapq.merge(*streams, key=lambda item: item[:2])
    for sample, same in groupby(merged, key=lambda item: item[0]):
        yield _one(sample, same, tables)


def _sorted_rows(index: int, path: Path, configurations: dict[str, Path]) -> Iterator[_From]:
    before = None
    for row in read_table(path):
        sample, configuration = str(row["sample_id"]), str(row["configuration"])
        if before is not None and sample <= before:
            raise InputError(
                f"{str(path)!r} is not in the order of its sample_ids, or has one twice ({sample!r} after {before!r}); "
                "merge it as `iqa batch` wrote it"
            )
        before = sample
        first = configurations.setdefault(configuration, path)
        other = next((known for known in configurations if known != configuration), None)
        if other is not None:
            earlier = configurations[other]
            raise InputError(
                f"{str(first)!r} was made with configuration {configuration} and {str(earlier)!r} with {other} "
                "(a hash of the settings and the version): their scores cannot be compared; make one of them anew"
            )
        yield sample, index, row


def _one(sample: str, same: Iterable[_From], tables: Sequence[Path]) -> Row:
    """The row of a sample: a finished one before a failed one, and of equal ones always the same."""
    found = sorted(same, key=lambda item: (item[2]["error"] is not None, json.dumps(item[2])))
    finished = [item for item in found if item[2]["error"] is None]
    for _, index, row in finished[1:]:
        if row["key"] != finished[0][2]["key"]:
            first, second = sorted((str(tables[finished[0][1]]), str(tables[index])))
            raise InputError(
                f"sample {sample!r} is another image or another question in {first!r} than in {second!r}; "
                "make one of them anew, or give the samples different names"
            )
    return found[0][2]
