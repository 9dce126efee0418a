"""Pictures to try the workflow on: a drawn harbour, without faults, blurred, and compressed too much.

The files are made by `draw` and lie in ``data/sample``, so that a run that is taken up again finds them where it left
them.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.images import RGB

PREFIX = "sample:"
"""What an input's image begins with that is one of these pictures."""

FILES: dict[str, str] = {
    "harbour": "harbour.png",
    "harbour-blurred": "harbour-blurred.png",
    "harbour-compressed": "harbour-compressed.jpg",
}
"""Picture -> its file."""

BLUR = 2.2
"""The standard deviation of the Gaussian blur, in pixels."""
JPEG_QUALITY = 8
"""The quality of the compressed picture, from 0 to 100."""

_WIDTH, _HEIGHT, _HORIZON = 320, 240, 120


def sample_path(name: str) -> Path:
    """Where a picture lies.

    Args:
        name: The picture.

    Raises:
        UnknownNameError: If there is no such picture.
    """
    if name not in FILES:
        raise UnknownNameError("sample picture", name, FILES)
    return Path(str(resources.files("loopwright.workflows.iqa"))) / "data" / "sample" / FILES[name]


def draw() -> RGB:
    """Draw the harbour without faults, the same pixels each time.

    Returns:
        The picture, uint8, 240 x 320 x 3, red first.
    """
    picture = _sky_and_water()
    _houses(picture)
    _boats(picture)
    _quay(picture)
    return picture


def save_all(folder: Path) -> None:
    """Write the files of all pictures.

    Args:
        folder: Where to.
    """
    picture = cv2.cvtColor(draw(), cv2.COLOR_RGB2BGR)
    blurred = cv2.GaussianBlur(picture, (0, 0), BLUR)
    smallest = [cv2.IMWRITE_PNG_COMPRESSION, 9]
    cv2.imwrite(str(folder / FILES["harbour"]), picture, smallest)
    cv2.imwrite(str(folder / FILES["harbour-blurred"]), blurred, smallest)
    cv2.imwrite(str(folder / FILES["harbour-compressed"]), picture, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def _sky_and_water() -> RGB:
    rows, columns = np.mgrid[0:_HEIGHT, 0:_WIDTH].astype(np.float64)
    sky = np.stack([150 + rows * 0.5, 190 + rows * 0.35, np.full_like(rows, 235)], axis=-1)
    depth = np.maximum(rows - _HORIZON, 1)
    ripples = 14 * np.sin(columns * 0.55 + 900 / depth) * np.sin(depth * 0.9 + columns * 0.05)
    water = np.stack([40 + ripples, 92 + ripples + depth * 0.1, 128 + ripples], axis=-1)
    return np.where((rows < _HORIZON)[..., np.newaxis], sky, water).clip(0, 255).astype(np.uint8)


def _houses(picture: NDArray[Any]) -> None:
    walls = [(196, 86, 62), (226, 190, 108), (236, 232, 220), (122, 148, 96), (176, 120, 140), (214, 142, 74)]
    for place in range(8):
        left, top = 4 + place * 40, 58 + (place * 37) % 26
        cv2.rectangle(picture, (left, top), (left + 34, _HORIZON + 6), walls[place % len(walls)], -1)
        roof = np.array([(left - 2, top), (left + 17, top - 16), (left + 36, top)], np.int32)
        cv2.fillPoly(picture, [roof], (110, 52, 40))
        for row in range(top + 6, _HORIZON - 8, 15):
            for column in range(left + 4, left + 30, 10):
                cv2.rectangle(picture, (column, row), (column + 5, row + 8), (34, 40, 56), -1)
                cv2.line(picture, (column, row + 4), (column + 5, row + 4), (230, 230, 224), 1)


def _boats(picture: NDArray[Any]) -> None:
    for left, bottom, size, hull in (
        (30, 176, 58, (150, 30, 36)),
        (150, 196, 84, (24, 52, 92)),
        (252, 166, 44, (236, 236, 230)),
    ):
        points = [
            (left, bottom - size // 5),
            (left + size, bottom - size // 5),
            (left + size * 4 // 5, bottom),
            (left + size // 6, bottom),
        ]
        cv2.fillPoly(picture, [np.array(points, np.int32)], hull)
        mast, top = left + size // 2, bottom - size - size // 5
        cv2.line(picture, (mast, bottom - size // 5), (mast, top), (60, 44, 30), 2)
        sail = np.array(
            [(mast + 2, top + 4), (mast + 2, bottom - size // 3), (left + size - 4, bottom - size // 3)], np.int32
        )
        cv2.fillPoly(picture, [sail], (246, 242, 230))
        for line in range(4):
            height = top + 14 + line * size // 6
            cv2.line(picture, (mast + 3, height), (mast + 3 + (line + 1) * size // 14, height), (170, 160, 140), 1)


def _quay(picture: NDArray[Any]) -> None:
    cv2.rectangle(picture, (0, 214), (_WIDTH, _HEIGHT), (132, 124, 116), -1)
    for row in range(214, _HEIGHT, 9):
        cv2.line(picture, (0, row), (_WIDTH, row), (84, 78, 74), 1)
        for column in range((row % 2) * 11, _WIDTH, 22):
            cv2.line(picture, (column, row), (column, row + 9), (84, 78, 74), 1)
    cv2.putText(picture, "OSTERHAVEN", (92, 233), cv2.FONT_HERSHEY_SIMPLEX, 0.62, (250, 246, 236), 1, cv2.LINE_8)
