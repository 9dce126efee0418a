"""Many runs at once on one compiled graph: nothing of one run is ever seen in another."""

from __future__ import annotations

import asyncio
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import shapes
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.engine import BoundedGraph, Loop, RunResult, StateLimit, arun, bounded, run

GATHERED, THREADS, RUNS_PER_THREAD = 200, 8, 25
LIMITS = 4


class State(TypedDict):
    run: int
    limit: int
    count: int
    notes: list[str]
    trail: Annotated[list[str], operator.add]


async def async_work(state: State) -> dict[str, list[str]]:
    await asyncio.sleep(0)
    return work(state)


def work(state: State) -> dict[str, list[str]]:
    return {"trail": [f"work {state['run']}.{state['count']}"]}


async def async_look(state: State) -> dict[str, list[str]]:
    await asyncio.sleep(0)
    return look(state)


def look(state: State) -> dict[str, list[str]]:
    return {"trail": [f"look {state['run']}.{state['count']}"]}


def one_graph(saver: Any, first: Any = work, second: Any = look) -> BoundedGraph:
    graph = shapes.graph("START-work work-look look-work", schema=State, work=first, look=second)
    loop = Loop(
        name="again", target="work", sources=("look",), limit=StateLimit(key="limit", default=0, ceiling=LIMITS),
        counter="count", history="notes", reason=lambda state: f"run {state['run']}",
    )  # fmt: skip
    return bounded(graph, [loop], checkpointer=saver)


def input_of(number: int) -> dict[str, Any]:
    return {"run": number, "limit": number % LIMITS, "trail": []}


def told(result: RunResult) -> dict[str, Any]:
    """All that a run says about itself, with nothing of it that depends on the clock."""
    decided = [event for event in result.events if event.type == "loop"]
    return {
        "count": result.state["count"],
        "notes": result.state["notes"],
        "trail": result.state["trail"],
        "stop": {key: result.state["stop_reason"][key] for key in ("loop", "outcome", "limit", "spent", "reason")},
        "path": result.path,
        "decided": [(event.decision, event.spent, event.limit, event.reason) for event in decided],
    }


def expected(number: int) -> dict[str, Any]:
    limit, reason = number % LIMITS, f"run {number}"
    granted = [("granted", passed, limit, reason) for passed in range(1, limit + 1)]
    return {
        "count": limit,
        "notes": [f"[Iteration {passed}] {reason}" for passed in range(1, limit + 1)],
        "trail": [f"{node} {number}.{passed}" for passed in range(limit + 1) for node in ("work", "look")],
        "stop": {"loop": "again", "outcome": "exhausted", "limit": limit, "spent": limit, "reason": reason},
        "path": ["work", "look"] * (limit + 1),
        "decided": [*granted, ("exhausted", limit, limit, reason)],
    }


async def gathered(graph: BoundedGraph) -> list[RunResult]:
    runs = (arun(graph, input_of(number), thread_id=str(number)) for number in range(GATHERED))
    return await asyncio.gather(*runs)


def threaded(graph: BoundedGraph) -> list[RunResult]:
    with ThreadPoolExecutor(THREADS) as pool:
        numbers = range(THREADS * RUNS_PER_THREAD)
        return list(pool.map(lambda number: run(graph, input_of(number), thread_id=str(number)), numbers))


async def test_gathered_runs_do_not_see_each_other():
    results = await gathered(one_graph(None, async_work, async_look))
    assert [told(result) for result in results] == [expected(number) for number in range(GATHERED)]


def test_runs_in_threads_do_not_see_each_other():
    results = threaded(one_graph(InMemorySaver()))
    assert [told(result) for result in results] == [expected(number) for number in range(THREADS * RUNS_PER_THREAD)]
