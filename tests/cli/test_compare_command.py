"""``loopwright iqa compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for place in ("a", "b", "r", "other"):
        (tmp_path / place).mkdir()
    for number in range(2):
        rng = np.random.default_rng(number)
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), np.uint8))
        picture = coarse.resize((256, 192), Image.Resampling.BICUBIC)
        picture.save(tmp_path / "r" / f"{number}.png")
        picture.save(tmp_path / "a" / f"{number}.jpg", quality=4)
        picture.save(tmp_path / "b" / f"{number}.webp", quality=90)
        picture.save(tmp_path / "other" / f"x{number}.png")
    return tmp_path


def test_two_images_as_a_table(loopwright, folder):
    done = loopwright("iqa", "compare", "a/0.jpg", "b/0.webp", "--reference", "r/0.png", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("B is better by ") and "points on MDSI" in lines[0]
    table = [line for line in lines if line.startswith(("MDSI *", "PSNR", "VIFp"))]
    assert len(table) == 3 and max(map(len, table)) <= 80
    assert any(line.startswith("A: a/0.jpg: 256 x 192, ") for line in lines)
    assert "(100% sure)" in done.stdout or "% sure)" in done.stdout


def test_two_folders_as_json(loopwright, folder):
    (folder / "b" / "2.webp").write_bytes(b"RIFF")
    (folder / "a" / "2.jpg").write_bytes((folder / "a" / "1.jpg").read_bytes())
    (folder / "r" / "2.png").write_bytes((folder / "r" / "1.png").read_bytes())
    done = loopwright("iqa", "compare", "a", "b", "-r", "r", "-w", 1, "--json", cwd=folder)
    assert done.returncode == 1  # one file is bad
    found = json.loads(done.stdout)
    assert found["better"] == "B" and [item["path"] for item in found["left_out"] if item["bad"]] == ["2"]
    assert "3 of 3, " in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a/0.jpg", "b"], "'a/0.jpg' is a file, 'b' is a folder; give either images alone or folders alone"),
        (["a/0.jpg", "a/none.jpg"], "there is no 'a/none.jpg'"),
        (["a", "a"], "A and B are the same: 'a'"),
        (["a", "other"], "no image of A matches one of B"),
        (["a/0.jpg", "b/0.webp", "-r", "small.png"], "give two images of one size"),
        (["a/0.jpg", "text.txt"], "not an image"),
    ],
)
def test_mistakes_are_one_line(loopwright, folder, words, said):
    Image.new("RGB", (64, 64)).save(folder / "small.png")
    (folder / "text.txt").write_text("no picture")
    done = loopwright("iqa", "compare", *words, cwd=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
