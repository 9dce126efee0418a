"""Where the checkpoints of a run are, how one is copied to another run, and where a loop began."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, copy_checkpoint

from loopwright.engine import BoundedGraph
from loopwright.engine.events.schema import LoopDecided, StateSaved
from loopwright.engine.gate import Gate
from loopwright.runs.states import logged
from loopwright.runs.store.protocol import RunStore

START = "__start__"
"""The node in whose name LangGraph writes the input."""


def before_first_pass(store: RunStore, run_id: str, loop: str) -> StateSaved | None:
    """The last checkpoint before a loop's first granted pass; blocks.

    Args:
        store: Where the run is kept.
        run_id: The run.
        loop: The loop.

    Returns:
        None if the loop never was granted a pass.
    """
    saved: StateSaved | None = None
    for event in logged(store, run_id, "state", "loop"):
        if isinstance(event, StateSaved):
            # Of parallel branches one may be told of its end before the gate has decided.
            saved = event if f"loop.{loop}" in event.next else saved
        elif isinstance(event, LoopDecided) and event.loop == loop and event.decision == "granted":
            return saved
    return None


def without_passes(graph: BoundedGraph, name: str) -> BoundedGraph:
    """A copy of a graph in which a loop's limit is 0 from now on, whatever its scope and its ledger."""
    loop = next(loop for loop in graph.loops if loop.name == name)
    node = graph.nodes[loop.gate]
    gate = copy.copy(cast("Gate", node.bound))
    gate.loop = dataclasses.replace(loop, limit=0)
    return graph.copy({"nodes": {**graph.nodes, loop.gate: node.copy({"bound": gate})}})


def thread(run_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Where a run's checkpoints are.

    Args:
        run_id: The run.
        checkpoint_id: One of them; None for the last.
    """
    place = {"thread_id": run_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


async def copied(
    saver: BaseCheckpointSaver[str], saved: CheckpointTuple, run_id: str, values: Mapping[str, Any] | None = None
) -> None:
    """Copy a checkpoint to a new run. What its next nodes wrote already is not copied: they run again.

    Args:
        saver: Where both are kept.
        saved: The checkpoint.
        run_id: The new run.
        values: Key of the state -> its value, where that is another one in the copy.
    """
    checkpoint = copy_checkpoint(saved.checkpoint)
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"] = {**checkpoint["channel_values"], **(values or {})}
    # Savers that keep each value under its version would pass over a key that has none yet.
    newest: Any = max(versions.values(), default=None)
    new = {key: saver.get_next_version(newest, None) for key in values or {} if key not in versions}
    checkpoint["channel_versions"] = {**versions, **new}
    await saver.aput(thread(run_id), checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))
