"""Tables of batches: what was written can be read by anybody, and appears whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from loopwright.workflows.iqa.batch.tables import FORMATS, columns, write_table


def row(sample: str, **values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(columns()), "sample_id": sample, "path": sample, "configuration": "c", **values}


def table(path: Path, *rows: dict[str, Any]) -> Path:
    write_table(path, rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else [json.loads(line) for line in file]


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_holds_what_was_written(ending, tmp_path):
    pytest.importorskip("pyarrow") if ending == ".parquet" else None
    found = [{"type": "jpeg", "measured": {"quality": 8.0}}]
    rows = [row("a,\n\u00fc", quality_score=3.25, replans=2, distortions=found), row("b")]
    path = tmp_path / f"t{ending}"
    write_table(path, rows)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    first, second = read(path)
    assert list(first) == list(columns())
    assert first["sample_id"] == "a,\n\u00fc" and float(first["quality_score"]) == 3.25 and int(first["replans"]) == 2
    held = first["distortions"]
    assert (json.loads(held) if isinstance(held, str) else held) == found
    assert not second["quality_score"] and not second["distortions"]


def test_empty_tables_have_their_columns(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    assert pq.read_table(table(tmp_path / "t.parquet")).column_names == list(columns())
    assert table(tmp_path / "t.csv").read_text().splitlines() == [",".join(columns())]


def test_a_writer_that_fails_leaves_the_old_table(tmp_path):
    path = table(tmp_path / "t.csv", row("a"))
    before = path.read_bytes()

    def broken():
        yield row("b")
        raise RuntimeError("broke")

    with pytest.raises(RuntimeError):
        write_table(path, broken())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
