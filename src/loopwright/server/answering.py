"""Where every run begins that a client asks for; and a run as one reply, for clients that do not follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from loopwright.models.registry import DEFAULT
from loopwright.runs.live import LiveRun
from loopwright.runs.schemas import RunRecord
from loopwright.server.context import Context, refuse_when_busy
from loopwright.server.problems import Problem, status_of
from loopwright.workflows.api import Outcome, RunChanges, Workflow


class WorkflowAnswer(BaseModel):
    """The outcome of a run."""

    run_id: str
    """Names the run."""
    outcome: Outcome
    """How it ended."""
    stop_reason: str | None
    """The loop or budget whose bound was reached, or null."""
    seconds: float | None
    """Wall time."""
    model_calls: int
    """Calls of chat models."""
    tokens: int
    """Tokens of these calls, in and out."""
    cost: float | None
    """Their price in US dollars; null if it is not known."""


async def begin(
    context: Context,
    workflow: str,
    given: Mapping[str, Any],
    *,
    changes: RunChanges | None = None,
) -> LiveRun:
    """Begin a run, with the models that people chose unless it asks for others.

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


def chosen_models(context: Context, hosted: Workflow) -> dict[str, str | None]:
    """Node -> the chat model that people chose for it; a node that the workflow has no more is left out."""
    if hosted.models is None:
        return {}
    kept = context.hub.store.assignments(hosted.name)
    return {node: model for node, model in kept.items() if node in (*hosted.model_nodes, DEFAULT)}


async def answer_with(context: Context, workflow: str, given: Mapping[str, Any]) -> WorkflowAnswer:
    """Run a workflow, and answer with what came out; the run goes on when the client leaves.

    Raises:
        InputError: If the input is unusable.
        HTTPException: With status 404 if the workflow is not served; else if the run ended without an outcome.
    """
    run = await begin(context, workflow, given)
    record = await run.wait()
    if record.status != "finished" or record.outcome is None:
        raise failure_of(record).exception
    return WorkflowAnswer(
        run_id=record.id,
        outcome=record.outcome,
        stop_reason=record.stop_reason,
        seconds=record.seconds,
        model_calls=record.model_calls,
        tokens=record.tokens,
        cost=record.cost,
    )


def failure_of(record: RunRecord) -> Problem:
    """What a client is told of a run that ended without an outcome."""
    kind = record.error_type or record.status.capitalize()
    can_retry = record.status in ("cancelled", "interrupted")
    told = record.error or f"the run is {record.status}"
    return Problem(f"run {record.id}: {told}", kind, can_retry, status_of(kind, can_retry=can_retry))
