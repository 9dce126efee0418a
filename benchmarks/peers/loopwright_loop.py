"""The plain LangGraph loop, bounded by Loopwright: ``loopwright_loop.py VARIANT PASSES``."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from answering import answer
from langgraph.graph import StateGraph
from langgraph_loop import INPUT, PASSES, async_a, async_again, async_b, build

from loopwright import engine
from loopwright.engine import BoundedGraph, Loop, bounded


def measured(run: Callable[[BoundedGraph], Any], graph: StateGraph[Any] | None = None, **options: Any) -> None:
    """Bound the loop, and answer with how it ends and what its certificate says."""
    loop = Loop(name="again", target="a", sources=("b",), limit=PASSES, counter="count")
    compiled = bounded(graph or build(), [loop], **options)

    def once() -> str:
        stop = run(compiled)
        return f"ends: {stop['outcome']}, {stop['spent']} of {stop['limit']} passes"

    known = compiled.certificate
    answer(
        once,
        worst_case=f"yes: at most {known.max_supersteps:,} supersteps, {known.max_node_runs:,} runs of nodes and gate",
    )


def with_events(graph: BoundedGraph) -> Any:
    """Run, and take every event; the last one says why the run ended."""
    *_others, finished = engine.stream(graph, INPUT)
    return finished.stop_reason


def with_budget() -> None:
    """A run budget that is never spent: what watching it costs."""
    threads = count()
    budget = engine.Budget(model_calls=1_000_000, seconds=86_400)
    measured(
        lambda graph: graph.invoke(INPUT, {"configurable": {"thread_id": str(next(threads))}})["stop_reason"],
        budget=budget,
    )


VARIANTS: dict[str, Callable[[], None]] = {
    "bounded": lambda: measured(lambda graph: graph.invoke(INPUT)["stop_reason"]),
    "async": lambda: measured(
        lambda graph: asyncio.run(graph.ainvoke(INPUT))["stop_reason"], build(async_a, async_b, async_again)
    ),
    "events": lambda: measured(with_events),
    "budget": with_budget,
}
"""What can be measured: the first word of the command line."""


if __name__ == "__main__":
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    VARIANTS[sys.argv[1]]()
