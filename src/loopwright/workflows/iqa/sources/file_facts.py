"""What a file tells about an image besides its pixels: form, size, depth, and what the camera wrote into it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image
from PIL.ExifTags import GPS

from loopwright.config import shipped
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.sources.pixels import is_deep

_TAGS: dict[str, str] = shipped("loopwright.workflows.iqa", "data/files.yaml")["exif"]
_EXIF = {name: ExifTags.Base[tag] for name, tag in _TAGS.items()}
_LOSSY = ("AVIF", "JPEG2000", "WEBP")
"""Formats whose coders leave no grid that could be measured."""
_PLENTY = 1.0
"""Bits for each pixel from which such a coder is seldom seen."""
_GREY = 3
"""Difference of two channels up to which a pixel has no colour: what a coder of colour leaves of grey, grey levels."""


def file_facts(image: LoadedImage) -> dict[str, Any]:
    """Read what a file tells.

    Args:
        image: An image that could be loaded; its size is the upright one.

    Returns:
        ``format``, ``width``, ``height``, ``bits``, ``alpha``, ``bytes``, ``grey``, and of the EXIF data what is there.
    """
    facts: dict[str, Any] = {"width": image.width, "height": image.height, "bytes": Path(image.path).stat().st_size}
    with Image.open(image.path) as file:
        # Pillow's 32-bit mode stands for grey of 16 bits; what has 32 is not loaded.
        bits = 1 if file.mode == "1" else 16 if file.mode.startswith("I") or is_deep(file) else 8
        facts |= {"format": file.format or "", "bits": bits, "alpha": file.has_transparency_data}
        facts["frames"] = getattr(file, "n_frames", 1)
        if setting := coder_quality(image.path):
            facts["coder_quality"] = setting
        if "icc_profile" in file.info:
            facts["profile"] = "an embedded ICC profile"
        with suppress(Exception):  # damaged EXIF data is no data
            facts |= _camera(file)
    # A plane and its neighbour tell colour; every third pixel is enough.
    some = image.rgb[::3, ::3].astype(np.int16)
    spread = np.abs(some - some[..., [1, 2, 0]]).max(axis=2)
    facts["grey"] = bool(np.mean(spread > _GREY) < 0.001)
    return facts


def coder_quality(path: Path) -> int | None:
    """The setting of 1..100 that comes nearest to a JPEG file's luminance table, as the IJG's coder scales it.

    The standard table is scaled by 5000/q % below 50 and by 200 - 2q % from there on (libjpeg, jcparam.c).
    """
    with Image.open(path) as file:
        table = sorted((getattr(file, "quantization", None) or {}).get(0, ()))
    if not table:
        return None
    # Of ITU-T T.81, table K.1, all add up to 3,688 and the eight smallest to 100; large ones are cut at 255.
    percent = 100 * sum(table) / 3688 if table[-1] < 255 else float(sum(table[:8]))
    return max(1, min(100, round(5000 / percent if percent > 100 else (200 - percent) / 2)))


def coded_tightly(path: Path) -> str:
    """Why a coder may be seen in a file although none of its traces is measured; empty if that is unlikely."""
    with Image.open(path) as file:
        form, rate = file.format, 8 * path.stat().st_size / (file.width * file.height)
    if form not in _LOSSY or rate >= _PLENTY or b"VP8L" in path.read_bytes()[:4096]:
        return ""
    return f"with {rate:.2f} bits for each pixel an image in {form} may show its coder, whose traces are not measured"


def _camera(file: Image.Image) -> dict[str, Any]:
    exif = file.getexif()
    tags = {**exif, **exif.get_ifd(ExifTags.IFD.Exif)}
    found = {name: str(tags[tag]).strip("\0 ") for name, tag in _EXIF.items() if tags.get(tag) not in (None, "")}
    if "date" not in found and (date := tags.get(ExifTags.Base.DateTime)):
        found["date"] = str(date)
    place = exif.get_ifd(ExifTags.IFD.GPSInfo)
    ways = ((GPS.GPSLatitude, GPS.GPSLatitudeRef), (GPS.GPSLongitude, GPS.GPSLongitudeRef))
    if all(value in place for value, _ in ways):
        degrees = {value: sum(float(part) / 60**n for n, part in enumerate(place[value])) for value, _ in ways}
        told = (f"{degrees[value]:.4f} {place.get(side, '')}".strip() for value, side in ways)
        found["place"] = ", ".join(told)
    return found
