"""What the routes of one application share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from loopwright.server.runs import Runs, StreamedEvent
from loopwright.workflows.assistant.services import Services


class Chat(Protocol):
    """Answers one message; `loopwright.workflows.assistant.pipeline.astream_chat` does."""

    def __call__(
        self, message: str, *, user_context: dict[str, Any] | None, services: Services, run_id: str | None
    ) -> AsyncIterator[StreamedEvent]:
        """Yield what a client sees, as it happens."""
        ...


@dataclass(frozen=True)
class Context:
    """What the routes of one application share."""

    services: Services
    """The conference, the memory and the models."""
    chat: Chat
    """Answers one message."""
    runs: Runs = field(default_factory=Runs)
    """The runs that go on, and those that ended a short while ago."""


def context_of(request: Request) -> Context:
    """The context of the application that a request is for.

    Args:
        request: The request.
    """
    return request.app.state.context


async def _here(request: Request) -> Context:
    # Asynchronous although it waits for nothing: FastAPI runs other functions in a thread.
    return context_of(request)


Here = Annotated[Context, Depends(_here)]
"""The context as a parameter of a route."""
