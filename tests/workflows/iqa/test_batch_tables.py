"""Tables of batches: the three formats give back what was written, and merging is idempotent."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch import merge_tables
from loopwright.workflows.iqa.batch.rows import columns
from loopwright.workflows.iqa.batch.tables import FORMATS, check_format, read_table, write_table

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
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROWS, max_size=4))
def test_every_format_gives_back_what_was_written(ending, rows):
    pytest.importorskip("pyarrow") if ending == ".parquet" else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        assert write_table(path, rows) == len(rows)
        assert list(read_table(path)) == rows
        assert [file.name for file in Path(folder).iterdir()] == [path.name]


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


def test_unknown_endings_name_the_known():
    with pytest.raises(InputError, match=r"'\.xlsx'.*Known: \.csv, \.jsonl, \.parquet"):
        check_format(Path("t.xlsx"))


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


@settings(max_examples=60, deadline=None)
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


def test_formats_can_be_mixed(tmp_path):
    pytest.importorskip("pyarrow")
    tables = [
        table(tmp_path / f"{name}{ending}", row(name, mos=1.5)) for name, ending in zip("abc", FORMATS, strict=True)
    ]
    assert merge_tables(tables, tmp_path / "all.csv") == 3
    assert [r["mos"] for r in read_table(tmp_path / "all.csv")] == [1.5, 1.5, 1.5]


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
