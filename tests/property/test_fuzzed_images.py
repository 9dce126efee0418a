"""Damaged JPEG, PNG, WebP, TIFF, GIF and BMP files: an image or an `ImageError`, soon, in little memory, and no crash.

A child process loads them, so that a decoder that crashes or hangs costs one file and is named with its number.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_CHILD = Path(__file__).resolve().parents[1] / "support" / "fuzzed_images.py"
_PEAK_BYTES = 1_200_000_000
"""About 130 MB of libraries, and 7 bytes for each of the 100 million pixels that a header may claim."""


def _load(first: int, count: int) -> dict[str, Any]:
    """Load files by number; what a child did not survive is among ``wrong``, and another one goes on behind it."""
    total: dict[str, Any] = {"loaded": 0, "refused": 0, "wrong": [], "peak_bytes": 0}
    end = first + count
    while first < end:
        child = subprocess.run(
            [sys.executable, str(_CHILD), str(first), str(end - first)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        lines = child.stdout.splitlines()
        if child.returncode == 0:
            part = json.loads(lines[-1])
            for key in ("loaded", "refused", "wrong"):
                total[key] += part[key]
            total["peak_bytes"] = max(total["peak_bytes"], part["peak_bytes"])
            break
        assert lines, f"the child did not begin: {child.stderr[-2000:]}"
        total["wrong"].append(f"{lines[-1]}: the process ended with {child.returncode}")
        first = int(lines[-1]) + 1
    return total


def _check(total: dict[str, Any]) -> None:
    assert total["wrong"] == []
    assert total["peak_bytes"] < _PEAK_BYTES
    # Neither did every mutation leave the image as it was, nor was every one noticed by its signature alone.
    assert total["loaded"] > 0.1 * (total["loaded"] + total["refused"])
    assert total["refused"] > 0.3 * (total["loaded"] + total["refused"])


def test_damaged_files() -> None:
    total = _load(0, 150)
    assert total["loaded"] + total["refused"] == 150
    _check(total)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1_000, 13_000, 3_000))
def test_twelve_thousand_damaged_files(first: int) -> None:
    _check(_load(first, 3_000))
