"""The pictures of a row: the image, its reference, and where they differ; made when they are asked for."""

import base64
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.planes import checked, whole_view
from loopwright.workflows.iqa.measuring.gradients import dissimilarity
from loopwright.workflows.iqa.report.table_rows import ReportRow
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.images import LoadedImage, load_image
from loopwright.workflows.iqa.sources.pixels import RGB

THUMBNAIL_SIDE = 320
"""The longer side of a thumbnail, in pixels."""

THUMBNAIL_BYTES = 40_000
"""A thumbnail that takes more is made with less quality."""

_QUALITIES = (82, 60, 35, 10)
"""Of WebP, in the order in which they are tried."""

_WEAK, _STRONG = 0.01, (0.1, 0.5)
"""The difference that is nothing on a map, and the bounds of the one that is its strongest colour."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A thumbnail, or why there is none."""

    role: str
    """What it is: ``Image``, ``Map`` or ``Reference``."""
    caption: str
    """Where the image was, shortened; or what the map shows."""
    uri: Markup | None = None
    """The thumbnail as a ``data:`` address."""
    width: int = 0
    """Of the thumbnail, in pixels."""
    height: int = 0
    """Of the thumbnail, in pixels."""
    problem: str | None = None
    """Why there is none."""
    scale: str | None = None
    """Of a map: what its strongest colour means."""


def pictures(row: ReportRow) -> Iterator[Picture]:
    """The image, and if there is a reference, where the two differ and the reference.

    Yields:
        Pictures, each read and made when it is its turn.
    """
    boxes = row.boxes.values()
    image = _read(row.image_path, row.max_pixels)
    yield _shown("Image", row.image_path, image, boxes)
    if row.reference_path is not None:
        reference = _read(row.reference_path, row.max_pixels)
        if isinstance(image, LoadedImage) and isinstance(reference, LoadedImage):
            if reference.rgb.shape == image.rgb.shape:
                yield _map(row, image, reference)
        yield _shown("Reference", row.reference_path, reference, boxes)


def _read(path: Path, max_pixels: int) -> LoadedImage | ImageError:
    try:
        return load_image(path, max_pixels=max_pixels)
    except ImageError as error:
        return error


def _shown(role: str, path: Path, image: LoadedImage | ImageError, boxes: Iterable[Box]) -> Picture:
    """A thumbnail, upright, with the measured regions outlined."""
    # Of an absolute path only the end: who reads the report need not know the way to it.
    caption = f"…/{path.parent.name}/{path.name}" if path.is_absolute() else str(path)
    if isinstance(image, ImageError):
        return Picture(role, caption, problem=str(image))
    small = _small(image.rgb)
    return _picture(role, caption, _outlined(small, boxes, small.width / image.width))


def _map(row: ReportRow, image: LoadedImage, reference: LoadedImage) -> Picture:
    """Where the image differs from its reference, which is where its distortions are."""
    caption = "Local difference in edges and colours"
    try:
        raw = dissimilarity(*(whole_view(checked(each.rgb)) for each in (image, reference)))
    except ImageError as error:
        return Picture("Map", caption, problem=str(error))
    small = _small(image.rgb)
    # The strongest hundredth of the image is 1, within bounds.
    top = float(np.clip(np.quantile(raw, 0.99), *_STRONG))
    values = np.clip((raw - _WEAK) / (top - _WEAK), 0, 1).astype(np.float32)
    values = np.asarray(cv2.resize(values, small.size, interpolation=cv2.INTER_LINEAR), np.float32)
    picture = _outlined(_tinted(np.asarray(small), values), row.boxes.values(), small.width / image.width)
    said = "; ".join(f"{mark}: a difference of {at:.0%} (as MDSI sees it)" for mark, at in enumerate((_WEAK, top)))
    return _picture("Map", caption, picture, scale=said)


def _tinted(rgb: RGB, values: NDArray[np.float32]) -> Image.Image:
    """A dimmed grey picture under the colours of a map: the more there is, the stronger and lighter the colour."""
    laid = cv2.applyColorMap(np.rint(values * 255).astype(np.uint8), cv2.COLORMAP_PLASMA)[..., ::-1]
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)[..., np.newaxis] * 0.45 + 20
    cover = 0.7 * np.minimum(values * 2.5, 1)[..., np.newaxis] ** 0.7
    return Image.fromarray((laid * cover + grey * (1 - cover) + 0.5).astype(np.uint8))


def _small(rgb: RGB) -> Image.Image:
    return Image.fromarray(whole_view(rgb, THUMBNAIL_SIDE, 1))


def _picture(role: str, caption: str, image: Image.Image, scale: str | None = None) -> Picture:
    content = b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=quality, method=2)
        content = buffer.getvalue()
        if len(content) <= THUMBNAIL_BYTES:
            break
    # Nothing in it needs escaping.
    uri = Markup(f"data:image/webp;base64,{base64.b64encode(content).decode()}")
    return Picture(role, caption, uri, image.width, image.height, scale=scale)


def _outlined(image: Image.Image, boxes: Iterable[Box], scale: float) -> Image.Image:
    """Boxes drawn, black within white to be seen on any picture; a box too small to draw is left out."""
    drawn = image.copy()
    pen = ImageDraw.Draw(drawn)
    for box in boxes:
        left, top, width, height = (side * scale for side in box)
        for inset, colour, thickness in ((0, "white", 3), (1, "black", 1)):
            if min(width, height) > 2 * inset:
                edges = (left + inset, top + inset, left + width - inset, top + height - inset)
                pen.rectangle(edges, outline=colour, width=thickness)
    return drawn
