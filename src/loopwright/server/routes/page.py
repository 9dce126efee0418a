"""The page for developers: files that were built into the package, and nothing else of the disk."""

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from loopwright.server.problems import Problem

mimetypes.add_type("text/javascript", ".js")  # as the standard has it, whatever this system says

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
<p>The server works; its page was not built. In the repository: run <code>scripts/build_devtools</code>, install again
if you installed from there (<code>pip install ".[server]"</code>), and start the server again.</p>
<p>What it can do stands in <a href="/openapi.json">/openapi.json</a>.</p>
</body>
</html>
"""


def page_router(folder: Path = BUILT) -> APIRouter:
    """The routes of the page."""
    own = StaticFiles(directory=folder, check_dir=False)
    assets = StaticFiles(directory=folder / "assets", check_dir=False)
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        """The page."""
        if not (folder / "index.html").is_file():
            return _safe(HTMLResponse(UNBUILT), "no-cache")
        return _safe(await own.get_response("index.html", request.scope), "no-cache")

    @router.api_route("/assets/{name:path}", methods=["GET", "HEAD"])
    async def asset(name: str, request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A file that the page uses; its name changes with its content."""
        try:
            return _safe(await assets.get_response(name, request.scope), "public, max-age=31536000, immutable")
        except (HTTPException, ValueError):
            raise Problem("the page has no such file: load it again", "NotFound", status=404) from None

    return router


def _safe(response: Response, kept: str) -> Response:
    response.headers.update(
        {"Cache-Control": kept, "Content-Security-Policy": POLICY, "Cross-Origin-Opener-Policy": "same-origin"}
    )
    return response
