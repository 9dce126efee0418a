"""What a file is that is no image which can be judged, and what to do about it."""

from __future__ import annotations

from PIL import Image

HEAD_BYTES = 2048
"""So many bytes of a file's beginning are looked at."""

NO_PICTURES = frozenset({"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"})
"""Formats that Pillow identifies but does not decode, or only with another program."""

_RAW = "a camera's raw file, of which only a preview could be read; develop it into a TIFF, PNG or JPEG"
_VIDEO = "a video; take a frame out of it as PNG"
_HEIC = "an HEIC photograph, which Pillow does not read; convert it to JPEG, PNG or AVIF"
_JXL = "a JPEG XL image, which Pillow does not read; convert it to PNG (djxl a.jxl a.png)"
_HDR = "a high-dynamic-range image without a known white; tone-map it to 8 or 16 bits"
_AUDIO_OR_VIDEO = "a RIFF file without a WebP image, such as a video or a sound"

_BEGINNINGS = {
    b"%PDF": "a PDF document; render the page as PNG",
    b"%!PS": "a PostScript drawing; render it as PNG",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself; run git lfs pull",
    b"\x00\x05\x16\x07": "a macOS resource file; the image has the same name without ._ in front",
    b"PK\x03\x04": "a ZIP archive; unpack it",
    b"\x1f\x8b": "a gzip archive; unpack it",
    b"\xff\x0a": _JXL,
    b"\x00\x00\x00\x0cJXL ": _JXL,
    b"FUJIFILMCCD-RAW": _RAW,
    b"IIU\x00": _RAW,
    b"IIRO": _RAW,
    b"IIRS": _RAW,
    b"MMOR": _RAW,
    b"\x00MRM": _RAW,
    b"FOVb": _RAW,
    b"\x1aE\xdf\xa3": _VIDEO,
    b"v/1\x01": _HDR,
    b"#?RADIANCE": _HDR,
    b"RIFF": _AUDIO_OR_VIDEO,
}
"""First bytes -> what such a file is."""

_BRANDS = {b"crx ": _RAW, **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"), _HEIC)}
"""Brand of an ISO media file -> what such a file is; others are videos."""

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
        return _BRANDS.get(head[8:12], _VIDEO)
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
    """Say why an opened file is not to be judged: a drawing, a video, or a raw file behind a preview.

    Args:
        image: What Pillow opened.
        head: The file's first bytes.

    Returns:
        What it is with the way out, or None if it may be judged.
    """
    if image.format in NO_PICTURES:
        return f"a file of the format {image.format}, which needs another program to be read; convert it to PNG"
    if image.format != "TIFF":
        return None
    tags = getattr(image, "tag_v2", {})
    # Raw files are TIFF files whose first page is a thumbnail or a preview.
    if _DNG_VERSION in tags or head[8:10] == b"CR" or int(tags.get(_SUBFILE) or 0) & 1:
        return _RAW
    return None
