"""What Pillow opened, as upright 8-bit sRGB: depth, alpha, colour model, profile and orientation.

Large images are converted in strips, so that beside the decoder's own copy there is only the result.
"""

import io
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, cast

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from loopwright.config import shipped
from loopwright.errors import ImageError

RGB = NDArray[np.uint8]
"""An image: uint8, H x W x 3, red first."""

_STRIP_PIXELS = 1_000_000
"""Pixels that are converted at a time."""

_ORIENTATION = 0x0112
_BITS, _PHOTOMETRIC, _EXTRA_SAMPLES, _SAMPLE_FORMAT = 258, 262, 338, 339
"""Tags of TIFF: bits of each channel, what 0 means, what a fourth channel is, signed or not."""

_SRGB_TOLERANCE = 2
"""A profile that changes no colour by more than so many of 255 levels is taken for sRGB."""

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

LAID_ON_WHITE = "laid on white"
"""How the note about transparent pixels ends."""

_MODE_NOTES: dict[str, str] = shipped("loopwright.workflows.iqa", "data/files.yaml")["modes"]
"""Pillow mode -> what is said about its conversion."""


def to_rgb(image: Image.Image, file: BinaryIO, max_pixels: int) -> tuple[RGB, list[str]]:
    """Decode the first frame and convert it.

    Args:
        image: An image that was opened and not yet decoded.
        file: The file that it was opened from.
        max_pixels: The most pixels; some containers state another size than what they hold.

    Returns:
        uint8, H x W x 3, upright, and a note for each thing that was done.

    Raises:
        ImageError: If the pixels are of unknown range, or more than allowed.
        Exception: Whatever the decoder raises over a damaged file.
    """
    notes: list[str] = []
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format != "PSD":  # whose layers are put together already
        image.seek(0)
        notes.append(f"has {frames} frames or pages; only the first is judged")
    tags: dict[int, Any] = dict(getattr(image, "tag_v2", {}))
    # Pillow drops the low byte of 16-bit colour while decoding and keeps no trace but the name of its raw mode.
    deep_colour = image.mode in ("RGB", "RGBA", "LA") and is_deep(image)
    image.load()
    check_size(image.size, max_pixels)
    if deep_colour:
        pixels = _deep_colour(file, image.size)
        notes.append("16 bits a channel, scaled to 8")
    elif image.mode.startswith("I"):
        pixels = _deep_grey(image, tags)
        notes.append("grey with up to 16 bits, scaled to 8 and repeated in three channels")
    else:
        pixels = _eight_bits(image, notes)
    if image.mode != "CMYK" and (change := _to_srgb(image, "RGB", notes)) is not None:
        for rows in _strips(*image.size):
            pixels[rows, :, :3] = np.asarray(change(Image.fromarray(np.ascontiguousarray(pixels[rows, :, :3]))))
    if pixels.shape[2] == 4:
        pixels = _on_white(pixels, notes, premultiplied=deep_colour and 1 in tags.get(_EXTRA_SAMPLES, ()))
    orientation = _orientation(image, notes)
    if orientation in _UPRIGHT:
        pixels = _UPRIGHT[orientation](pixels)
        notes.append(f"turned upright as its EXIF orientation {orientation} says")
    return np.ascontiguousarray(pixels), notes


def check_size(size: tuple[int, int], max_pixels: int) -> None:
    """Refuse what has too many pixels.

    Raises:
        ImageError: If they are more.
    """
    width, height = size
    if width * height > max_pixels:
        raise ImageError(
            f"{width} x {height} = {width * height:,} pixels are more than the limit of {max_pixels:,}; "
            "give a smaller image or raise iqa.tools.max_pixels"
        )


def is_deep(image: Image.Image) -> bool:
    """Whether an image that was not decoded yet has 16 bits a channel."""
    # The raw mode is among what the decoder of each tile is told, or all of it.
    return any(";16" in str(tile[3]) for tile in getattr(image, "tile", ()))


def _deep_colour(file: BinaryIO, size: tuple[int, int]) -> RGB:
    """16-bit colour through OpenCV, which keeps both bytes; H x W x 3 or 4."""
    file.seek(0)
    decoded = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_UNCHANGED)
    if decoded is None or decoded.dtype != np.uint16 or decoded.ndim != 3 or decoded.shape[1::-1] != size:
        raise ImageError("16-bit colour of a kind that OpenCV does not read; convert it to 8 bits or to a 16-bit PNG")
    swap = cv2.COLOR_BGRA2RGBA if decoded.shape[2] == 4 else cv2.COLOR_BGR2RGB
    return _by_strips(size, decoded.shape[2], lambda rows: _scaled(cv2.cvtColor(decoded[rows], swap), 65535))


def _deep_grey(image: Image.Image, tags: dict[int, Any]) -> RGB:
    """Grey of up to 16 bits; Pillow's 32-bit mode also stands for these."""
    low, high = (int(value) for value in cast("tuple[float, float]", image.getextrema()))
    if tuple(tags.get(_BITS, ())) == (32,) or low < 0 or high > 65535:
        raise ImageError("32-bit integer pixels have no known range; convert it to 8 or 16 bits")
    if 2 in tags.get(_SAMPLE_FORMAT, ()):
        raise ImageError("signed integer pixels have no known range; convert it to 8 bits, or to 16 without sign")
    # 12 bits come as they are, in the low end of 16.
    white = 4095 if tuple(tags.get(_BITS, ())) == (12,) else 65535
    grey = _by_strips(image.size, 1, lambda rows: _scaled(np.asarray(_cut(image, rows)), white)[..., np.newaxis])
    return np.repeat(255 - grey if tags.get(_PHOTOMETRIC) == 0 else grey, 3, axis=2)


def _scaled(values: NDArray[Any], white: int) -> RGB:
    """0..white to 0..255, rounded, so that white stays white."""
    return ((values.astype(np.uint32) * 255 + white // 2) // white).astype(np.uint8)


def _eight_bits(image: Image.Image, notes: list[str]) -> RGB:
    """Any mode of Pillow of 8 bits or less as uint8, H x W x 3, or x 4 with an alpha channel."""
    mode = image.mode
    if mode == "F":
        raise ImageError("floating-point pixels have no known range; convert it to 8 or 16 bits")
    if mode == "CMYK":
        change = _to_srgb(image, "CMYK", notes)
        told = "with its colour profile" if change else "without a colour profile"
        notes.append(f"CMYK, converted to RGB {told}")
        convert: Callable[[Image.Image], Image.Image] = change or (lambda strip: strip.convert("RGB"))
        return _by_strips(image.size, 3, lambda rows: np.asarray(convert(_cut(image, rows))))
    if mode in _MODE_NOTES:
        notes.append(_MODE_NOTES[mode])
    target = "RGBA" if image.has_transparency_data else "RGB"
    return _by_strips(image.size, len(target), lambda rows: np.asarray(_cut(image, rows).convert(target)))


def _strips(width: int, height: int) -> list[slice]:
    step = max(1, _STRIP_PIXELS // width)
    return [slice(top, min(top + step, height)) for top in range(0, height, step)]


def _cut(image: Image.Image, rows: slice) -> Image.Image:
    return image.crop((0, rows.start, image.width, rows.stop))


def _by_strips(size: tuple[int, int], channels: int, strip: Callable[[slice], NDArray[Any]]) -> RGB:
    """Pixels of a width and height that are made some rows at a time."""
    pixels = np.empty((size[1], size[0], channels), np.uint8)
    for rows in _strips(*size):
        pixels[rows] = strip(rows)
    return pixels


def _to_srgb(image: Image.Image, model: str, notes: list[str]) -> Callable[[Image.Image], Image.Image] | None:
    """What turns pixels of a colour model into sRGB by the embedded profile; None if there is nothing to do."""
    embedded = image.info.get("icc_profile")
    if not embedded:
        return None
    from PIL import ImageCms

    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(embedded))
        described = str(cast("Any", profile.profile).xcolor_space).strip()
        if described != model:
            # The tone curves of grey profiles hardly differ from sRGB's.
            if described != "GRAY":
                notes.append(f"its colour profile is for {described}, not {model}, and was left aside")
            return None
        transform = ImageCms.buildTransform(
            profile, ImageCms.createProfile("sRGB"), model, "RGB",
            renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC, flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
        )  # fmt: skip
    except (OSError, ValueError, TypeError, ImageCms.PyCMSError):
        notes.append("its colour profile is damaged and was left aside")
        return None

    # Without inPlace there is always a result.
    change = cast("Callable[[Image.Image], Image.Image]", partial(ImageCms.applyTransform, transform=transform))
    if model == "RGB":
        steps = np.linspace(0, 255, 9).astype(np.uint8)
        colours = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(81, 9, 3)
        moved = np.abs(np.asarray(change(Image.fromarray(colours))).astype(int) - colours)
        if int(moved.max()) <= _SRGB_TOLERANCE:
            return None
        notes.append("its colours were converted to sRGB by the embedded profile")
    return change


def _on_white(rgba: RGB, notes: list[str], *, premultiplied: bool) -> RGB:
    most, least = int(rgba[..., 3].max()), int(rgba[..., 3].min())
    if least == 255:
        return rgba[..., :3]
    where = "in parts" if most else "everywhere, so that nothing of it is seen"
    notes.append(f"transparent {where}, {LAID_ON_WHITE}")
    pixels = np.empty((*rgba.shape[:2], 3), np.uint8)
    for rows in _strips(rgba.shape[1], rgba.shape[0]):
        colours, alpha = rgba[rows, :, :3].astype(np.uint32), rgba[rows, :, 3:].astype(np.uint32)
        laid = colours * 255 if premultiplied else colours * alpha
        pixels[rows] = np.minimum((laid + 255 * (255 - alpha) + 127) // 255, 255)
    return pixels


def _orientation(image: Image.Image, notes: list[str]) -> int:
    # EXIF is written by every camera and tool in its own way; without it the pixels are still the pixels.
    try:
        return image.getexif().get(_ORIENTATION, 1)
    except Exception:
        notes.append("its EXIF block is damaged and was left aside, with the orientation that may be in it")
        return 1
