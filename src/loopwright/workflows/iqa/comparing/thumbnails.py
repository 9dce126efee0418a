"""Pictures for the report: where two images differ most, pixel for pixel, beside the same part of the reference."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa.images import RGB, LoadedImage, load_image
from loopwright.workflows.iqa.report.pictures import data_uri
from loopwright.workflows.iqa.schemas import Box

SIDE = 256
"""The longer side of a picture, in pixels."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A picture, or why there is none."""

    uri: str | None = None
    """The picture as a ``data:`` address."""
    width: int = 0
    """In pixels."""
    height: int = 0
    """In pixels."""
    problem: str | None = None
    """Why there is none."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The pictures of one comparison."""

    pictures: list[Thumbnail]
    """In the order of the paths."""
    crop: Box | None
    """The part that they show, in pixels; None if they show whole images, made smaller."""


def strip(a: Path, b: Path, reference: Path | None, max_pixels: int) -> Strip:
    """Pictures of A, B and the reference.

    Images of one size are cropped, not scaled, to where A and B differ most, since scaling hides what codecs do; they
    are kept without loss for the same reason.

    Args:
        a: The image of A.
        b: The image of B.
        reference: The reference, or None.
        max_pixels: The largest image that is decoded.
    """
    loaded: list[LoadedImage | str] = []
    for path in (a, b, *([] if reference is None else [reference])):
        try:
            loaded.append(load_image(path, max_pixels=max_pixels))
        except ImageError as error:
            loaded.append(str(error))
    images = [item for item in loaded if not isinstance(item, str)]
    if len(images) < len(loaded) or len({image.rgb.shape for image in images}) > 1:
        return Strip([_scaled(item) for item in loaded], None)
    box = _where_they_differ(images)
    left, top, width, height = box
    return Strip([_encoded(image.rgb[top : top + height, left : left + width]) for image in images], box)


def _where_they_differ(images: Sequence[LoadedImage]) -> Box:
    """The window with the largest mean absolute difference of the first two."""
    first, second = images[0].rgb, images[1].rgb
    width, height = min(SIDE, images[0].width), min(SIDE, images[0].height)
    sums = cv2.integral(np.asarray(cv2.absdiff(first, second).max(axis=2)))
    window = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    top, left = np.unravel_index(int(window.argmax()), window.shape)
    return int(left), int(top), width, height


def _scaled(image: LoadedImage | str) -> Thumbnail:
    if isinstance(image, str):
        return Thumbnail(problem=image)
    picture = Image.fromarray(image.rgb)
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return _encoded(np.asarray(picture))


def _encoded(rgb: RGB) -> Thumbnail:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "WEBP", lossless=True)
    return Thumbnail(data_uri("image/webp", buffer.getvalue()), rgb.shape[1], rgb.shape[0])
