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
    looking = asyncio.get_running_loop().run_in_executor(request.app.state.probe, _documents, context)
    try:
        documents = await asyncio.wait_for(looking, PATIENCE)
    except (StoreError, TimeoutError) as error:
        # No token is asked for here, and where the store lies is not for everyone.
        logger.warning("not ready: the store cannot be used: %s", str(error) or f"no answer within {PATIENCE:g} s")
        told = "the store cannot be used: the server's log says why"
        raise Problem(told, "StoreError", can_retry=True, status=503) from error
    if documents == 0:
        told = "the store holds nothing: ingest documents first"
        raise Problem(told, "NothingIngested", can_retry=True, status=503)
    return Ready(documents=documents)


@router.get("/metrics", operation_id="get_metrics", response_class=Response, responses=TEXT)
async def metrics(context: Here) -> Response:
    """What runs did since the server was started, and how many there are now, as figures for Prometheus."""
    under_way = await context.hub.store.aside(context.hub.store.under_way)
    return Response(context.metrics.text(context.hub.workflows, under_way), media_type=CONTENT_TYPE_LATEST)
