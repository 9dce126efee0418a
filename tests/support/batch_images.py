"""Folders of small pictures for batches, good ones and bad ones, and what must be equal of their rows."""

import csv
import io
import json
import shutil
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np
from PIL import Image

WIDTH, HEIGHT = 160, 128


def picture(seed: int) -> np.ndarray:
    """Smooth shapes and fine grain, uint8 H x W x 3, each seed another."""
    rng = np.random.default_rng(seed)
    shapes = cv2.resize(
        rng.integers(0, 256, (9, 11, 3), dtype=np.uint8), (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC
    )
    grain = rng.normal(0, 3 + seed % 5, shapes.shape)
    return np.clip(shapes + grain, 0, 255).astype(np.uint8)


def recoded(rgb: np.ndarray, quality: int, **options: Any) -> np.ndarray:
    """The pixels as JPEG leaves them."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=quality, **options)
    return np.asarray(Image.open(buffer).convert("RGB"))


def save(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), picture(seed))
    return path


def good_folder(folder: Path, count: int) -> Path:
    for number in range(count):
        save(folder / f"{number % 3}" / f"{number:03}.png", number)
    return folder


def bad_files(folder: Path) -> dict[str, str]:
    """Put files that cannot be judged into a folder; name -> a word of why."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = cv2.imencode(".jpg", picture(1))[1].tobytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.jpg").write_text("This is no picture.\n")
    (folder / "bomb.png").write_bytes(png(60_000, 60_000, zlib.compress(b"\0" * 64)))
    (folder / "small.png").write_bytes(cv2.imencode(".png", picture(2)[:8, :8])[1].tobytes())
    return {"cut.jpg": "truncated", "empty.png": "empty", "text.jpg": "not an image", "bomb.png": "pixels",
            "small.png": "too small"}  # fmt: skip


def png(width: int, height: int, data: bytes, *, interlaced: bool = False) -> bytes:
    """A PNG file whose header says this size, whatever its data is: packed rows of RGB, if it can be shown."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@contextmanager
def in_this_process() -> Iterator[None]:
    """Batches without processes of their own, which take longer to begin than these pictures to be judged."""

    def results(make: Any, given: tuple[Any, ...], jobs: list[Any], *_more: Any) -> Iterator[tuple[Any, Any]]:
        yield from ((job, done(job)) for done in [make(*given)] for job in jobs)

    with mock.patch("loopwright.workflows.iqa.batch.running.over_processes", results):
        yield


def rows_of(table: Path) -> list[dict[str, Any]]:
    """The rows of a CSV or JSON Lines table, without what is measured in time."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file)) if table.suffix == ".csv" else [json.loads(line) for line in file]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def journalled(journal: Path) -> dict[str, int]:
    """The samples of a journal, and how often each was kept: a later record takes a new row number."""
    if not journal.exists():
        return {}
    # A batch holds its journal while it writes; a copy of what is on disk can be read meanwhile.
    with tempfile.TemporaryDirectory() as folder:
        for file in journal.parent.glob(f"{journal.name}*"):
            with suppress(FileNotFoundError):
                shutil.copy(file, folder)
        try:
            with closing(sqlite3.connect(Path(folder) / journal.name)) as database:
                found = database.execute("SELECT sample, rowid FROM rows").fetchall()
        except sqlite3.Error:
            return {}
    return {json.loads(sample): number for sample, number in found}
