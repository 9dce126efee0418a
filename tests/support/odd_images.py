"""Odd image files, each with what must come of it; `docs/bad-input.md` has a row for each name."""

import io
import os
import socket
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tifffile
from batch_images import png
from PIL import Image, ImageCms

from loopwright.workflows.iqa.sources.images import RGB

WIDTH, HEIGHT = 96, 72
NO_ROWS = zlib.compress(bytes(64))


@cache
def rgb() -> RGB:
    """A soft, colourful texture that every coder keeps well."""
    coarse = np.random.default_rng(3).integers(30, 226, (7, 9, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def picture() -> Image.Image:
    """The texture."""
    return Image.fromarray(rgb())


def grey() -> RGB:
    """The texture in grey, three channels."""
    return np.asarray(picture().convert("L").convert("RGB"))


def on_white(alpha: np.ndarray) -> RGB:
    """The texture under an alpha channel of 0..255, on white."""
    share = alpha[..., None] / 255
    return np.rint(rgb() * share + 255 * (1 - share)).astype(np.uint8)


def slope() -> np.ndarray:
    """0..255 from left to right."""
    return np.tile(np.linspace(0, 255, WIDTH).astype(np.uint8), (HEIGHT, 1))


@dataclass(frozen=True)
class Odd:
    """One odd file."""

    row: str
    """The name of its row in the table."""
    name: str
    """The file's name."""
    make: Callable[[Path], object]
    """Writes it."""
    error: str | None = None
    """A part of the error, or None if it can be judged."""
    note: str | None = None
    """A part of a note, or None if there is nothing to say."""
    expected: Callable[[], np.ndarray] = rgb
    """What the pixels are, if it can be judged; of another size, the pixels are not compared."""
    tolerance: float = 1.0
    """How far they may be from that, in grey levels on average."""


def coded(kind: str, image: Callable[[], Image.Image] = picture, **options: Any) -> bytes:
    """An image as bytes of a format."""
    buffer = io.BytesIO()
    image().save(buffer, kind, **options)
    return buffer.getvalue()


def holding(content: bytes | Callable[[], bytes]) -> Callable[[Path], object]:
    """Writes bytes."""
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content())


def saved(image: Callable[[], Image.Image], kind: str, **options: Any) -> Callable[[Path], object]:
    """Writes an image through Pillow."""
    return holding(lambda: coded(kind, image, **options))


def interlaced_png() -> bytes:
    """The texture in the seven passes of Adam7."""
    passes = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    rows = b"".join(
        b"\0" + line.tobytes() for top, left, down, right in passes for line in rgb()[top::down, left::right]
    )
    return png(WIDTH, HEIGHT, zlib.compress(rows), interlaced=True)


def tiff(values: np.ndarray, **options: Any) -> bytes:
    """A TIFF file of what Pillow does not write."""
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, values, metadata=None, **options)
    return buffer.getvalue()


def packed_12_bits() -> bytes:
    """The slope as grey of 12 bits, two pixels in three bytes."""
    values = (slope().astype(np.uint32) * 4095 // 255).reshape(-1, 2)
    first, second = values[:, 0], values[:, 1]
    packed = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], axis=1).astype(np.uint8)
    buffer = io.BytesIO(tiff(packed.reshape(HEIGHT, -1)))
    with tifffile.TiffFile(buffer, mode="r+") as file:
        for tag, value in (("ImageWidth", WIDTH), ("BitsPerSample", 12)):
            file.pages[0].tags[tag].overwrite(value)
    return buffer.getvalue()


def deep(ending: str, image: np.ndarray) -> Callable[[Path], object]:
    """Writes 16 bits a channel through OpenCV; channels in the order of RGB."""
    swapped = image if image.ndim == 2 else image[..., [2, 1, 0, *range(3, image.shape[2])]]
    return holding(lambda: cv2.imencode(ending, swapped.astype(np.uint16) * 257)[1].tobytes())


@cache
def wide_gamut() -> bytes:
    """A colour profile with the primaries of Adobe RGB: sRGB's with other colorants, adapted to D50."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    colorants = {
        b"rXYZ": (0.60974, 0.31111, 0.01947), b"gXYZ": (0.20528, 0.62567, 0.06087), b"bXYZ": (0.14919, 0.06322, 0.74457),
    }  # fmt: skip
    for index in range(struct.unpack_from(">I", profile, 128)[0]):
        name, offset, _ = struct.unpack_from(">4sII", profile, 132 + 12 * index)
        if name in colorants:
            struct.pack_into(">3i", profile, offset + 8, *(round(value * 65536) for value in colorants[name]))
    return bytes(profile)


@cache
def seen_in_wide_gamut() -> RGB:
    """The texture as Adobe RGB (with sRGB's tone curve), in sRGB, clipped; IEC 61966-2-1 and the colorants above."""
    level = rgb() / 255
    linear = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    wide = np.array([[0.60974, 0.20528, 0.14919], [0.31111, 0.62567, 0.06322], [0.01947, 0.06087, 0.74457]])
    narrow = np.array([[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]])
    shown = np.clip(linear @ (np.linalg.inv(narrow) @ wide).T, 0, 1)
    coded = np.where(shown <= 0.0031308, shown * 12.92, 1.055 * shown ** (1 / 2.4) - 0.055)
    return np.rint(coded * 255).astype(np.uint8)


@cache
def ink_profile() -> bytes:
    """A printer's profile in which each ink takes its share of light: ICC.1:2004, lut8Type, two points a side."""
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4, indexing="ij"), -1).reshape(16, 4)
    lightness = np.prod(1 - corners * [0.3, 0.3, 0.1, 1.0], axis=1)
    grid = np.stack([np.rint(lightness * 255), np.full(16, 128), np.full(16, 128)], -1).astype(np.uint8)
    ramp = bytes(range(256))
    matrix = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 65536)
    table = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + matrix + ramp * 4 + grid.tobytes() + ramp * 3
    text = b"ink\0"
    parts = {
        b"desc": b"desc" + bytes(4) + struct.pack(">I", len(text)) + text + bytes(79),
        b"A2B0": table + bytes(-len(table) % 4),
        b"wtpt": b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061),
    }
    at, index, body = 132 + 12 * len(parts), b"", b""
    for name, part in parts.items():
        padded = part + bytes(-len(part) % 4)
        index += name + struct.pack(">II", at + len(body), len(part))
        body += padded
    header = struct.pack(">I4sI4s4s4s", at + len(body), b"lcms", 0x02400000, b"prtr", b"CMYK", b"Lab ") + bytes(12)
    header += b"acsp" + bytes(28) + struct.pack(">3i", 63190, 65536, 54061)
    return header.ljust(128, b"\0") + struct.pack(">I", len(parts)) + index + body


def turned(orientation: int) -> Callable[[], Image.Image]:
    """The texture stored so that the EXIF orientation turns it upright."""
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    return lambda: picture().transpose(Image.Transpose(back[orientation])) if orientation in back else picture()


def _exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def broken_exif() -> bytes:
    """A JPEG whose EXIF block has a directory that leads outside of it."""
    plain = coded("JPEG", quality=97)
    block = b"Exif\0\0II*\0" + struct.pack("<I", 0xFFFFFF)
    return plain[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + plain[2:]


def without_adobe_marker() -> bytes:
    """A CMYK JPEG whose APP14 segment was taken out."""
    content = coded("JPEG", lambda: picture().convert("CMYK"), quality=97)
    at = content.index(b"\xff\xee")
    return content[:at] + content[at + 2 + struct.unpack_from(">H", content, at + 2)[0] :]


def frames() -> dict[str, Any]:
    """Options for two more frames."""
    return {"save_all": True, "append_images": [picture().rotate(180), Image.new("RGB", (WIDTH, HEIGHT))]}


def alpha_slope() -> Image.Image:
    """The texture under the slope."""
    return Image.fromarray(np.dstack([rgb(), slope()]))


def _many(row: str, kinds: dict[str, Callable[[Path], object]], **rest: Any) -> list[Odd]:
    return [Odd(row, name, make, **rest) for name, make in kinds.items()]


def _cut(kind: str, **options: Any) -> Callable[[Path], object]:
    def half() -> bytes:
        content = coded(kind, **options)
        return content[: len(content) // 2]

    return holding(half)


def _socket(path: Path) -> None:
    # A socket's path may have no more than about 100 bytes; a relative one is short.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def _link(target: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def _linked_picture(path: Path) -> None:
    saved(picture, "PNG")(path.with_name("linked to.png"))
    path.symlink_to("linked to.png")


_HALF = np.full((HEIGHT, WIDTH), 128, np.uint8)
_PREMULTIPLIED = np.dstack([np.rint(rgb() * (128 / 255)).astype(np.uint8), _HALF])
_ASSOCIATED = {"photometric": "rgb", "extrasamples": ["assocalpha"]}

ODD = [
    *_many("empty file", {"empty.png": holding(b"")}, error="is empty"),
    *_many("nothing but zero bytes", {"zeros.jpg": holding(bytes(5000))}, error="zero bytes"),
    *_many("not an image", {"text.png": holding(b"hello, I am a text\n" * 50),
                            "one byte.png": holding(b"\x89"),
                            "noise.png": holding(np.random.default_rng(5).bytes(4000))}, error="not an image"),
    *_many("web page saved as an image", {"page.jpg": holding(b"\n<!DOCTYPE html><html><h1>404</h1></html>")},
           error="web page"),
    *_many("drawing or document", {"drawing.png": holding(b"<?xml version='1.0'?><svg></svg>"),
                                   "page.png": holding(lambda: coded("PDF")),
                                   "page.eps.png": holding(lambda: coded("EPS"))}, error="render|needs another program"),
    *_many("HEIC, JPEG XL", {"heic.jpg": holding(bytes(3) + b"\x18ftypheic" + bytes(400)),
                             "jxl.jpg": holding(b"\xff\x0a" + bytes(400))}, error="which Pillow does not read"),
    *_many("camera raw file", {"raf.jpg": holding(b"FUJIFILMCCD-RAW" + bytes(400)),
                               "dng.tif": holding(lambda: tiff(slope(), extratags=[(50706, 1, 4, (1, 4, 0, 0))])),
                               "preview.tif": holding(lambda: tiff(slope(), subfiletype=1))},
           error="camera's raw file"),
    *_many("video", {"film.jpg": holding(bytes(3) + b"\x18ftypisom" + bytes(400)),
                     "film.webp": holding(b"RIFF" + bytes(4) + b"AVI LIST" + bytes(400))}, error="video"),
    *_many("archive", {"zip.jpg": holding(b"PK\x03\x04" + bytes(400))}, error="unpack"),
    *_many("Git LFS pointer, macOS resource file",
           {"lfs.jpg": holding(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
            "resource.jpg": holding(b"\x00\x05\x16\x07" + bytes(4000))}, error="git lfs pull|without ._"),
    *_many("high dynamic range, DICOM", {"a.hdr.png": holding(b"#?RADIANCE\n" + bytes(400)),
                                         "dicom.png": holding(bytes(128) + b"DICM" + bytes(400))},
           error="tone-map|DICOM"),
    *_many("truncated or damaged",
           {"cut.jpg": _cut("JPEG"), "cut.png": _cut("PNG"), "cut.webp": _cut("WEBP"), "cut.tif": _cut("TIFF"),
            "cut lzw.tif": _cut("TIFF", compression="tiff_lzw"), "cut.gif": _cut("GIF"), "cut.bmp": _cut("BMP")},
           error="damaged or truncated|broken header|not an image"),
    *_many("pixel bomb", {"bomb.png": holding(lambda: png(12_000, 10_000, NO_ROWS)),
                          "bomb beyond Pillow's limit.png": holding(lambda: png(60_000, 60_000, NO_ROWS))},
           error="120,000,000 pixels|too many pixels"),
    *_many("32-bit, signed or floating-point pixels",
           {"integers.tif": saved(lambda: Image.fromarray(slope().astype(np.int32) * 1000), "TIFF"),
            "signed.tif": holding(lambda: tiff(slope().astype(np.int16))),
            "float.tif": saved(lambda: Image.fromarray(slope().astype(np.float32)), "TIFF"),
            "nan.tif": saved(lambda: Image.fromarray(np.where(slope() > 9, slope(), np.nan).astype(np.float32)), "TIFF")},
           error="no known range"),
    *_many("shorter than 16 pixels a side",
           {f"{width}x{height}.png": saved(lambda size=(width, height): Image.new("RGB", size), "PNG")
            for width, height in ((1, 1), (1, 300), (300, 1), (8, 8), (15, 40))}, error="too small to judge"),
    *_many("pipe, device, socket", {"pipe.png": os.mkfifo, "device.png": _link("/dev/null"), "socket.png": _socket},
           error="not a regular file"),
    *_many("link to nothing or to itself", {"loop.png": _link("loop.png"), "nowhere.png": _link("not there.png")},
           error="link to nothing or to itself"),
    *_many("link to an image", {"link.png": _linked_picture}),
    *_many("wrong extension", {"really a jpeg.png": saved(picture, "JPEG", quality=97),
                               "really a png.jpg": saved(picture, "PNG"),
                               "really a webp.gif": saved(picture, "WEBP", lossless=True)}, tolerance=2),
    *_many("trailing garbage", {"garbage.jpg": holding(lambda: coded("JPEG", quality=97) + bytes(range(256)) * 9),
                                "garbage.png": holding(lambda: coded("PNG") + b"<script>")}, tolerance=2),
    *_many("progressive JPEG, interlaced PNG", {"progressive.jpg": saved(picture, "JPEG", progressive=True, quality=97),
                                                "interlaced.png": holding(interlaced_png)}, tolerance=2),
    *_many("BMP, JPEG 2000, PPM, TGA, ICO, AVIF",
           {"a.bmp": saved(picture, "BMP"), "a.jp2": saved(picture, "JPEG2000"), "a.ppm": saved(picture, "PPM"),
            "a.tga": saved(picture, "TGA"), "a.ico": saved(picture, "ICO", sizes=[(96, 72), (32, 24)]),
            "a.avif": saved(picture, "AVIF", quality=95)}, tolerance=3),
    *_many("BigTIFF, TIFF in YCbCr", {"big.tif": saved(picture, "TIFF", big_tiff=True),
                                      "ycbcr.tif": saved(lambda: picture().convert("YCbCr"), "TIFF")}, tolerance=2),
    *_many("TIFF in L*a*b*", {"lab.tif": saved(
        lambda: ImageCms.profileToProfile(picture(), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"),
                                          outputMode="LAB"), "TIFF")}, note="L*a*b*", tolerance=3),
    *_many("animated GIF, PNG, WebP; TIFF of many pages; MPO",
           {"a.gif": saved(picture, "GIF", **frames()), "animated.png": saved(picture, "PNG", **frames()),
            "animated.webp": saved(picture, "WEBP", lossless=True, **frames()),
            "pages.tif": saved(picture, "TIFF", **frames()), "a.mpo": saved(picture, "MPO", quality=97, **frames())},
           note="3 frames or pages; only the first", tolerance=9),
    *_many("16-bit grey", {"grey16.png": deep(".png", slope()), "grey16.tif": deep(".tif", slope()),
                           "grey16 inverted.tif": holding(
                               lambda: tiff((255 - slope()).astype(np.uint16) * 257, photometric="miniswhite")),
                           "grey12.tif": holding(packed_12_bits)}, note="grey with up to 16 bits",
           expected=lambda: np.dstack([slope()] * 3)),
    *_many("16-bit colour", {"rgb16.png": deep(".png", rgb()), "rgb16.tif": deep(".tif", rgb())},
           note="16 bits a channel", tolerance=0),
    *_many("16-bit colour with alpha", {"rgba16.png": deep(".png", np.dstack([rgb(), _HALF])),
                                        "premultiplied16.tif": holding(lambda: tiff(
                                            _PREMULTIPLIED.astype(np.uint16) * 257, **_ASSOCIATED))},
           note="laid on white", expected=lambda: on_white(_HALF)),
    *_many("1 bit, grey", {"1bit.png": saved(lambda: picture().convert("1"), "PNG"),
                           "1bit.tif": saved(lambda: picture().convert("1"), "TIFF", compression="group4")},
           note="1 bit", expected=lambda: np.asarray(picture().convert("1").convert("RGB")), tolerance=0),
    *_many("1 bit, grey", {"grey.png": saved(lambda: picture().convert("L"), "PNG"),
                           "grey.jpg": saved(lambda: picture().convert("L"), "JPEG", quality=97)}, note="grey",
           expected=grey, tolerance=2),
    *[Odd("palette", f"{bits} bits.png", saved(lambda bits=bits: picture().quantize(2**bits), "PNG", bits=bits),
          note="palette", tolerance=0,
          expected=lambda bits=bits: np.asarray(picture().quantize(2**bits).convert("RGB"))) for bits in (2, 4, 8)],
    *_many("palette with transparency",
           {"transparent entries.png": saved(lambda: picture().quantize(200), "PNG", transparency=bytes([128] * 200))},
           note="laid on white", expected=lambda: on_white(_HALF), tolerance=6),
    *_many("grey with alpha", {"grey alpha.png": saved(lambda: alpha_slope().convert("LA"), "PNG")},
           note="laid on white", tolerance=0,
           expected=lambda: np.rint((grey() * (slope()[..., None] / 255)) + 255.0 - slope()[..., None])),
    *_many("alpha, straight or premultiplied",
           {"alpha.png": saved(alpha_slope, "PNG"), "alpha.webp": saved(alpha_slope, "WEBP", lossless=True, exact=True),
            "alpha.tif": saved(alpha_slope, "TIFF")}, note="transparent in parts, laid on white",
           expected=lambda: on_white(slope())),
    *_many("alpha, straight or premultiplied",
           {"premultiplied.tif": holding(lambda: tiff(_PREMULTIPLIED, **_ASSOCIATED))},
           note="transparent in parts, laid on white", expected=lambda: on_white(_HALF), tolerance=2),
    *_many("opaque alpha", {"opaque.png": saved(lambda: picture().convert("RGBA"), "PNG")}, tolerance=0),
    *_many("transparent everywhere",
           {"nothing.png": saved(lambda: Image.fromarray(np.dstack([rgb(), np.zeros_like(_HALF)])), "PNG")},
           note="transparent everywhere", expected=lambda: np.full_like(rgb(), 255)),
    *_many("CMYK", {"cmyk.jpg": saved(lambda: picture().convert("CMYK"), "JPEG", quality=97),
                    "cmyk without marker.jpg": holding(without_adobe_marker),
                    "cmyk.tif": saved(lambda: picture().convert("CMYK"), "TIFF")},
           note="CMYK, converted to RGB without", tolerance=3),
    *_many("CMYK with a colour profile",
           {"ink.tif": saved(lambda: Image.new("CMYK", (WIDTH, HEIGHT), (0, 0, 0, 128)), "TIFF",
                             icc_profile=ink_profile())},
           note="CMYK, converted to RGB with its", expected=lambda: np.full_like(rgb(), 118), tolerance=3),
    *_many("sRGB profile", {"srgb.png": saved(picture, "PNG", icc_profile=ImageCms.ImageCmsProfile(
        ImageCms.createProfile("sRGB")).tobytes())}, tolerance=0),
    *_many("wide-gamut profile", {"wide.png": saved(picture, "PNG", icc_profile=wide_gamut()),
                                  "wide.jpg": saved(picture, "JPEG", icc_profile=wide_gamut(), quality=98)},
           note="converted to sRGB by the embedded profile", expected=seen_in_wide_gamut, tolerance=2),
    *_many("damaged or foreign profile", {"broken profile.png": saved(picture, "PNG", icc_profile=b"no profile" * 30),
                                          "foreign profile.png": saved(picture, "PNG", icc_profile=ink_profile())},
           note="left aside", tolerance=0),
    *[odd for number in range(2, 9) for odd in _many(
        "EXIF orientation", {f"turned {number}.jpg": saved(turned(number), "JPEG", exif=_exif(number), quality=97),
                             f"turned {number}.png": saved(turned(number), "PNG", exif=_exif(number)),
                             f"turned {number}.webp": saved(turned(number), "WEBP", exif=_exif(number), lossless=True)},
        note=f"orientation {number}", tolerance=2)],
    *[odd for number in range(2, 9) for odd in _many(
        "EXIF orientation", {f"turned {number}.tif": saved(turned(number), "TIFF", tiffinfo={0x0112: number})})],
    *_many("EXIF orientation", {"turned 1.jpg": saved(picture, "JPEG", exif=_exif(1), quality=97),
                                "turned 9.jpg": saved(picture, "JPEG", exif=_exif(9), quality=97)}, tolerance=2),
    *_many("damaged EXIF", {"broken exif.jpg": holding(broken_exif)}, tolerance=2),
    *_many("odd file name", {name: saved(picture, "PNG") for name in (
        "two  spaces .png", "line\nbreak.png", "fox \N{FOX FACE} \N{CYRILLIC SMALL LETTER EF}.png", "-dash.png", "~.png",
        "quote'\"$(x)`%s{0}.png", "\x1b[31mred.png", os.fsdecode(b"not utf-8 \xff\xfe.png"), "n" * 251 + ".png")}),
]  # fmt: skip
"""All that can lie in a folder."""
