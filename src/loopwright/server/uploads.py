"""Files that clients give: named by the server, their kind decided by what they hold.

Whether there is room for them is seen before a body is read, which is written to disk as it comes: a file of a form
lies in the folder for temporary files first, and then in the server's own.
"""

import asyncio
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, UploadFile
from starlette.types import ASGIApp, Receive, Scope, Send

from loopwright.config import Frozen
from loopwright.errors import ImageError
from loopwright.server.decoding import Decoder
from loopwright.server.layers import Layer
from loopwright.server.problems import CLOSE, Problem
from loopwright.server.settings import MEGABYTE, ServerSettings

_ID = re.compile(r"[0-9a-f]{32}")
_LONGEST_NAME = 200


class Upload(Frozen):
    """A file that a client gave."""

    id: str
    """Names it, in inputs of runs too."""
    name: str
    """What the client called it; for people alone."""
    content_type: str
    """Its kind, by its content."""
    bytes: int
    """Its size."""
    width: int | None = None
    """Pixels from left to right, of a picture."""
    height: int | None = None
    """Pixels from top to bottom, of a picture."""


class Uploads(Mapping[str, Path]):
    """A folder with the files that clients gave, made with the first one: id -> where the file lies."""

    def __init__(self, settings: ServerSettings) -> None:
        self.folder = settings.data / "uploads"
        """Where they lie."""
        self._settings = settings
        self._decoder = Decoder(settings.upload_pixels, settings.decoding_seconds, settings.decoding_bytes)

    async def keep(self, given: UploadFile) -> Upload:
        """Keep a picture, a PDF or a text.

        Raises:
            ImageError: If it is empty, of no kind that is taken, or a picture that cannot be decoded within the limits.
            HTTPException: If it is too large.
        """
        id = uuid.uuid4().hex
        path = self.folder / id
        try:
            size, name = await write_file(given, path, self._settings.upload_bytes), shown_name(given.filename)
            if not size:
                raise ImageError(f"{name} is empty")
            kind = await asyncio.to_thread(_written_kind, path)
            told: dict[str, Any] = {"content_type": kind} if kind else await self._decoder.look(path)
            kept = Upload(id=id, name=name, bytes=size, **told)
            await asyncio.to_thread(self._note(id).write_text, kept.model_dump_json(), "utf-8")
        except BaseException:
            self.delete(id)
            raise
        return kept

    def find(self, id: str) -> tuple[Upload, Path]:
        """A file, and where it lies.

        Raises:
            HTTPException: With status 404, if there is none.
        """
        path = self.get(id)
        if path is None:
            told = f"there is no uploaded file {id[:80]!r}: upload it again"
            raise Problem(told, "UnknownUpload", status=404)
        return Upload.model_validate_json(self._note(id).read_text("utf-8")), path

    def __getitem__(self, id: str) -> Path:
        path = self.folder / id
        # The pattern keeps everything that could be a path out.
        if not _ID.fullmatch(id) or not path.is_file():
            raise KeyError(id)
        return path

    def __iter__(self) -> Iterator[str]:
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return (name for name in names if _ID.fullmatch(name))

    def __len__(self) -> int:
        return sum(1 for _id in self)

    def delete(self, id: str) -> None:
        """Forget a file."""
        self._note(id).unlink(missing_ok=True)
        (self.folder / id).unlink(missing_ok=True)

    def _note(self, id: str) -> Path:
        return self.folder / f"{id}.json"


def shown_name(name: str | None) -> str:
    """A client's name of a file, fit for people's eyes: no folders, no control characters."""
    last = re.split(r"[/\\]", name or "")[-1]
    return "".join(character for character in last if character.isprintable())[-_LONGEST_NAME:] or "unnamed"


async def write_file(given: UploadFile, path: Path, most: int) -> int:
    """Write a file of so many bytes at most that came with a request; its size in bytes.

    Raises:
        HTTPException: With status 413, if it is larger.
    """
    size = 0
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    with path.open("wb") as file:
        while piece := await given.read(MEGABYTE):
            size += len(piece)
            if size > most:
                told = f"{shown_name(given.filename)} is larger than {most} bytes, which is the limit for a file"
                raise Problem(told, "RequestTooLarge", status=413)
            await asyncio.to_thread(file.write, piece)
    return size


def _written_kind(path: Path) -> str | None:
    """The kind of a file that is no picture, or None."""
    with path.open("rb") as file:
        if file.read(5) == b"%PDF-":
            return "application/pdf"
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return None
    return "text/plain" if "\0" not in text else None


class RoomForFiles(Layer):
    """Refuses requests with files for which there is no room.

    There is none on the disk or within what may be kept (507), or beside those that are arriving already (503).
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        super().__init__(app)
        self._settings = settings
        self._arriving = 0

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it."""
        if scope["method"] != "POST" or self._settings.body_bytes(scope["path"]) <= self._settings.request_bytes:
            await self.app(scope, receive, send)
            return
        others, size = self._arriving, self._expected(scope)
        if others and others + size > self._settings.arriving_bytes:
            told = f"{others} bytes of files are arriving already: send these when they are done"
            await Problem(told, "Busy", True, 503, {"Retry-After": "5"} | CLOSE).response(scope, receive, send)
            return
        self._arriving += size
        try:
            problem = await asyncio.to_thread(self._no_room, size, others)
            await (problem.response if problem else self.app)(scope, receive, send)
        finally:
            self._arriving -= size

    def _expected(self, scope: Scope) -> int:
        """Bytes that the body may have; a body that does not say how long it is may have the most that is taken."""
        most = self._settings.body_bytes(scope["path"])
        length = Headers(scope=scope).get("content-length", "")
        return min(int(length[:20]), most) if length.isascii() and length.isdigit() else most

    def _no_room(self, size: int, others: int) -> Problem | None:
        settings = self._settings
        kept = _kept_bytes(settings.data)
        if kept >= settings.kept_bytes or (others and kept + others >= settings.kept_bytes):
            told = (
                f"{settings.kept_bytes} bytes of files are kept, which is the limit: delete runs, or files in "
                f"{settings.data.resolve().name}/documents on the server, that you do not need"
            )
            return Problem(told, "NoRoom", status=507, headers=CLOSE)
        wanted = (settings.data.absolute(), Path(tempfile.gettempdir()).absolute())
        folders = [next(there for there in (folder, *folder.parents) if there.exists()) for folder in wanted]
        copies = Counter(os.stat(folder).st_dev for folder in folders)
        for folder in folders:
            needed = copies[os.stat(folder).st_dev] * (size + others) + settings.free_bytes
            if shutil.disk_usage(folder).free < needed:
                told = f"the server's disk has no room for {size} bytes more: make room there, or send smaller files"
                return Problem(told, "NoRoom", status=507, headers=CLOSE)
        return None


def _kept_bytes(data: Path) -> int:
    files = (path for folder in ("uploads", "documents") for path in (data / folder).rglob("*"))
    total = 0
    for path in files:
        with suppress(FileNotFoundError):  # deleted in between
            found = path.stat()
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total
