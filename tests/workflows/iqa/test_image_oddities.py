"""Odd image files through the loader, `loopwright iqa assess` and `loopwright iqa batch`; see docs/bad-input.md."""

import csv
import json
import os
import re
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from odd_images import ODD, Odd, picture, rgb, saved
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa.sources.images import load_image

ROOT = Path(__file__).resolve().parents[3]
ELSEWHERE = {
    "missing file", "folder", "a name that no file can have", "no permission", "relative path, path with ~",
    "changed while it is read", "reference of another size", "region that leaves the image or is too small",
    "shorter than a tool needs", "shorter than 32 pixels a side", "no edge anywhere: one colour, a sky, a wall",
    "no edge anywhere, but content", "Photoshop file of several layers",
}  # fmt: skip
"""Rows of the table that are no single file in a folder: tests below, and in test_undecided.py."""


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd.name[:40]))
def test_what_the_loader_makes_of_it(tmp_path: Path, odd: Odd) -> None:
    path = tmp_path / odd.name
    odd.make(path)
    if odd.error is not None:
        with pytest.raises(ImageError, match=odd.error) as caught:
            load_image(path)
        assert "\n" not in str(caught.value)
        assert repr(str(path)) in str(caught.value)
        return
    image = load_image(path)
    assert image.rgb.shape == (72, 96, 3)
    assert np.abs(image.rgb.astype(float) - odd.expected()).mean() <= odd.tolerance
    assert any(odd.note in note for note in image.notes) if odd.note else image.notes == ()


def test_the_table_names_these_cases() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", (ROOT / "docs" / "bad-input.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert len(rows) == len(set(rows))
    assert set(rows) == {odd.row for odd in ODD} | ELSEWHERE


def _run(*args: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("loopwright"), "iqa", *map(str, args)],
        cwd=folder, capture_output=True, text=True, errors="backslashreplace", timeout=170, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.mark.slow
def test_a_batch_of_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    # One of the many orientations will do here.
    odds = [odd for odd in ODD if odd.row != "EXIF orientation" or odd.name == "turned 6.jpg"]
    for odd in odds:
        odd.make(folder / odd.name)
    ended = _run(
        "batch", folder, "--out", tmp_path / "out.csv", "--report", tmp_path / "out.html", "--worst", "9", "--workers", "1",
        folder=tmp_path,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    expected = {odd.name.encode("utf-8", "backslashreplace").decode(): odd for odd in odds}
    assert rows.keys() == expected.keys() | {"linked to.png"}
    unscored: list[str] = []
    for name, odd in expected.items():
        row = rows[name]
        if odd.error is None:
            assert row["error"] == "", name
            # What has no structure, such as a smooth gradient or one colour, has no score, and that is said.
            flat = row["answer"].startswith("Unable to determine: BlindScore cannot be measured: ")
            assert row["quality_score"] or flat, (name, row["answer"])
            unscored += [name] if flat else []
            assert odd.note is None or odd.note in row["notes"], name
        else:
            assert re.search(odd.error, row["error"]), name
            assert str(tmp_path) not in row["error"]
            assert row["quality_score"] == ""
    assert len(unscored) < 0.2 * sum(odd.error is None for odd in odds), unscored
    assert "Traceback" not in (tmp_path / "out.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["cut.jpg", os.fsdecode(b"not utf-8 \xff\xfe.png"), "bomb.png", "pipe.png", "page.jpg", "rgba16.png"],
    ids=ascii,
)
def test_assess_answers_or_says_why_in_one_line(tmp_path: Path, name: str) -> None:
    odd = next(odd for odd in ODD if odd.name == name)
    odd.make(tmp_path / name)
    ended = _run("assess", "--json", "--", name, folder=tmp_path)
    if odd.error is None:
        assert (ended.returncode, ended.stderr) == (0, "")
        state = json.loads(ended.stdout)
        assert state["image_path"] == name
        assert state["summarizer_result"]["final_answer"]
        assert odd.note is None or any(odd.note in note for note in state["executor_evidence"]["notes"])
    else:
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.count("\n") == 1
        assert ended.stderr.startswith("loopwright: ")
        assert re.search(odd.error, ended.stderr)


def test_the_layers_of_a_photoshop_file_are_put_together_already(tmp_path: Path) -> None:
    layer = struct.pack(">4iH", 0, 0, 0, 0, 0) + b"8BIMnorm" + bytes(8)
    layers = struct.pack(">h", 2) + 2 * layer
    head = b"8BPS" + struct.pack(">H6xHIIHHII", 1, 3, 40, 50, 8, 3, 0, 0)
    section = struct.pack(">II", len(layers) + 4, len(layers)) + layers
    (tmp_path / "a.psd").write_bytes(head + section + bytes(2) + bytes([90]) * 40 * 50 * 3)
    image = load_image(tmp_path / "a.psd")
    assert image.rgb.min() == image.rgb.max() == 90 and image.notes == ()


def test_a_path_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    saved(picture, "PNG")(tmp_path / "a.png")
    assert load_image("~/a.png").path == tmp_path / "a.png"
    monkeypatch.chdir(tmp_path)
    assert np.array_equal(load_image("a.png").rgb, rgb())
    (tmp_path / "~").mkdir()
    Image.new("RGB", (40, 40)).save(tmp_path / "~" / "a.png")
    assert load_image("~/a.png").width == 40


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "growing.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (1500, 1500, 3)).astype(np.uint8)).save(path)
    stop, begun = threading.Event(), threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"more")
                begun.set()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        begun.wait()
        with pytest.raises(ImageError, match="changed while it was read"):
            load_image(path)
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(("name", "word"), [("a\0b.png", ""), ("x" * 5000, ""), ("", ""), (ROOT, "folder")])
def test_names_that_no_file_can_have_and_a_folder(name: str | Path, word: str) -> None:
    with pytest.raises(ImageError, match=rf"\A[^\n]*{word}[^\n]*\Z"):
        load_image(name)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A picture of 96 x 72 pixels."""
    saved(picture, "PNG")(tmp_path / "a.png")
    return tmp_path / "a.png"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_not_permitted(plain: Path) -> None:
    plain.chmod(0)
    with pytest.raises(ImageError, match=r"^[^\n]*Permission[^\n]*$"):
        load_image(plain)


def test_the_pixels_of_an_image_cannot_be_changed(plain: Path) -> None:
    image = load_image(plain)
    assert (image.width, image.height, image.path, image.rgb.dtype) == (96, 72, plain, np.uint8)
    with pytest.raises(ValueError, match="read-only"):
        image.rgb[0, 0, 0] = 1


@pytest.mark.parametrize("box", [(90, 0, 20, 20), (0, 60, 20, 20), (0, 0, 0, 20), (0, 0, 15, 20)])
def test_a_bad_crop_names_what_was_given_and_the_images_size(plain: Path, box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ImageError, match=f"{','.join(map(str, box))} lies in the image, which is 96 x 72 pixels; give"):
        load_image(plain).crop(box)
