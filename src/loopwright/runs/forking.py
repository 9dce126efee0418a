"""Runs that begin at another one's checkpoint: changed by a person, or the same without a loop's passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.engine import BoundedGraph
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs import editing
from loopwright.runs.checkpoints import before_first_pass, copied
from loopwright.runs.driving import Drive
from loopwright.runs.launching import Launcher
from loopwright.runs.schemas import Parent, RunRecord
from loopwright.workflows.api import Run, RunChanges


async def forked(
    launcher: Launcher,
    origin: RunRecord,
    checkpoint_id: str,
    state: Mapping[str, Any],
    changes: RunChanges,
    run_id: str,
) -> Drive:
    """Make a fork ready; see `RunHub.fork`.

    Args:
        launcher: Makes runs ready.
        origin: The other run.
        checkpoint_id: One of its checkpoints.
        state: Key of the state -> its new value in plain JSON.
        changes: What the new run does otherwise than the other one.
        run_id: Names the new run.
    """
    schema = launcher.hosted(origin.workflow).state_schema
    saved = await launcher.saved(origin.id, checkpoint_id)
    step = int(saved.metadata.get("step", -1))
    edited = (*sorted(state),)
    parent = Parent(run_id=origin.id, checkpoint_id=checkpoint_id, step=step, kind="fork", edited=edited)

    async def place(graph: BoundedGraph, run: Run) -> None:
        if state:
            values = editing.read_values(graph, schema, state, editing.values_of(saved), run)
            await editing.edited(graph, saved, run_id, values)
        else:
            await copied(_saver(graph), saved, run_id)

    return await launcher.branch(origin, parent, changes, place, run_id)


async def without_loop(launcher: Launcher, origin: RunRecord, loop: str, run_id: str) -> Drive:
    """Make a counterfactual ready; see `RunHub.counterfactual`.

    Args:
        launcher: Makes runs ready.
        origin: The other run.
        loop: The loop whose passes are left out.
        run_id: Names the new run.
    """
    loops = [each.name for each in launcher.hosted(origin.workflow).graph(launcher.saver).loops]
    if loop not in loops:
        raise UnknownNameError("loop", loop, loops)
    before = await asyncio.to_thread(before_first_pass, launcher.store, origin.id, loop)
    if before is None:
        raise InputError(f"loop {loop!r} never was granted a pass in run {origin.id!r}: there is nothing to leave out")
    saved = await launcher.saved(origin.id, before.checkpoint_id)
    parent = Parent(
        run_id=origin.id, checkpoint_id=before.checkpoint_id, step=before.step, kind="counterfactual", loop=loop
    )

    async def place(graph: BoundedGraph, run: Run) -> None:
        await copied(_saver(graph), saved, run_id)

    return await launcher.branch(origin, parent, RunChanges(), place, run_id)


def _saver(graph: BoundedGraph) -> BaseCheckpointSaver[str]:
    return cast("BaseCheckpointSaver[str]", graph.checkpointer)
