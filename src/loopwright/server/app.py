"""The application: its routes, and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from loopwright.errors import ConfigError
from loopwright.server.auth import Guard
from loopwright.server.context import Chat, Context
from loopwright.server.problems import ProblemBody, handle_problems
from loopwright.server.routes import assistant, health, memory
from loopwright.server.routes.health import StoreProbe
from loopwright.server.runs import RunLimits, Runs
from loopwright.workflows.assistant.pipeline import astream_chat
from loopwright.workflows.assistant.services import Services

ANYWHERE: dict[int | str, dict[str, Any]] = {status: {"model": ProblemBody} for status in (401, 413, 421, 422)}
"""What every endpoint may answer."""


def create_app(
    services: Services,
    *,
    token: str | None = None,
    cors: Sequence[str] = (),
    chat: Chat = astream_chat,
    limits: RunLimits | None = None,
) -> FastAPI:
    """Make the application.

    Args:
        services: The conference, the memory and the models; left open at the end.
        token: The bearer token that every request must carry; without one only requests addressed to localhost are
            answered.
        cors: The origins whose pages may use the server, for example ``https://conference.example``; none by default.
        chat: What answers a message; by default the conference assistant.
        limits: How much runs may hold.

    Returns:
        An ASGI application for one process and one event loop.

    Raises:
        ConfigError: If every origin is allowed and there is no token.
    """
    if "*" in cors and not token:
        raise ConfigError("cors is '*' and there is no token: any web page could use the server; name the origins")
    # The pages for people load their scripts from elsewhere, with this server's rights.
    app = FastAPI(title="Loopwright", docs_url=None, redoc_url=None, lifespan=_lifespan, responses=ANYWHERE)
    app.state.context = Context(services, chat, Runs(limits))
    app.state.probe = StoreProbe()
    for router in (assistant.router, memory.router, health.router):
        app.include_router(router)
    handle_problems(app)
    app.add_middleware(Guard, token=token)
    if cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(cors),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
            expose_headers=["X-Run-Id"],
        )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    yield
    await app.state.context.runs.close()
