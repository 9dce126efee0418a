"""What the routes of one application share."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from loopwright.runs.hub import RunHub
from loopwright.server.metrics import Metrics
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import Uploads

RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
"""What a run's id looks like."""


@dataclass(frozen=True)
class Context:
    """What the routes of one application share."""

    hub: RunHub
    """The runs."""
    settings: ServerSettings
    """How much the server takes."""
    uploads: Uploads
    """The files that clients gave."""
    metrics: Metrics
    """The figures."""


async def _here(request: Request) -> Context:
    # Asynchronous although it waits for nothing: FastAPI runs other functions in a thread.
    return request.app.state.context


Here = Annotated[Context, Depends(_here)]
"""The context as a parameter of a route."""
