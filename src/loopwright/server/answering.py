"""A run as one reply, for clients that do not follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from loopwright.runs.schemas import RunRecord
from loopwright.server.beginning import begin
from loopwright.server.context import Context
from loopwright.server.problems import Problem, status_of
from loopwright.workflows.hosting import Outcome


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


async def answer_with(context: Context, workflow: str, given: Mapping[str, Any]) -> WorkflowAnswer:
    """Run a workflow, and answer with what came out; the run goes on when the client leaves.

    Args:
        context: Knows the runs.
        workflow: The workflow.
        given: Its input.

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
    """What a client is told of a run that ended without an outcome.

    Args:
        record: The run.
    """
    kind = record.error_type or record.status.capitalize()
    can_retry = record.status in ("cancelled", "interrupted")
    told = record.error or f"the run is {record.status}"
    return Problem(f"run {record.id}: {told}", kind, can_retry, status_of(kind, can_retry=can_retry))
