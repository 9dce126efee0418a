"""``loopwright iqa batch``."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_images import rows_of, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        save(tmp_path / "photos" / f"{number}.png", number)
    return tmp_path


@pytest.mark.slow
def test_batch_and_resume(loopwright, folder):
    (folder / "photos" / "cut.jpg").write_bytes(b"\xff\xd8\xff")
    done = loopwright("iqa", "batch", "photos", "--out", "r.csv", "--workers", 2, "--report", "r.html", cwd=folder)
    assert done.returncode == 1  # one image failed
    assert "4 assessed, 1 failed, 0 unchanged of 4" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["r.html", "r.csv"]
    assert "loopwright: cut.jpg: " in done.stderr and "4 of 4, " in done.stderr
    assert [row["path"] for row in rows_of(folder / "r.csv")] == ["0.png", "1.png", "2.png", "cut.jpg"]
    assert "<img" in (folder / "r.html").read_text()

    refused = loopwright("iqa", "batch", "photos", "--out", "r.csv", cwd=folder)
    assert refused.returncode == 2 and "--resume" in refused.stderr and "Traceback" not in refused.stderr
    (folder / "photos" / "cut.jpg").unlink()
    again = loopwright("iqa", "batch", "photos", "--out", "r.csv", "--resume", cwd=folder)
    assert again.returncode == 0
    assert "0 assessed, 0 failed, 3 unchanged of 3" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["batch", "photos", "--out", "r.xlsx"], "Known: .csv, .jsonl, .parquet"),
        (["batch", "photos", "--out", "r.csv", "--shard", "3/2"], "give i/n"),
        (["batch", "nowhere", "--out", "r.csv"], "neither a folder nor a manifest"),
        (["batch", "m.jsonl", "--out", "r.csv"], "line 2: image_path: Field required"),
    ],
)
def test_mistakes_are_one_line(loopwright, folder, words, said):
    (folder / "m.jsonl").write_text('{"image_path": "photos/0.png"}\n{"sample_id": "x"}\n')
    done = loopwright("iqa", *words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
    assert not list(folder.glob("*.journal*"))
