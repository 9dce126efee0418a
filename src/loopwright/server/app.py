"""The application: its routes, and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

import loopwright
from loopwright.engine.events import RunEvent
from loopwright.errors import ConfigError
from loopwright.runs.hub import RunHub
from loopwright.server.auth import Guard, usable_token
from loopwright.server.context import Context
from loopwright.server.described import describe
from loopwright.server.head import HeadAsGet
from loopwright.server.headers import SafeHeaders
from loopwright.server.metrics import CountRequests, Metrics
from loopwright.server.problems import PROBLEM, AnswerUnforeseen, ProblemBody, handle_problems
from loopwright.server.rates import RateLimit
from loopwright.server.room import RoomForFiles
from loopwright.server.routes import comparing, health, iqa, metrics, models, prompts, runs, uploads, workflows
from loopwright.server.routes.health import StoreProbe
from loopwright.server.routes.page import page_router
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import Uploads

if TYPE_CHECKING:
    from loopwright.workflows.assistant.services import Services as AssistantServices
    from loopwright.workflows.rag.services import Services as RagServices

ANYWHERE: dict[int | str, dict[str, Any]] = {
    status: PROBLEM for status in (400, 401, 403, 408, 413, 421, 422, 429, 500, 503)
}
"""What every endpoint may answer."""
EVERYWHERE = (workflows, runs, comparing, prompts, models, uploads, metrics, health)
"""The routes that every server has."""


def create_app(
    hub: RunHub,
    *,
    token: str | None = None,
    cors: Sequence[str] = (),
    assistant: AssistantServices | None = None,
    rag: RagServices | None = None,
    settings: ServerSettings | None = None,
    counted: Metrics | None = None,
) -> FastAPI:
    """Make the application. The workflows that come with the package have routes of their own where they are served.

    Args:
        hub: The runs; opened at the start, and closed at the end.
        token: The bearer token that every request must carry; without one only requests addressed to localhost are
            answered.
        cors: The origins whose pages may use the server, for example ``https://conference.example``; none by default.
        assistant: The services of the assistant, if it is served; left open at the end.
        rag: The services of the questions about documents, if they are served; left open at the end.
        settings: How much the server takes, and from whom how often.
        counted: Where the hub's store counts what runs do; see `loopwright.server.counting`.

    Returns:
        An ASGI application for one process and one event loop.

    Raises:
        ConfigError: If every origin is allowed and there is no token, or no request could carry the token.
    """
    token = usable_token(token)
    if "*" in cors and not token:
        raise ConfigError("cors is '*' and there is no token: any web page could use the server; name the origins")
    settings, counted = settings or ServerSettings(), counted or Metrics()
    # The pages for people load their scripts from elsewhere, with this server's rights.
    app = FastAPI(
        title="Loopwright", version=loopwright.__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=_lifespan, responses=ANYWHERE,
    )  # fmt: skip
    app.state.context = Context(hub, settings, Uploads(settings), counted, assistant, rag, _samples(hub))
    app.state.probe = StoreProbe()
    for module in EVERYWHERE:
        app.include_router(module.router)
    describe(app, {"ProblemBody": ProblemBody, "RunEvent": RunEvent} | _include_own(app, hub))
    app.include_router(page_router())
    handle_problems(app)
    app.add_middleware(HeadAsGet)
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
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
            expose_headers=["X-Run-Id", "Retry-After", "Content-Disposition"],
        )
    app.add_middleware(CountRequests, metrics=counted)
    return app


def _samples(hub: RunHub) -> dict[str, Path]:
    if "iqa" not in hub.workflows:
        return {}
    from loopwright.workflows.iqa.sample import FILES, PREFIX, sample_path

    return {f"{PREFIX}{name}": sample_path(name) for name in FILES}


def _include_own(app: FastAPI, hub: RunHub) -> dict[str, Any]:
    """Include the routes of the package's workflows, and give the schemas of their events.

    What is not served is not imported: its packages may not be installed.
    """
    if "iqa" in hub.workflows:
        app.include_router(iqa.router)
    if "rag" in hub.workflows:
        from loopwright.server.routes import rag

        app.include_router(rag.router)
    if "assistant" not in hub.workflows:
        return {}
    from loopwright.server.routes import assistant, memory
    from loopwright.workflows.assistant.events import ChatEvent

    app.include_router(assistant.router)
    app.include_router(memory.router)
    return {"ChatEvent": ChatEvent}


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    hub: RunHub = app.state.context.hub
    await hub.open()
    yield
    await hub.close()
