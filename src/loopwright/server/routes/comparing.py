"""Two runs side by side."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from loopwright.runs.compare import compare
from loopwright.runs.comparing.schemas import Comparison
from loopwright.runs.schemas import KeptComparison, RunRecord
from loopwright.runs.states import logged
from loopwright.runs.store.history import RunStore
from loopwright.server.context import RUN_ID, Context, Here, kept_run
from loopwright.server.given import Note
from loopwright.server.problems import PROBLEM

router = APIRouter(prefix="/compare", tags=["runs"])

MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}

RunId = Annotated[str, Query(pattern=RUN_ID)]


class JudgeRuns(BaseModel):
    """What a person thinks of two runs."""

    model_config = ConfigDict(extra="forbid")

    a: str
    """A run."""
    b: str
    """Another run."""
    verdict: Literal["a", "b", "same"] | None = None
    """Which is better; null to take a verdict back."""
    note: Note = ""
    """Why."""


@router.get("", operation_id="compare_runs", responses=MISSING)
async def compare_runs(a: RunId, b: RunId, context: Here) -> Comparison:
    """What two runs have in common, what not, and which came out better."""
    one, other = await kept_run(context, a), await kept_run(context, b)
    states = await _final_state(context, a), await _final_state(context, b)
    return await asyncio.to_thread(_compared, context.hub.store, one, other, states)


@router.put("", operation_id="judge_runs", responses=MISSING)
async def judge_runs(asked: JudgeRuns, context: Here) -> KeptComparison:
    """Keep what a person thinks of two runs."""
    for run_id in (asked.a, asked.b):
        await kept_run(context, run_id)
    kept = KeptComparison(**asked.model_dump(), created_at=datetime.now(UTC))
    await asyncio.to_thread(context.hub.store.keep_comparison, kept)
    return kept


async def _final_state(context: Context, run_id: str) -> dict[str, Any]:
    checkpoints = await context.hub.checkpoints(run_id)
    return await context.hub.state(run_id, checkpoints[-1].checkpoint_id) if checkpoints else {}


def _compared(
    store: RunStore, one: RunRecord, other: RunRecord, states: tuple[dict[str, Any], dict[str, Any]]
) -> Comparison:
    kept = next((each for each in store.comparisons(one.id) if {each.a, each.b} == {one.id, other.id}), None)
    return compare(one, [*logged(store, one.id)], states[0], other, [*logged(store, other.id)], states[1], kept)
