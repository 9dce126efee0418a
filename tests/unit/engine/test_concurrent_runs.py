"""Many runs at once on one compiled graph: nothing of one run is ever seen in another."""

from __future__ import annotations

import asyncio
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import shapes
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.engine import BoundedGraph, Loop, StateLimit, bounded

RUNS, LIMITS = 60, 4


class State(TypedDict):
    run: int
    limit: int
    count: int
    notes: list[str]
    trail: Annotated[list[str], operator.add]


def work(state: State) -> dict[str, list[str]]:
    return {"trail": [f"{state['run']}.{state['count']}"]}


async def async_work(state: State) -> dict[str, list[str]]:
    await asyncio.sleep(0)
    return work(state)


def one_graph(saver: Any, node: Any) -> BoundedGraph:
    graph = shapes.graph("START-work work-work", schema=State, work=node)
    loop = Loop(
        name="again", target="work", sources=("work",), limit=StateLimit(key="limit", default=0, ceiling=LIMITS),
        counter="count", history="notes", reason=lambda state: f"run {state['run']}",
    )  # fmt: skip
    return bounded(graph, [loop], checkpointer=saver)


def given(number: int) -> dict[str, Any]:
    return {"run": number, "limit": number % LIMITS, "trail": []}


def check(finals: list[Any]) -> None:
    for number, final in enumerate(finals):
        limit = number % LIMITS
        assert final["trail"] == [f"{number}.{passed}" for passed in range(limit + 1)]
        assert final["notes"] == [f"[Iteration {passed}] run {number}" for passed in range(1, limit + 1)]
        stop = final["stop_reason"]
        assert (final["count"], stop["limit"], stop["spent"], stop["reason"]) == (limit, limit, limit, f"run {number}")


async def test_gathered_runs_do_not_see_each_other() -> None:
    graph = one_graph(None, async_work)
    check(await asyncio.gather(*(graph.ainvoke(given(number)) for number in range(RUNS))))


def test_runs_in_threads_do_not_see_each_other() -> None:
    graph = one_graph(InMemorySaver(), work)
    with ThreadPoolExecutor(8) as pool:
        check(
            [
                *pool.map(
                    lambda number: graph.invoke(given(number), {"configurable": {"thread_id": number}}), range(RUNS)
                )
            ]
        )
