"""The same run without a loop's passes: where it begins, and the graph whose gate grants none."""

from __future__ import annotations

import copy
import dataclasses
from typing import cast

from loopwright.engine import BoundedGraph
from loopwright.engine.events import LoopDecided, StateSaved
from loopwright.engine.gate import Gate
from loopwright.runs.states import logged
from loopwright.runs.store.protocol import RunStore


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
    """A copy of a graph in which a loop's limit is 0 from now on, whatever its scope and its ledger.

    Args:
        graph: The graph.
        name: The loop.
    """
    loop = next(loop for loop in graph.loops if loop.name == name)
    node = graph.nodes[loop.gate]
    gate = copy.copy(cast("Gate", node.bound))
    gate.loop = dataclasses.replace(loop, limit=0)
    return graph.copy({"nodes": {**graph.nodes, loop.gate: node.copy({"bound": gate})}})
