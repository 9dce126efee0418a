"""The page for developers: files that were built into the package, and nothing else of the disk."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, Request, Response

from loopwright.server.problems import Problem

BUILT = Path(__file__).parent.parent / "static"
"""Where the build of the page lies."""
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What the page may do. The editor and the graph write styles into the page, which cannot run anything."""
UNBUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Loopwright</title></head>
<body>
<h1>Loopwright</h1>
<p>The server works; its page was not built. In the repository: run <code>scripts/build_devtools</code>, and start the
server again.</p>
<p>What it can do stands in <a href="/openapi.json">/openapi.json</a>.</p>
</body>
</html>
"""


@dataclass(frozen=True)
class PageFile:
    """One file of the page."""

    content: bytes
    """What it holds."""
    media_type: str
    """Its kind."""
    hashed: bool
    """Whether its name changes with its content."""

    @cached_property
    def etag(self) -> str:
        """Names its content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    def response(self, request: Request) -> Response:
        """It as a reply.

        Args:
            request: Who asks, and what that client has and takes.
        """
        headers = {
            "ETag": self.etag,
            "Cache-Control": "public, max-age=31536000, immutable" if self.hashed else "no-cache",
            "Content-Security-Policy": POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def page_router(folder: Path = BUILT) -> APIRouter:
    """The routes of the page.

    Args:
        folder: The build; read here once, so that no request names a file of the disk.
    """
    files = _files(folder)
    index = files.get("index.html") or PageFile(UNBUILT.encode(), "text/html", hashed=False)
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The page."""
        return index.response(request)

    @router.get("/assets/{name:path}")
    async def asset(name: str, request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A file that the page uses."""
        found = files.get(f"assets/{name}")
        if found is None:
            raise Problem("the page has no such file: load it again", "NotFound", status=404).exception
        return found.response(request)

    return router


def _files(folder: Path) -> dict[str, PageFile]:
    """Name within the build -> file."""
    found: dict[str, PageFile] = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(folder).as_posix()
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            kind = "text/javascript" if kind.endswith("javascript") else kind
            found[name] = PageFile(path.read_bytes(), kind, hashed=name.startswith("assets/"))
    return found
