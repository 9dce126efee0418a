"""The application: its routes, and what stands before them."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware

import loopwright
from loopwright.engine.events.schema import RunEvent
from loopwright.errors import ConfigError
from loopwright.runs.hub import RunHub
from loopwright.server.agent_api import routes as agent_api
from loopwright.server.agent_api.threads import Threads
from loopwright.server.auth import Guard, RateLimit, usable_token
from loopwright.server.context import Context
from loopwright.server.described import describe
from loopwright.server.layers import AnswerUnforeseen, SafeHeaders, Versioned
from loopwright.server.metrics import Metrics
from loopwright.server.problems import PROBLEM, ProblemBody, handle_problems
from loopwright.server.routes import health, models, prompts, runs, uploads, workflows
from loopwright.server.routes.page import page_router
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import RoomForFiles, Uploads

COMPRESSED = 4096
"""Bytes of a reply from which on it is compressed."""
ANYWHERE: dict[int | str, dict[str, Any]] = {
    status: PROBLEM for status in (400, 401, 403, 408, 413, 421, 422, 429, 500, 503)
}
"""What every endpoint may answer."""
ORIGIN = re.compile(r"\*|null|(?!https://[^/]*:443$|http://[^/]*:80$)[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]+")
"""What a browser can send as the origin of a page; or all of them."""
EVERYWHERE = (
    workflows.router, agent_api.router, runs.router, runs.comparison, prompts.router, models.router, uploads.router,
    health.router,
)  # fmt: skip
"""The routes that every server has."""


def create_app(
    hub: RunHub,
    *,
    token: str | None = None,
    cors: Sequence[str] = (),
    settings: ServerSettings | None = None,
    counted: Metrics | None = None,
) -> FastAPI:
    """Make the application. Workflows may have routes of their own, imported where they are served.

    Args:
        hub: The runs; the server opens and closes them, see `loopwright.server.serving.Server`.
        token: The bearer token that every request must carry; without one only requests addressed to localhost are
            answered.
        cors: The origins whose pages may use the server, for example ``https://conference.example``; none by default.
        settings: How much the server takes, and from whom how often.
        counted: What the hub's store tells of what it keeps; see `RunStore.told`.

    Returns:
        An ASGI application for one process and one event loop.

    Raises:
        ConfigError: If every origin is allowed and there is no token, or no request could carry the token or an origin.
    """
    token = usable_token(token)
    if wrong := next((each for each in cors if not ORIGIN.fullmatch(each)), None):
        told = "in lower case, with a port only where it is not the usual one, and nothing behind it"
        raise ConfigError(f"cors {wrong!r} is no origin as browsers send it: give https://HOST, {told}")
    if "*" in cors and not token:
        raise ConfigError("cors is '*' and there is no token: any web page could use the server; name the origins")
    settings, counted = (settings or ServerSettings()).taking_files_of(hub.workflows.values()), counted or Metrics()
    # The pages for people load their scripts from elsewhere, with this server's rights.
    app = FastAPI(
        title="Loopwright", version=loopwright.__version__, docs_url=None, redoc_url=None, openapi_url=None,
        responses=ANYWHERE, redirect_slashes=False,
    )  # fmt: skip
    app.state.context = Context(hub, settings, Uploads(settings), counted)
    # A store that hangs is not to tie up a thread with each probe.
    app.state.probe, app.state.agent_threads = ThreadPoolExecutor(1, "probe"), Threads(app.state.context)
    for router in EVERYWHERE:
        app.include_router(router)
    describe(app, {"ProblemBody": ProblemBody, "RunEvent": RunEvent} | _include_own(app, hub))
    app.include_router(page_router())
    handle_problems(app)
    app.add_middleware(RoomForFiles, settings=settings)
    app.add_middleware(AnswerUnforeseen)
    app.add_middleware(Guard, token=token, origins=cors, settings=settings)
    app.add_middleware(RateLimit, token=token, settings=settings)
    app.add_middleware(SafeHeaders)
    if cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(cors),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["X-Run-Id", "Retry-After", "Content-Disposition", "Content-Location"],
        )
    # Streams of events are left as they are.
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED, compresslevel=3)
    app.add_middleware(Versioned)
    return app


def _include_own(app: FastAPI, hub: RunHub) -> dict[str, Any]:
    """Include the routes that workflows have of their own, and give the schemas of their events.

    What is not served is not imported: its packages may not be installed.
    """
    for place in dict.fromkeys(hosted.routes for hosted in hub.workflows.values() if hosted.routes):
        app.include_router(EntryPoint("routes", place, "").load())
    return {name: kind for hosted in hub.workflows.values() for name, kind in hosted.schemas.items()}
