"""Runs that begin at another one's checkpoint: changed by a person, or the same without a loop's passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from loopwright.engine.events.schema import NodeStarted, StateSaved
from loopwright.engine.gate import is_engine_node
from loopwright.engine.ledger import LEDGER
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs import states
from loopwright.runs.checkpoints import before_pass, without_passes
from loopwright.runs.launching import Launcher
from loopwright.runs.schemas import Parent, RunRecord
from loopwright.workflows.api import RunChanges


async def forked(
    launcher: Launcher,
    origin: RunRecord,
    checkpoint_id: str,
    state: Mapping[str, Any],
    changes: RunChanges,
    run_id: str,
) -> RunRecord:
    """Make a fork ready; see `RunHub.fork`.

    Args:
        launcher: Makes runs ready.
        origin: The other run.
        checkpoint_id: One of its checkpoints.
        state: Key of the state -> its new value in plain JSON.
        changes: What the new run does otherwise than the other one.
        run_id: Names the new run.
    """
    saved = await launcher.saved(origin.id, checkpoint_id)
    step = int(saved.metadata.get("step", -1))
    parent = Parent(
        run_id=origin.id, checkpoint_id=checkpoint_id, step=step, kind="fork", edited=(*sorted(state),),
        **await asyncio.to_thread(_taken_over, launcher, origin, saved),
    )  # fmt: skip
    return await launcher.branch(origin, parent, saved, changes, run_id, state=state)


async def continued(
    launcher: Launcher,
    origin: RunRecord,
    given: Mapping[str, Any],
    run_id: str,
    checkpoint_id: str | None,
    changes: RunChanges,
) -> RunRecord:
    """Make the next turn ready; see `RunHub.continued`."""
    saved = await launcher.saved(origin.id, checkpoint_id)
    parent = Parent(
        run_id=origin.id, checkpoint_id=saved.checkpoint["id"], step=int(saved.metadata.get("step", -1)), kind="turn"
    )
    return await launcher.branch(origin, parent, saved, changes, run_id, given=given)


async def without_loop(launcher: Launcher, origin: RunRecord, loop: str, kept: int, run_id: str) -> RunRecord:
    """Make a counterfactual ready; see `RunHub.counterfactual`.

    Args:
        launcher: Makes runs ready.
        origin: The other run.
        loop: The loop whose passes are left out.
        kept: So many of its passes stay, those behind them are left out.
        run_id: Names the new run.
    """
    graph = launcher.hosted(origin.workflow).graph(launcher.saver)
    loops = [each.name for each in graph.loops]
    if loop not in loops:
        raise UnknownNameError("loop", loop, loops)
    before = await asyncio.to_thread(before_pass, launcher.store, origin.id, loop, kept)
    if before is None:
        more = f"more than {kept} passes" if kept else "a pass"
        raise InputError(f"loop {loop!r} never was granted {more} in run {origin.id!r}: there is nothing to leave out")
    without_passes(graph, loop)  # says if it cannot be compared
    saved = await launcher.saved(origin.id, before.checkpoint_id)
    parent = Parent(
        run_id=origin.id, checkpoint_id=before.checkpoint_id, step=before.step, kind="counterfactual", loop=loop,
        kept=kept, **await asyncio.to_thread(_taken_over, launcher, origin, saved),
    )  # fmt: skip
    return await launcher.branch(origin, parent, saved, RunChanges(), run_id)


def _taken_over(launcher: Launcher, origin: RunRecord, saved: CheckpointTuple) -> dict[str, Any]:
    """What a fork goes on with: the passes that the checkpoint's ledger had spent, and the nodes that had run."""
    ledger: Mapping[str, Any] = saved.checkpoint["channel_values"].get(LEDGER) or {}
    nodes = dict.fromkeys(origin.parent.nodes if origin.parent else ())
    for event in states.logged(launcher.store, origin.id):
        if isinstance(event, StateSaved) and event.checkpoint_id == saved.checkpoint["id"]:
            break
        if isinstance(event, NodeStarted) and not is_engine_node(event.node):
            nodes[event.node] = None
    return {"passes": {name: spend["spent"] for name, spend in ledger.items() if "spent" in spend}, "nodes": (*nodes,)}
