"""Decodes a picture in a process of its own, which may do little else; run as a script, it is that process.

A decoder reads bytes that somebody else made, in C. Here it has bounded memory, time and files, hardly an environment
and no path, and the server learns nothing from it but a line of JSON.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""Pillow's names of the formats that are decoded."""
KINDS = ", ".join(FORMATS)
"""They in words."""
AT_ONCE = 2
"""Pictures that are decoded at the same time."""


class Decoder:
    """Looks at pictures in processes of their own, each with so much wall time and so many bytes of address space."""

    def __init__(self, pixels: int, seconds: float, memory: int) -> None:
        self._pixels = pixels
        self._seconds = seconds
        self._memory = memory
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def look(self, path: Path) -> dict[str, Any]:
        """Decode a picture wholly, and say what it is.

        Returns:
            Its media type by its content, ``content_type``, and its pixels as stored, ``width`` and ``height``.

        Raises:
            ImageError: If it is none, is damaged or too large, or takes too much time or memory.
        """
        from loopwright.errors import ImageError

        async with self._turn:
            said = await self._asked(path)
        if said is None:
            raise ImageError("the picture takes too much time or memory to decode; give a smaller or an intact one")
        if "error" in said:
            raise ImageError(said["error"])
        return said

    async def _asked(self, path: Path) -> dict[str, Any] | None:
        limits = [str(self._pixels), str(max(1, round(self._seconds))), str(self._memory)]
        with path.open("rb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-B", __file__, *limits,
                stdin=file, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd="/",
                env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},  # Windows needs it
            )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                said, _nothing = await process.communicate()
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return json.loads(said) if process.returncode == 0 else None


def _confine(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:
        return  # Windows knows no such limits; the time limit from outside holds there too.
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _described(file: BinaryIO, pixels: int) -> dict[str, Any]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        return {"error": "this server takes no pictures: install Pillow beside it"}
    Image.MAX_IMAGE_PIXELS = None
    try:
        image = Image.open(file, formats=FORMATS)
        if image.width * image.height > pixels:
            size = f"{image.width} x {image.height}"
            return {"error": f"the picture has {size} pixels; at most {pixels} in all are decoded"}
        image.load()
    except MemoryError:
        raise
    except UnidentifiedImageError:
        return {"error": f"this is no picture ({KINDS}), no PDF and no text in UTF-8: give an intact one"}
    except Exception as error:
        return {"error": f"this is no picture that can be read ({type(error).__name__}); give an intact {KINDS} file"}
    # A JPEG with further pictures behind the first one, as cameras and phones write it, is an MPO to Pillow.
    kind = "JPEG" if image.format == "MPO" else image.format or ""
    return {"content_type": Image.MIME[kind], "width": image.width, "height": image.height}


def main() -> None:
    """Describe the picture on standard input, within the limits that the arguments name, in one line of JSON."""
    pixels, seconds, memory = map(int, sys.argv[1:])
    _confine(seconds, memory)
    print(json.dumps(_described(sys.stdin.buffer, pixels)))


if __name__ == "__main__":
    main()
