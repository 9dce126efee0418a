"""Where every run begins that a client asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from loopwright.models.registry import DEFAULT
from loopwright.runs.live import LiveRun
from loopwright.server.context import Context, refuse_when_busy
from loopwright.workflows.hosting import Hosted, RunChanges


async def begin(
    context: Context,
    workflow: str,
    given: Mapping[str, Any],
    *,
    changes: RunChanges | None = None,
) -> LiveRun:
    """Begin a run, with the models that people chose unless it asks for others.

    Args:
        context: Knows the runs.
        workflow: The workflow.
        given: Its input.
        changes: What it does otherwise.

    Raises:
        InputError: If the input or a change is unusable.
        HTTPException: With status 404 if the workflow is not served, 503 if no run can begin now.
    """
    hosted = context.workflow(workflow)
    refuse_when_busy(context)
    changes = changes or RunChanges()
    models = await asyncio.to_thread(chosen_models, context, hosted) | changes.models
    return await context.hub.start(
        workflow, given, changes=changes.model_copy(update={"models": models}), uploads=context.uploads
    )


def chosen_models(context: Context, hosted: Hosted) -> dict[str, str | None]:
    """Node -> the chat model that people chose for it; a node that the workflow has no more is left out.

    Args:
        context: Knows the run history.
        hosted: The workflow.
    """
    if hosted.models is None:
        return {}
    kept = context.hub.store.assignments(hosted.name)
    return {node: model for node, model in kept.items() if node in (*hosted.model_nodes, DEFAULT)}
