"""Figures for Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from loopwright.server.context import Here

router = APIRouter(tags=["health"])

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", operation_id="get_metrics", response_class=Response, responses=TEXT)
async def metrics(context: Here) -> Response:
    """What runs did and the server was asked, since it was started, as figures for Prometheus."""
    return Response(context.metrics.text(), media_type=CONTENT_TYPE_LATEST)
