"""Room for the files that clients give, looked at before a request's body is read.

The body is written to disk as it comes: a file of a form lies in the folder for temporary files first, and then in the
server's own.
"""

import asyncio
import os
import shutil
import stat
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from loopwright.server.layers import Layer
from loopwright.server.problems import CLOSE, Problem
from loopwright.server.settings import ServerSettings


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
