"""Whether the server is up, whether it can answer, and its figures."""

import asyncio
import logging
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from loopwright.errors import StoreError
from loopwright.server.context import Context, Here
from loopwright.server.problems import PROBLEM, Problem

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that the store has to answer."""

router = APIRouter(tags=["health"])

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


class Live(BaseModel):
    """The server takes requests."""

    status: Literal["live"] = "live"
    """That it does."""


class Ready(BaseModel):
    """The server can answer questions."""

    status: Literal["ready"] = "ready"
    """That it can."""
    documents: int | None = None
    """How many documents the workflows answer from that need some."""


class StoreProbe:
    """Looks at the stores, one look at a time: a store that hangs must not tie up a thread with each probe."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._look: asyncio.Task[int | None] | None = None

    async def documents(self, context: Context) -> int | None:
        """How many documents there are now, or None where no workflow needs any.

        Raises:
            StoreError: If a store cannot be opened or read, or does not answer in time.
        """
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(asyncio.to_thread(_documents, context))
            # What a look brings after its probe has given up is asked for here, so that asyncio does not complain.
            self._look.add_done_callback(lambda look: look.cancelled() or look.exception())
        _done, slow = await asyncio.wait({self._look}, timeout=self._patience)
        if slow:
            raise StoreError(f"it does not answer within {self._patience:g} s", transient=True)
        return self._look.result()


def _documents(context: Context) -> int | None:
    context.hub.store.get("")  # to count all runs takes as long as there are many
    held = [count for hosted in context.hub.workflows.values() if (count := hosted.holds()) is not None]
    return 0 if 0 in held else sum(held) if held else None


@router.head("/health/live", include_in_schema=False)
@router.get("/health/live", operation_id="is_live")
async def live() -> Live:
    """Say that the server takes requests; looks at nothing else."""
    return Live()


@router.head("/health/ready", include_in_schema=False)
@router.get("/health/ready", operation_id="is_ready", response_model_exclude_none=True, responses={503: PROBLEM})
async def ready(context: Here, request: Request) -> Ready:
    """Look at the run history and the documents, and say whether runs can begin."""
    probe: StoreProbe = request.app.state.probe
    try:
        documents = await probe.documents(context)
    except StoreError as error:
        # No token is asked for here, and where the store lies is not for everyone.
        logger.warning("not ready: the store cannot be used: %s", error)
        told = "the store cannot be used: the server's log says why"
        raise Problem(told, "StoreError", can_retry=True, status=503).exception from error
    if documents == 0:
        told = "the store holds nothing: ingest documents first"
        raise Problem(told, "NothingIngested", can_retry=True, status=503).exception
    return Ready(documents=documents)


@router.get("/metrics", operation_id="get_metrics", response_class=Response, responses=TEXT)
async def metrics(context: Here) -> Response:
    """What runs did since the server was started, and how many there are now, as figures for Prometheus."""
    under_way = await context.hub.store.aside(context.hub.store.under_way)
    return Response(context.metrics.text(context.hub.workflows, under_way), media_type=CONTENT_TYPE_LATEST)
