"""Tables of batches: the three formats give back what was written, and merging is idempotent."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from report_pages import Tree

from loopwright.errors import BackendError, InputError
from loopwright.workflows.iqa.batch import merge_tables
from loopwright.workflows.iqa.batch.tables import FORMATS, columns, read_table, write_table

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=20)
VALUES = {
    "text": TEXTS,
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.integers(0, 2**40),
    "json": st.lists(st.dictionaries(TEXTS, st.floats(0, 5) | TEXTS, max_size=2), max_size=2),
}
ROWS = st.fixed_dictionaries(
    {
        name: VALUES[kind] if name in ("sample_id", "key", "configuration") else st.none() | VALUES[kind]
        for name, kind in columns().items()
    }
)


def row(sample: str, *, key: str = "k", configuration: str = "c", **values: Any) -> dict[str, Any]:
    empty = dict.fromkeys(columns())
    return {**empty, "sample_id": sample, "path": sample, "key": key, "configuration": configuration, **values}


def table(path: Path, *rows: dict[str, Any]) -> Path:
    write_table(path, sorted(rows, key=lambda given: given["sample_id"]))
    return path


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=examples(25), deadline=None)
@given(rows=st.lists(ROWS, max_size=4))
def test_every_format_gives_back_what_was_written(ending, rows):
    pytest.importorskip("pyarrow") if ending == ".parquet" else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        assert write_table(path, rows) == len(rows)
        assert list(read_table(path)) == rows
        assert [file.name for file in Path(folder).iterdir()] == [path.name]


def test_a_long_cell_is_read_and_other_readers_keep_their_limit(tmp_path):
    before = csv.field_size_limit()
    rows = read_table(table(tmp_path / "t.csv", row("a", reasoning="x" * (before + 1)), row("b")))
    assert len(next(iter(rows))["reasoning"]) == before + 1
    assert csv.field_size_limit() == before


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


def test_foreign_tables_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="row 1: no table of this version's batch"):
        list(read_table(tmp_path / "t.csv"))
    (tmp_path / "t.jsonl").write_text("[]\n")
    with pytest.raises(InputError, match="no table of a batch"):
        list(read_table(tmp_path / "t.jsonl"))
    with pytest.raises(InputError, match="cannot read"):
        list(read_table(tmp_path / "none.csv"))


SHARED = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([None, "broke", "slow"]), max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(SHARED, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_merging_is_idempotent_and_knows_no_order(parts, chance):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = [
            table(folder / f"{i}.jsonl", *(row(s, error=error, seconds=float(i)) for s, error in part.items()))
            for i, part in enumerate(parts)
        ]
        count = merge_tables(tables, folder / "all.jsonl")
        merged = (folder / "all.jsonl").read_bytes()
        rows = [json.loads(line) for line in merged.splitlines()]
        assert count == len(rows)
        assert [r["sample_id"] for r in rows] == sorted(set().union(*parts))
        for r in rows:
            found = [part[r["sample_id"]] for part in parts if r["sample_id"] in part]
            assert (r["error"] is None) == (None in found)
        shuffled = [*tables, chance.choice(tables), folder / "all.jsonl"]
        chance.shuffle(shuffled)
        merge_tables(shuffled, folder / "again.jsonl")
        assert (folder / "again.jsonl").read_bytes() == merged
        merge_tables([folder / "all.jsonl"], folder / "all.jsonl")
        assert (folder / "all.jsonl").read_bytes() == merged


def test_different_configurations_are_named(tmp_path):
    one = table(tmp_path / "one.csv", row("a", configuration="c0ffee"))
    two = table(tmp_path / "two.csv", row("b", configuration="decade"))
    with pytest.raises(InputError) as error:
        merge_tables([one, two], tmp_path / "all.csv")
    assert all(word in str(error.value) for word in ("c0ffee", "decade", "one.csv", "two.csv"))
    assert not (tmp_path / "all.csv").exists()


def test_another_image_under_the_same_name_is_named(tmp_path):
    one, two = (table(tmp_path / f"{key}.csv", row("a", key=key)) for key in ("k1", "k2"))
    with pytest.raises(InputError, match=r"sample 'a' is another image.*k1\.csv.*k2\.csv"):
        merge_tables([two, one], tmp_path / "all.csv")


def test_a_failed_row_of_unreadable_content_gives_way(tmp_path):
    failed = table(tmp_path / "failed.csv", row("a", key="k1", error="gone"))
    whole = table(tmp_path / "whole.csv", row("a", key="k2", answer="Good"))
    merge_tables([failed, whole], tmp_path / "all.csv")
    assert [r["answer"] for r in read_table(tmp_path / "all.csv")] == ["Good"]


def test_tables_out_of_order_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row(sample)) + "\n" for sample in "ba"))
    with pytest.raises(InputError, match="not in the order"):
        merge_tables([path], tmp_path / "all.csv")


FINDING = {"scope": "boat", "type": "jpeg", "severity": "severe", "confidence": 0.9, "measured": {"quality": 8.0}}


def scored(name: str, score: float | None, **values: Any) -> dict[str, Any]:
    filled = {"quality_score": score, "answer": "Poor", "reasoning": "Because.", "query": "How?", "seconds": 0.5}
    return row(name, **{**filled, **values})


@pytest.mark.parametrize("ending", FORMATS)
def test_a_merge_reports_over_all_shards(ending, tmp_path):
    pytest.importorskip("pyarrow") if ending == ".parquet" else None
    images = tmp_path / "images"
    images.mkdir()
    Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save(images / "b.png")
    found = {"distortions": [FINDING], "MDSI_raw": 0.4, "MDSI_score": 2.0, "score_source": "MDSI + opinion"}
    stop = {"replans": 2, "stop_reason": "replan exhausted after 2 of 2", "notes": ["a <note>"], "region": "1,2,30,40"}
    one = table(
        tmp_path / f"one{ending}",
        *(scored(f"z{number:03}.png", 3.0 + number / 100) for number in range(150)),
        scored("b.png", 1.6, **found, **stop),
    )
    two = table(
        tmp_path / f"two{ending}",
        scored("a.png", 1.2, **found),
        scored("broken.png", None, answer=None, reasoning=None, error="cut off"),
    )
    merge_tables([one, two], tmp_path / f"all{ending}", report=tmp_path / "r.html", images=images, worst=2)
    page = Tree((tmp_path / "r.html").read_text("utf-8")).root
    assert page.one("h1").text == "Image quality: the worst 2 of 153"
    assert [line.words for line in page.one("table.levels").all("tr")] == [
        "Bad 1", "Poor 1", "Fair 50", "Good 100", "Excellent 0",
    ]  # fmt: skip
    assert page.one("table.distortions").one("tbody").words == "JPEG compression 0 0 2 0 2"
    assert page.one(".failures").words == "1 with an error broken.png: cut off"
    gone, there = page.all("article")
    assert gone.one("h2").words == "1 a.png" and "there is no file" in gone.one(".missing").text
    assert there.one("h2").words == "2 b.png" and there.all("img") and not there.one("figure.image").all(".missing")
    assert there.one(".score").words == "1.6 of 5, poor"
    assert there.one(".stop").words == "Stopped: loop replan exhausted after 2 of 2 passes."
    assert there.one(".findings").words == "severe jpeg in boat 90 % sure Severe jpeg compression quality 8"
    assert there.one("table").one("tbody").words == "MDSI primary 0.4 2.00 –"
    assert there.one(".notes").words == "a <note>"
    assert "region 1, 2, 30, 40 (left, top, width, height), outlined" in there.one(".facts").words


@pytest.mark.parametrize("odd", [{"quality_score": 7.5}, {"distortions": [{"type": "jpeg", "severity": "huge"}]}])
def test_a_merge_with_a_report_names_a_row_that_no_batch_writes(odd, tmp_path):
    path = table(tmp_path / "t.jsonl", scored("a.png", 2.0) | odd)
    with pytest.raises(InputError, match=r"'a\.png' has a score or a distortion that no batch writes"):
        merge_tables([path], tmp_path / "all.jsonl", report=tmp_path / "r.html")
    assert not (tmp_path / "all.jsonl").exists()


def test_a_report_that_cannot_be_written_is_named(tmp_path):
    path = table(tmp_path / "t.jsonl", scored("a.png", 2.0))
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendError, match=r"cannot write '.*r\.html'"):
        merge_tables([path], tmp_path / "all.jsonl", report=tmp_path / "file" / "r.html")
