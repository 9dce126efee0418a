"""``loopwright iqa batch`` and ``loopwright iqa compare``."""

import json
from pathlib import Path

import numpy as np
import pytest
from batch_images import rows_of, save
from PIL import Image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        save(tmp_path / "photos" / f"{number}.png", number)
    return tmp_path


@pytest.mark.slow
def test_batch_and_resume(loopwright, refused, folder):
    (folder / "photos" / "cut.jpg").write_bytes(b"\xff\xd8\xff")
    done = loopwright("iqa", "batch", "photos", "--out", "r.csv", "--workers", 2, "--report", "r.html", cwd=folder)
    assert done.returncode == 1  # one image failed
    assert "4 assessed, 1 failed, 0 unchanged of 4" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["r.html", "r.csv"]
    assert "loopwright: cut.jpg: " in done.stderr and "4 of 4, " in done.stderr
    assert [row["path"] for row in rows_of(folder / "r.csv")] == ["0.png", "1.png", "2.png", "cut.jpg"]
    assert "<img" in (folder / "r.html").read_text()

    assert "--resume" in refused("iqa", "batch", "photos", "--out", "r.csv", cwd=folder)
    (folder / "photos" / "cut.jpg").unlink()
    again = loopwright("iqa", "batch", "photos", "--out", "r.csv", "--resume", cwd=folder)
    assert again.returncode == 0
    assert "0 assessed, 0 failed, 3 unchanged of 3" in again.stdout


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for place in ("a", "b", "r"):
        (tmp_path / place).mkdir()
    coarse = Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8))
    picture = coarse.resize((256, 192), Image.Resampling.BICUBIC)
    picture.save(tmp_path / "r/0.png")
    picture.save(tmp_path / "a/0.jpg", quality=4)
    picture.save(tmp_path / "b/0.webp", quality=90)
    return tmp_path


def test_two_images_as_a_table_and_as_json(loopwright, sides):
    done = loopwright("iqa", "compare", "a/0.jpg", "b/0.webp", "--reference", "r/0.png", cwd=sides)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("B is better by ") and "points on MDSI" in lines[0]
    table = [line for line in lines if line.startswith(("MDSI *", "PSNR", "VIFp"))]
    assert len(table) == 3 and max(map(len, table)) <= 80
    assert any(line.startswith("A: a/0.jpg: 256 x 192, ") for line in lines)
    assert "   Found in the whole image, strongest first: " in done.stdout
    done = loopwright("iqa", "compare", "a/0.jpg", "b/0.webp", "-r", "r/0.png", "--json", cwd=sides)
    found = json.loads(done.stdout)
    assert (done.returncode, found["better"], found["a"]["path"]) == (0, "B", "a/0.jpg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch", "photos", "--out", "r.xlsx"], "Known: .csv, .jsonl, .parquet"),
        (["batch", "photos", "--out", "r.csv", "--shard", "3/2"], "give i/n"),
        (["batch", "nowhere", "--out", "r.csv"], "neither a folder nor a manifest"),
        (["batch", "m.jsonl", "--out", "r.csv"], "line 2: image_path: Field required"),
        (["compare", "a", "b"], "'a' is a folder, not an image; give one file, or use `loopwright iqa batch`"),
        (["compare", "a/0.jpg", "a/none.jpg"], "there is no file 'a/none.jpg'"),
        (["compare", "a/0.jpg", "a/0.jpg"], "A and B are the same: 'a/0.jpg'"),
        (["compare", "a/0.jpg", "b/0.webp", "-r", "small.png"], "give two images of one size"),
        (["compare", "a/0.jpg", "text.txt"], "not an image"),
    ],
)
def test_mistakes_are_one_line(refused, folder, sides, words, said):
    (folder / "m.jsonl").write_text('{"image_path": "photos/0.png"}\n{"sample_id": "x"}\n')
    Image.new("RGB", (64, 64)).save(sides / "small.png")
    (sides / "text.txt").write_text("no picture")
    assert said in refused("iqa", *words, cwd=folder)
    assert not list(folder.glob("*.journal*"))
