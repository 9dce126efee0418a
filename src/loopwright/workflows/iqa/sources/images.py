"""Image files in, upright 8-bit RGB arrays out: each odd kind gives a correct result with a note, or one clear error.

`docs/bad-input.md` lists what happens to each kind.
"""

import dataclasses
import os
from pathlib import Path
from typing import BinaryIO, Self

from PIL import Image, UnidentifiedImageError

from loopwright.config import shipped
from loopwright.errors import ImageError
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.pixels import RGB, check_size, to_rgb

HEAD_BYTES = 2048
"""So many bytes of a file's beginning are looked at."""

NO_PICTURES = frozenset({"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"})
"""Formats that Pillow identifies but does not decode, or only with another program."""

_FILES: dict[str, dict[str, str]] = shipped("loopwright.workflows.iqa", "data/files.yaml")
_KINDS = _FILES["kinds"]


def _told(table: str) -> dict[bytes, str]:
    return {start.encode("latin-1"): _KINDS[kind] for start, kind in _FILES[table].items()}


_BEGINNINGS, _BRANDS = _told("beginnings"), _told("brands")
"""First bytes, and the brand of an ISO media file -> what such a file is."""

_DNG_VERSION, _SUBFILE = 50706, 254


def what_it_is(head: bytes) -> str:
    """Name a file that Pillow does not take for an image.

    Args:
        head: Its first `HEAD_BYTES` bytes.

    Returns:
        What it is with the way out, to go after "is ".
    """
    for beginning, told in _BEGINNINGS.items():
        if head.startswith(beginning):
            return told
    if head[4:8] == b"ftyp":
        if head[8:12] in (b"avif", b"avis"):
            return "an AVIF image, damaged or of a kind that this Pillow does not read; convert it to PNG"
        return _BRANDS.get(head[8:12], _KINDS["video"])
    if head[128:132] == b"DICM":
        return "a DICOM image; export it as PNG"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if b"<svg" in text:
        return "an SVG drawing; render it as PNG"
    if text.startswith((b"<!doctype html", b"<html")) or b"<html" in text:
        return "a web page (HTML), perhaps an error page that was saved in place of the image; download it again"
    if not head.strip(b"\0"):
        return "nothing but zero bytes, as a copy that failed leaves it; copy it again"
    return "not an image in a format that Pillow reads; give a JPEG, PNG, WebP, TIFF, AVIF, GIF or BMP file"


def no_picture(image: Image.Image, head: bytes) -> str | None:
    """Why an opened file is not to be judged, and the way out: a drawing, a video, a raw file behind a preview."""
    if image.format in NO_PICTURES:
        return f"a file of the format {image.format}, which needs another program to be read; convert it to PNG"
    if image.format != "TIFF":
        return None
    tags = getattr(image, "tag_v2", {})
    # Raw files are TIFF files whose first page is a thumbnail or a preview.
    if _DNG_VERSION in tags or head[8:10] == b"CR" or int(tags.get(_SUBFILE) or 0) & 1:
        return _KINDS["raw"]
    return None


MAX_PIXELS = 100_000_000
"""The most pixels that are decoded by default; the file's header is asked first."""

MIN_SIDE = 16
"""The shortest side, in pixels, of an image or region whose quality can be told."""


def widened(first: int, last: int, length: int) -> tuple[int, int]:
    """A stretch made at least `MIN_SIDE` long about its middle, as far as the image's own length allows it."""
    least = min(MIN_SIDE, length)
    if (lacking := least - (last - first)) > 0:
        first = min(max(0, first - lacking // 2), length - least)
        last = first + least
    return first, last


@dataclasses.dataclass(frozen=True)
class LoadedImage:
    """An image, or a region of one, ready to be measured."""

    rgb: RGB = dataclasses.field(compare=False, repr=False)
    """Pixels, uint8, H x W x 3, red first, upright; read-only."""
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

    def inside(self, box: Box) -> Box:
        """The part of a box that lies in the image.

        Args:
            box: Left, top, width, height in pixels of the upright image.

        Raises:
            ImageError: If a side of that part is shorter than `MIN_SIDE`.
        """
        left, top, width, height = box
        first, last = max(0, left), min(self.width, left + width)
        upper, lower = max(0, top), min(self.height, top + height)
        if last - first < MIN_SIDE or lower - upper < MIN_SIDE:
            wide, high = min(max(width, MIN_SIDE), self.width), min(max(height, MIN_SIDE), self.height)
            near = (min(max(0, left), self.width - wide), min(max(0, top), self.height - high), wide, high)
            raise ImageError(
                f"too little of region {left},{top},{width},{height} lies in the image, which is {self.width} x "
                f"{self.height} pixels; give at least {MIN_SIDE} a side, for example {','.join(map(str, near))}"
            )
        return first, upper, last - first, lower - upper

    def crop(self, box: Box) -> Self:
        """What is `inside` a box, with the same path and notes; the pixels are shared, not copied."""
        left, top, width, height = self.inside(box)
        return dataclasses.replace(self, rgb=self.rgb[top : top + height, left : left + width])


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
    file_path = Path(at_home(path))
    try:
        _check_file(file_path)
        with file_path.open("rb") as file:
            before = os.fstat(file.fileno())
            try:
                rgb, notes = _decode(file, file_path, max_pixels)
            finally:
                after = os.fstat(file.fileno())
                if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
                    raise ImageError(f"{str(path)!r} changed while it was read; wait till it is complete and run again")
    except OSError as error:
        shown = str(file_path)[:200]
        raise ImageError(f"cannot read {shown!r}: {error.strerror or _one_line(error)}") from error
    height, width = rgb.shape[:2]
    if min(height, width) < MIN_SIDE:
        raise ImageError(
            f"{str(file_path)!r} is {width} x {height} pixels, too small to judge; "
            f"give an image of at least {MIN_SIDE} pixels a side"
        )
    rgb.setflags(write=False)
    return LoadedImage(rgb=rgb, path=file_path, notes=tuple(notes))


def check_pair(image: LoadedImage, reference: LoadedImage) -> None:
    """Make sure that an image can be compared with a reference.

    Raises:
        ImageError: If their sizes differ.
    """
    if image.rgb.shape != reference.rgb.shape:
        raise ImageError(
            f"{str(image.path)!r} is {image.width} x {image.height} pixels but its reference {str(reference.path)!r} "
            f"is {reference.width} x {reference.height}; give two images of one size, pixel on pixel"
        )


def at_home(path: str | os.PathLike[str]) -> str:
    """A path in which a leading ``~/`` is the home folder, unless there is a file of that very name.

    Args:
        path: As the user wrote it; shells leave ``--reference=~/a.png`` alone.
    """
    given = os.fspath(path)
    return os.path.expanduser(given) if given.startswith("~/") and not os.path.lexists(given) else given


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ImageError(f"{str(path)!r} is a folder, not an image; give one file, or use `loopwright iqa batch`")
    if not path.exists():
        if path.is_symlink():
            raise ImageError(f"{str(path)!r} is a link to nothing or to itself; give the file that it should lead to")
        raise ImageError(f"there is no file {str(path)!r}; check the spelling and the working folder")
    if not path.is_file():
        raise ImageError(f"{str(path)!r} is not a regular file but a pipe, a device or a socket; save it to a file")
    if path.stat().st_size == 0:
        raise ImageError(f"{str(path)!r} is empty (0 bytes); copy or download it again")


def _decode(file: BinaryIO, path: Path, max_pixels: int) -> tuple[RGB, list[str]]:
    head = file.read(HEAD_BYTES)
    file.seek(0)
    # Our limit is checked below; beyond twice its own fixed limit Pillow refuses by itself.
    try:
        image = Image.open(file)
    except UnidentifiedImageError as error:
        raise ImageError(f"{str(path)!r} is {what_it_is(head)}") from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"{str(path)!r} has too many pixels: {_one_line(error)} Give a smaller image") from error
    except Exception as error:
        raise ImageError(f"{str(path)!r} has a broken header: {_one_line(error)}; get a whole copy of it") from error
    with image:
        # Decoders of damaged files raise nearly anything, from SyntaxError to struct.error.
        try:
            refused = no_picture(image, head)
            if refused:
                raise ImageError(refused)
            check_size(image.size, max_pixels)
            return to_rgb(image, file, max_pixels)
        except ImageError as error:
            raise ImageError(f"{str(path)!r}: {error}") from error
        except MemoryError as error:
            width, height = image.size
            raise ImageError(
                f"{str(path)!r}, of {width} x {height} pixels, does not fit into memory; give a smaller image"
            ) from error
        except Exception as error:
            raise ImageError(
                f"{str(path)!r} is damaged or truncated: {_one_line(error)}; get a whole copy of it"
            ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
