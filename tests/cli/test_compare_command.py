"""``loopwright iqa compare``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for place in ("a", "b", "r"):
        (tmp_path / place).mkdir()
    coarse = Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8))
    picture = coarse.resize((256, 192), Image.Resampling.BICUBIC)
    picture.save(tmp_path / "r/0.png")
    picture.save(tmp_path / "a/0.jpg", quality=4)
    picture.save(tmp_path / "b/0.webp", quality=90)
    return tmp_path


def test_two_images_as_a_table(loopwright, folder):
    done = loopwright("iqa", "compare", "a/0.jpg", "b/0.webp", "--reference", "r/0.png", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("B is better by ") and "points on MDSI" in lines[0]
    table = [line for line in lines if line.startswith(("MDSI *", "PSNR", "VIFp"))]
    assert len(table) == 3 and max(map(len, table)) <= 80
    assert any(line.startswith("A: a/0.jpg: 256 x 192, ") for line in lines)
    assert "   Found in the whole image, strongest first: " in done.stdout


def test_the_same_as_json(loopwright, folder):
    done = loopwright("iqa", "compare", "a/0.jpg", "b/0.webp", "-r", "r/0.png", "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert (done.returncode, found["better"], found["a"]["path"]) == (0, "B", "a/0.jpg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b"], "'a' is a folder, not an image; give one file, or use `loopwright iqa batch`"),
        (["a/0.jpg", "a/none.jpg"], "there is no file 'a/none.jpg'"),
        (["a/0.jpg", "a/0.jpg"], "A and B are the same: 'a/0.jpg'"),
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
