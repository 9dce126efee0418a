"""What comes of a batch: tables in CSV, JSON Lines and Parquet, row by row."""

import csv
import importlib.util
import json
from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from loopwright.engine.events.reasons import stops_said
from loopwright.errors import InputError, unknown_name_message
from loopwright.files import complete
from loopwright.workflows.iqa.batch.journal import Record, writing
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.report import ReportRow
from loopwright.workflows.iqa.schemas import ExecutorOutput, SummarizerOutput, ToolLog
from loopwright.workflows.iqa.tools.registry import all_tools

Row = dict[str, Any]
"""Column -> value; None where there is none."""

Kind = Literal["text", "number", "whole", "json"]
"""What a column holds; ``json`` is lists, written as text where a table knows no lists."""


@cache
def columns() -> dict[str, Kind]:
    """Column -> what it holds, in order. Every registered tool has two, whether or not it ran."""
    tools: dict[str, Kind] = {f"{tool.name}_{part}": "number" for tool in all_tools() for part in ("raw", "score")}
    return {
        "sample_id": "text", "path": "text", "reference_path": "text", "region": "text", "query": "text",
        "group": "text", "mos": "number", "answer": "text", "reasoning": "text", "quality_score": "number",
        "score_source": "text", **tools, "distortion": "text", "severity": "text", "distortions": "json",
        "replans": "whole", "stop_reason": "text", "seconds": "number", "error": "text", "notes": "json",
        "configuration": "text", "versions": "text",
    }  # fmt: skip


def row_of(sample: Sample, record: Record, shown: ReportRow) -> Row:
    """A finished run as a row: a value, or None, for each of `columns`."""
    answer, evidence = shown.answer, shown.evidence
    own: Row = {**record, **dict(sample)}
    row: Row = {name: own.get(name) for name in columns()}
    row |= {
        "path": sample.image_path,
        "region": ",".join(map(str, sample.region)) if sample.region else None,
        "answer": answer.final_answer if answer else None,
        "reasoning": answer.quality_reasoning if answer else None,
        "quality_score": shown.score,
        "score_source": shown.score_source,
        "replans": shown.replans,
        "stop_reason": "; ".join(stops_said(shown.stops)) or None,
        "notes": evidence.notes,
    }
    row |= _tool_columns(evidence.tool_logs) | _distortion_columns(shown)
    return {name: _encodable(value) for name, value in row.items()}


def _tool_columns(logs: list[ToolLog]) -> Row:
    """Each tool's raw value and score; of several regions, those of the worst."""
    row: Row = {}
    for log in sorted(logs, key=lambda log: (log.score is None, log.score)):
        if log.error is None and f"{log.tool}_score" in columns():
            row.setdefault(f"{log.tool}_raw", log.raw)
            row.setdefault(f"{log.tool}_score", log.score)
    return row


def _distortion_columns(shown: ReportRow) -> Row:
    found = [
        {"scope": scope, **finding.model_dump(mode="json", exclude={"explanation"})}
        for scope, findings in shown.evidence.distortion_analysis.items()
        for finding in findings
    ]
    worst = next(iter(shown.stated), None)
    return {"distortion": worst and worst.type, "severity": worst and worst.severity.value, "distortions": found}


def _encodable(value: Any) -> Any:
    """File names that are not UTF-8 are full of lone surrogates, which no table takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_encodable(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


_ROWS_AT_ONCE = 5_000
"""Rows of one row group of Parquet."""


def check_format(path: Path) -> None:
    """Make sure that a table can be written, before there is anything to lose.

    Raises:
        InputError: If its ending is none of `FORMATS`, or the package for it is missing.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{str(path)!r}: {unknown_name_message('ending of a table', path.suffix, FORMATS)}")
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{str(path)!r} needs pyarrow: pip install 'loopwright[parquet]', or name it .csv or .jsonl")


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write a table; it appears under its name only when it is complete.

    Args:
        path: The file, whose ending says the format, see `check_format`; an older one is replaced.
        rows: Rows with all of `columns`.

    Raises:
        BackendError: If it cannot be written.
    """
    write = FORMATS[path.suffix.lower()]
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with complete(path) as unfinished:
            write(unfinished, rows)


def _write_csv(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns())
        writer.writeheader()
        writer.writerows(map(_flat, rows))


def _flat(row: Row) -> Row:
    """A row for a table that knows no lists."""
    lists = {name: row[name] for name, kind in columns().items() if kind == "json" and row[name] is not None}
    return row | {name: json.dumps(value, ensure_ascii=False) for name, value in lists.items()}


def _write_jsonl(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _write_parquet(path: Path, rows: Iterable[Row]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "json": pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns().items()])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        remaining = map(_flat, rows)
        while some := list(islice(remaining, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, schema))


FORMATS: dict[str, Callable[[Path, Iterable[Row]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
"""Ending of a table -> what writes it."""


def shown_run(sample: Sample, record: Record, root: Path, max_pixels: int) -> ReportRow:
    """A finished run as a report shows it.

    Args:
        sample: What was asked.
        record: What came of it.
        root: What the sample's paths are relative to.
        max_pixels: The most pixels of an image that is shown.
    """
    state: dict[str, Any] = {"region": sample.region, **record["state"], "error": record["error"]}
    for key, model in (("executor_evidence", ExecutorOutput), ("summarizer_result", SummarizerOutput)):
        if state.get(key) is not None:
            state[key] = model.model_validate(state[key])
    return ReportRow(
        name=sample.sample_id,
        image_path=root / sample.image_path,
        reference_path=root / sample.reference_path if sample.reference_path else None,
        query=sample.query,
        state=state,
        seconds=record["seconds"],
        max_pixels=max_pixels,
    )
