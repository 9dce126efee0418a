"""Image files in, upright 8-bit RGB arrays out: each odd kind gives a correct result with a note, or one clear error.

`docs/bad-input.md` lists what happens to each kind.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from loopwright.errors import ImageError
from loopwright.workflows.iqa.schemas import Box

RGB = NDArray[np.uint8]
"""An image: uint8, H x W x 3, red first."""

MAX_PIXELS = 100_000_000
"""The most pixels that are decoded by default; the file's header is asked first."""

MIN_SIDE = 16
"""The shortest side, in pixels, of an image or region whose quality can be told."""

_ORIENTATION_TAG = 0x0112
_TIFF_BITS = 258

_UPRIGHT: dict[int, Callable[[NDArray[Any]], NDArray[Any]]] = {
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a, 1),
}
"""EXIF orientation -> what turns the stored pixels upright; 1 and unknown values need nothing."""


@dataclasses.dataclass(frozen=True)
class LoadedImage:
    """An image, or a region of one, ready to be measured."""

    rgb: RGB = dataclasses.field(compare=False, repr=False)
    """Pixels, uint8, H x W x 3, red first, upright; read-only."""
    digest: str
    """SHA-256, in hexadecimal, of the file's bytes and the decoded pixels (of a region: also of its box)."""
    path: Path
    """Where it was read from."""
    notes: tuple[str, ...] = ()
    """What was done to get here (rotated, converted, first frame only), one sentence each."""

    @property
    def width(self) -> int:
        """Pixels from left to right."""
        return self.rgb.shape[1]

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self.rgb.shape[0]

    def crop(self, box: Box) -> LoadedImage:
        """The part of the image inside a box; the pixels are shared, not copied.

        Args:
            box: Left, top, width, height in pixels of the upright image.

        Returns:
            A new image of the box's size, with the same path and notes.

        Raises:
            ImageError: If the box leaves the image, or a side of it is shorter than `MIN_SIDE`.
        """
        left, top, width, height = box
        where = f"region {left},{top},{width},{height} (left, top, width, height)"
        size = f"the image, which is {self.width} x {self.height} pixels"
        if width < 1 or height < 1:
            raise ImageError(f"{where} is empty; give a width and a height of at least {MIN_SIDE} inside {size}")
        if left < 0 or top < 0 or left + width > self.width or top + height > self.height:
            raise ImageError(f"{where} leaves {size}")
        if width < MIN_SIDE or height < MIN_SIDE:
            raise ImageError(f"{where} is too small to judge; give at least {MIN_SIDE} pixels a side inside {size}")
        digest = hashlib.sha256(f"{self.digest}:{left},{top},{width},{height}".encode()).hexdigest()
        return dataclasses.replace(self, rgb=self.rgb[top : top + height, left : left + width], digest=digest)


def load_image(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> LoadedImage:
    """Read an image file as upright 8-bit RGB.

    Args:
        path: The file, in any format that Pillow reads.
        max_pixels: The most pixels to decode; the header is asked before anything is decoded.

    Returns:
        The image, with a note for each thing that had to be done to it.

    Raises:
        ImageError: If the file is missing, no file, empty, broken, no image, too large or too small, or has pixels of
            unknown range (32-bit integers, floats).
    """
    file_path = Path(path)
    try:
        _check_file(file_path)
        with file_path.open("rb") as file:
            rgb, notes = _decode(file, file_path, max_pixels)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256")
    except OSError as error:
        shown = str(file_path)[:200]
        raise ImageError(f"cannot read {shown!r}: {error.strerror or _one_line(error)}") from error
    height, width = rgb.shape[:2]
    if min(height, width) < MIN_SIDE:
        raise ImageError(
            f"{str(file_path)!r} is {width} x {height} pixels, too small to judge; "
            f"give an image of at least {MIN_SIDE} pixels a side"
        )
    rgb = np.ascontiguousarray(rgb)
    rgb.setflags(write=False)
    digest.update(f"{width}x{height}".encode())
    digest.update(rgb.data)
    return LoadedImage(rgb=rgb, digest=digest.hexdigest(), path=file_path, notes=tuple(notes))


def check_pair(image: LoadedImage, reference: LoadedImage) -> None:
    """Make sure that an image can be compared with a reference.

    Args:
        image: The image in question.
        reference: The pristine image.

    Raises:
        ImageError: If their sizes differ.
    """
    if image.rgb.shape != reference.rgb.shape:
        raise ImageError(
            f"{str(image.path)!r} is {image.width} x {image.height} pixels but its reference {str(reference.path)!r} "
            f"is {reference.width} x {reference.height}; give two images of one size, pixel on pixel"
        )


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ImageError(f"{str(path)!r} is a folder, not an image; give one file")
    if not path.exists():
        raise ImageError(f"there is no file {str(path)!r}; check the spelling and the working folder")
    if not path.is_file():
        raise ImageError(f"{str(path)!r} is not a regular file")
    if path.stat().st_size == 0:
        raise ImageError(f"{str(path)!r} is empty (0 bytes)")


def _decode(file: BinaryIO, path: Path, max_pixels: int) -> tuple[RGB, list[str]]:
    """Open, check the size that the header states, decode, convert."""
    # Our limit is checked below; beyond twice its own fixed limit Pillow refuses by itself.
    try:
        image = Image.open(file)
    except UnidentifiedImageError as error:
        raise ImageError(f"{str(path)!r} is not an image in a format that Pillow reads") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"{str(path)!r} has too many pixels: {_one_line(error)}") from error
    except Exception as error:
        raise ImageError(f"{str(path)!r} has a broken header: {_one_line(error)}") from error
    with image:
        width, height = image.size
        if width * height > max_pixels:
            raise ImageError(
                f"{str(path)!r} is {width} x {height} = {width * height:,} pixels, more than the limit of "
                f"{max_pixels:,}; give a smaller image or raise max_pixels"
            )
        # Decoders of damaged files raise nearly anything, from SyntaxError to struct.error and MemoryError.
        try:
            return _to_rgb(image, file)
        except ImageError as error:
            raise ImageError(f"{str(path)!r}: {error}") from error
        except Exception as error:
            raise ImageError(f"{str(path)!r} is damaged or truncated: {_one_line(error)}") from error


def _to_rgb(image: Image.Image, file: BinaryIO) -> tuple[RGB, list[str]]:
    notes: list[str] = []
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        image.seek(0)
        notes.append(f"has {frames} frames or pages; only the first is judged")
    # Pillow drops the low byte of 16-bit colour while decoding and keeps no trace but the name of its raw mode.
    deep_colour = image.mode in ("RGB", "RGBA", "LA") and _is_deep(image)
    image.load()
    orientation = image.getexif().get(_ORIENTATION_TAG, 1)
    if deep_colour:
        pixels = _deep_colour(file, image.size)
        notes.append("16 bits a channel, scaled to 8")
    else:
        pixels = _eight_bits(image, notes)
    if pixels.shape[2] == 4:
        pixels = _on_white(pixels, notes)
    if orientation in _UPRIGHT:
        pixels = _UPRIGHT[orientation](pixels)
        notes.append(f"turned upright as its EXIF orientation {orientation} says")
    return pixels, notes


def _is_deep(image: Image.Image) -> bool:
    for tile in getattr(image, "tile", ()):
        args = tile[3] if isinstance(tile[3], tuple) else (tile[3],)
        if any(isinstance(arg, str) and ";16" in arg for arg in args):
            return True
    return False


def _deep_colour(file: BinaryIO, size: tuple[int, int]) -> RGB:
    """16-bit colour through OpenCV, which keeps both bytes; H x W x 3 or 4."""
    file.seek(0)
    decoded = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_UNCHANGED)
    if decoded is None or decoded.dtype != np.uint16 or decoded.ndim != 3 or decoded.shape[1::-1] != size:
        raise ImageError("16-bit colour of a kind that OpenCV does not read; convert it to 8 bits or to a 16-bit PNG")
    swap = cv2.COLOR_BGRA2RGBA if decoded.shape[2] == 4 else cv2.COLOR_BGR2RGB
    return _scaled(cv2.cvtColor(decoded, swap))


def _scaled(values: NDArray[Any]) -> RGB:
    """0..65535 to 0..255, rounded, so that white stays white."""
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _eight_bits(image: Image.Image, notes: list[str]) -> RGB:
    """Any mode of Pillow as uint8, H x W x 3, or x 4 with an alpha channel."""
    mode = image.mode
    if mode.startswith("I"):
        values = np.asarray(image)
        # A TIFF says how deep it is; elsewhere Pillow's 32-bit mode also stands for 16 bits.
        deep = tuple(getattr(image, "tag_v2", {}).get(_TIFF_BITS, ())) == (32,)
        if deep or int(values.min()) < 0 or int(values.max()) > 65535:
            raise ImageError("32-bit integer pixels have no known range; convert it to 8 or 16 bits")
        notes.append("grey with 16 bits, scaled to 8 and repeated in three channels")
        return np.repeat(_scaled(values)[..., np.newaxis], 3, axis=2)
    if mode == "F":
        raise ImageError("floating-point pixels have no known range; convert it to 8 or 16 bits")
    told = _MODE_NOTES.get(mode)
    if told:
        notes.append(told)
    has_alpha = mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info
    return np.array(image.convert("RGBA" if has_alpha else "RGB"))


_MODE_NOTES = {
    "1": "black and white (1 bit), repeated in three channels",
    "L": "grey, repeated in three channels",
    "LA": "grey, repeated in three channels",
    "P": "palette image, converted to RGB",
    "PA": "palette image, converted to RGB",
    "CMYK": "CMYK, converted to RGB without its colour profile",
}
"""Pillow mode -> what is said about its conversion."""


def _on_white(rgba: RGB, notes: list[str]) -> RGB:
    alpha = rgba[..., 3:].astype(np.uint32)
    if int(alpha.min()) == 255:
        return rgba[..., :3]
    notes.append("transparent in parts, laid on white")
    return ((rgba[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
