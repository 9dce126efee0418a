"""What a batch runs on, folders, manifests and shards; and its tables, which anybody can read and which appear whole or not at all."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.samples import Shard, read_folder, read_manifest
from loopwright.workflows.iqa.batch.tables import FORMATS, columns, write_table

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def paths(folder: Path) -> list[str]:
    return [sample.image_path for sample in read_folder(folder, "q")]


def test_folder_in_all_depths_in_order_without_hidden_and_other_files(tmp_path, caplog):
    touch(tmp_path, "b.jpg", "a/z.PNG", "a/y/x.webp", "A.jpeg", ".hidden.jpg", ".cache/c.jpg")
    touch(tmp_path, "notes.txt", "v.mpg", "a/1.NEF", "2.nef")
    assert paths(tmp_path) == ["A.jpeg", "a/y/x.webp", "a/z.PNG", "b.jpg"]
    assert "1 with .mpg, 2 with .nef, 1 with .txt" in caplog.text, "what is left out is told"


def test_links_are_followed_once_and_loops_end(tmp_path):
    inside, outside = tmp_path / "photos", tmp_path / "elsewhere"
    touch(inside, "z/one.jpg")
    touch(outside, "two.jpg")
    (inside / "a").symlink_to(inside / "z")
    (inside / "z" / "up").symlink_to(inside)
    (inside / "out").symlink_to(outside)
    (inside / "again").symlink_to(outside)
    (outside / "back").symlink_to(inside)
    (inside / "gone").symlink_to(tmp_path / "nowhere")
    (inside / "self").symlink_to(inside / "self")
    (inside / "self.jpg").symlink_to(inside / "self.jpg")
    assert paths(inside) == ["again/two.jpg", "self.jpg", "z/one.jpg"]


def test_folder_without_images_says_which_endings_count(tmp_path):
    touch(tmp_path, "notes.txt")
    with pytest.raises(InputError, match=r"no image in .*\.jpg"):
        read_folder(tmp_path, "q")
    touch(tmp_path, "IMG_1.HEIC")
    assert len(read_folder(tmp_path, "q")) == 1, "a row that says what to do"


def manifest(folder: Path, *rows: object) -> Path:
    path = folder / "manifest.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def test_manifest_rows_and_their_defaults(tmp_path):
    path = manifest(
        tmp_path,
        {"image_path": "b.jpg", "reference_path": "ref/b.png", "mos": 3, "group": "g", "kind": "blur"},
        "",
        {"image_path": "a.jpg", "query": "Is it sharp?", "region": [0, 1, 20, 30], "sample_id": "mine"},
    )
    first, second = read_manifest(path, "How good?")
    assert first.sample_id == first.image_path == "b.jpg"
    assert (first.reference_path, first.query) == ("ref/b.png", "How good?")
    assert (first.mos, first.group, first.region) == (3.0, "g", None)
    assert (second.sample_id, second.query, second.region) == ("mine", "Is it sharp?", (0, 1, 20, 30))


def test_several_questions_about_one_image_get_names_that_stay(tmp_path):
    rows = [{"image_path": "a.jpg", "query": query} for query in ("Is it sharp?", "Is it noisy?")]
    names = {s.query: s.sample_id for s in read_manifest(manifest(tmp_path, *rows), "q")}
    assert names == {s.query: s.sample_id for s in read_manifest(manifest(tmp_path, *reversed(rows)), "q")}
    assert len(set(names.values())) == 2 and all(name.startswith("a.jpg#") for name in names.values())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: no JSON object"), ({"image": "b.jpg"}, "line 2: image_path: Field required"),
        ({"image_path": "b.jpg", "refrence_path": "x"}, "line 2: unknown key 'refrence_path'; did you mean 'reference_path'?"),
        ({"image_path": "b.jpg", "region": [0, 0, 0, 5]}, "line 2: region"), ('{"image_path": "b.jpg", "mos": NaN}', "line 2: mos"),
        ({"image_path": "b.jpg", "mos": "high"}, "line 2: mos"), ({"image_path": "a.jpg"}, "line 2: sample 'a.jpg#"),
        ({"image_path": "b.jpg", "sample_id": "one"}, "line 2: sample 'one' is that of line 1"),
    ],
)  # fmt: skip
def test_wrong_lines_are_named(tmp_path, line, said):
    first = {"image_path": "a.jpg", "sample_id": "one"} if "'one'" in said else {"image_path": "a.jpg"}
    with pytest.raises(InputError) as error:
        read_manifest(manifest(tmp_path, first, line), "q")
    assert said in str(error.value)


@given(st.lists(NAMES, max_size=50), st.integers(1, 12))
def test_shards_are_a_partition(names, count):
    shards = [Shard(number, count) for number in range(1, count + 1)]
    for name in names:
        assert sum(shard.holds(name) for shard in shards) == 1


def test_shards_are_the_same_on_every_machine():
    held = [name for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg") if Shard(1, 2).holds(name)]
    assert held == ["a.jpg", "b.jpg", "d.jpg"]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_wrong_shards(text):
    with pytest.raises(InputError, match="give i/n"):
        Shard.parse(text)
    assert str(Shard.parse(" 2 / 8 ")) == "2/8"


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
