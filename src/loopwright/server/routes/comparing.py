"""Two runs side by side."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from loopwright.runs.compare import Comparison, compare
from loopwright.runs.schemas import RunRecord
from loopwright.runs.states import logged
from loopwright.runs.store.history import RunStore
from loopwright.server.context import RUN_ID, Context, Here, kept_run
from loopwright.server.problems import PROBLEM

router = APIRouter(prefix="/compare", tags=["runs"])

MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}

RunId = Annotated[str, Query(pattern=RUN_ID)]


@router.get("", operation_id="compare_runs", responses=MISSING)
async def compare_runs(a: RunId, b: RunId, context: Here) -> Comparison:
    """What two runs have in common, what not, and which came out better."""
    one, other = await kept_run(context, a), await kept_run(context, b)
    states = await _final_state(context, a), await _final_state(context, b)
    return await asyncio.to_thread(_compared, context.hub.store, one, other, states)


async def _final_state(context: Context, run_id: str) -> dict[str, Any]:
    checkpoints = await context.hub.checkpoints(run_id)
    return await context.hub.state(run_id, checkpoints[-1].checkpoint_id) if checkpoints else {}


def _compared(
    store: RunStore, one: RunRecord, other: RunRecord, states: tuple[dict[str, Any], dict[str, Any]]
) -> Comparison:
    return compare(one, [*logged(store, one.id)], states[0], other, [*logged(store, other.id)], states[1])
