"""Damaged image files by seed, and a child process that loads them under limits of memory and time.

As a program: ``fuzzed_images.py FIRST COUNT``. It writes a line with the number of each file before it is loaded, so
that whoever started it knows over which one it died, and a line of JSON at the end.
"""

import io
import json
import random
import re
import resource
import signal
import struct
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageCms

MEMORY_BYTES = 3_000_000_000
"""Address space that the child may take; the libraries themselves map about one of these gigabytes."""

DEADLINE_S = 20
"""Seconds for one file, after which the kernel ends the child."""

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)


@cache
def whole_files() -> dict[str, bytes]:
    """Name -> a small undamaged file; each decoder's main kinds."""
    rng = np.random.default_rng(7)
    rgb = cv2.resize(rng.integers(0, 256, (12, 16, 3)).astype(np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)
    picture = Image.fromarray(rgb)
    alpha = Image.fromarray(np.dstack([rgb, rgb[..., 0]]))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "a camera" * 4
    frames = [picture.rotate(90 * turn) for turn in (1, 2)]
    files: dict[str, bytes] = {}

    def add(name: str, image: Image.Image, kind: str, **options: Any) -> None:
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        files[name] = buffer.getvalue()

    add("jpeg", picture, "JPEG", exif=exif, icc_profile=profile)
    add("jpeg progressive", picture, "JPEG", progressive=True, quality=40)
    add("jpeg grey", picture.convert("L"), "JPEG", restart_marker_blocks=4)
    add("jpeg cmyk", picture.convert("CMYK"), "JPEG")
    add("png", picture, "PNG", exif=exif, icc_profile=profile)
    add("png palette", picture.quantize(16), "PNG", transparency=3)
    add("png alpha", alpha, "PNG")
    add("png grey alpha", alpha.convert("LA"), "PNG")
    add("png animated", picture, "PNG", save_all=True, append_images=frames)
    add("webp", picture, "WEBP", quality=60, exif=exif)
    add("webp lossless", alpha, "WEBP", lossless=True, icc_profile=profile)
    add("webp animated", picture, "WEBP", save_all=True, append_images=frames)
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits"):
        add(f"tiff {compression}", picture, "TIFF", compression=compression)
    add("tiff pages", picture, "TIFF", save_all=True, append_images=frames, compression="tiff_lzw")
    add("tiff big", picture, "TIFF", big_tiff=True)
    add("tiff cmyk", picture.convert("CMYK"), "TIFF", compression="tiff_lzw")
    add("tiff 1 bit", picture.convert("1"), "TIFF", compression="group4")
    add("tiff float", picture.convert("F"), "TIFF")
    add("gif", picture, "GIF", save_all=True, append_images=frames)
    add("bmp", picture, "BMP")
    add("bmp palette", picture.quantize(16), "BMP")
    deep = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR).astype(np.uint16) * 257
    for name, ending, values in (
        ("png 16 bit", ".png", deep), ("png 16 bit grey", ".png", deep[..., 0]), ("tiff 16 bit", ".tiff", deep),
        ("tiff 16 bit alpha", ".tiff", np.dstack([deep, deep[..., 0]])),
    ):  # fmt: skip
        files[name] = cv2.imencode(ending, values)[1].tobytes()
    return files


def damaged(number: int) -> tuple[str, bytes]:
    """The damaged file of a number, always the same: what was done to which file, and the bytes."""
    rng = random.Random(number)
    name = rng.choice(sorted(whole_files()))
    content = bytearray(whole_files()[name])
    done = [name]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        mutate = rng.choice(_MUTATIONS)
        content = mutate(content, rng)
        done.append(mutate.__name__.strip("_"))
        if len(content) < 2:
            break
    return ", ".join(done), bytes(content)


def _flip_bits(content: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice((1, 2, 8, 40))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def _damage_header(content: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.choice((1, 2, 4))):
        content[rng.randrange(min(len(content), 200))] = rng.choice((*_INTERESTING, rng.randrange(256)))
    return content


def _set_number(content: bytearray, rng: random.Random) -> bytearray:
    """Put a large or odd number where a size, a count or an offset may stand."""
    kind = rng.choice((">H", "<H", ">I", "<I"))
    most = 256 ** struct.calcsize(kind) - 1
    value = rng.choice((0, 1, most, most // 2, most - 1, 9_000, 20_000, rng.randint(0, most))) % (most + 1)
    if len(content) > 8:
        struct.pack_into(kind, content, rng.randrange(min(len(content) - 4, 400)), value)
    return content


def _cut(content: bytearray, rng: random.Random) -> bytearray:
    return content[: rng.randrange(1, len(content))]


def _remove(content: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(content))
    del content[start : start + rng.choice((1, 4, 16, 200))]
    return content or bytearray(b"\0")


def _insert(content: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(content))
    content[start:start] = rng.randbytes(rng.choice((1, 4, 16, 200)))
    return content


def _swap(content: bytearray, rng: random.Random) -> bytearray:
    """Exchange two parts: in PNG and WebP files two chunks, where there are any."""
    marks = [at for mark in (b"IDAT", b"IHDR", b"PLTE", b"tRNS", b"fcTL", b"VP8 ", b"VP8L", b"ANMF", b"\xff\xc4",
             b"\xff\xda", b"\xff\xdb") if (at := content.find(mark)) > 4]  # fmt: skip
    first, second = sorted(rng.sample(marks, 2) if len(marks) > 1 else (rng.randrange(len(content)) for _ in "ab"))
    size = rng.choice((4, 12, 40))
    one, two = content[first : first + size], content[second : second + size]
    content[second : second + size], content[first : first + size] = one, two
    return content


def _splice(content: bytearray, rng: random.Random) -> bytearray:
    """The beginning of this file and the end of another."""
    other = whole_files()[rng.choice(sorted(whole_files()))]
    return content[: rng.randrange(1, len(content))] + other[rng.randrange(len(other)) :]


def _repeat(content: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(content))
    content[start:start] = content[start : start + rng.choice((8, 64, 500))] * rng.choice((2, 20))
    return content


_MUTATIONS: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    _flip_bits, _damage_header, _set_number, _set_number, _cut, _remove, _insert, _swap, _splice, _repeat,
)  # fmt: skip


def _load_all(first: int, count: int) -> None:
    import warnings

    from loopwright.errors import ImageError
    from loopwright.workflows.iqa.sources.images import load_image

    warnings.simplefilter("ignore")
    cv2.setNumThreads(1)
    loaded = refused = 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged"
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        for number in range(first, first + count):
            what, content = damaged(number)
            path.write_bytes(content)
            print(number, flush=True)
            signal.alarm(DEADLINE_S)
            try:
                image = load_image(path)
            except ImageError as error:
                refused += 1
                if "\n" in str(error) or str(path) not in str(error):
                    wrong.append(f"{number} ({what}): {error}")
            except BaseException as error:
                wrong.append(f"{number} ({what}): {type(error).__name__}: {error}")
            else:
                loaded += 1
                if image.rgb.dtype != np.uint8 or image.rgb.ndim != 3 or image.rgb.shape[2] != 3:
                    wrong.append(f"{number} ({what}): an array of {image.rgb.dtype}, {image.rgb.shape}")
            signal.alarm(0)
    # Not that of `getrusage`: a new process starts with the peak of the one that started it.
    status = Path("/proc/self/status").read_text(encoding="ascii") if Path("/proc/self/status").exists() else ""
    high = re.search(r"VmHWM:\s+(\d+) kB", status)
    peak = int(high[1]) * 1024 if high else 0
    print(json.dumps({"loaded": loaded, "refused": refused, "wrong": wrong, "peak_bytes": peak}))


if __name__ == "__main__":
    _load_all(int(sys.argv[1]), int(sys.argv[2]))
