"""The loop in plain LangGraph: ``langgraph_loop.py VARIANT PASSES``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from answering import RUNS, answer, outcome, passes
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

PASSES = passes()
INPUT = {"n": 0, "count": 0}
NO_WORST_CASE = "no: one step limit for the whole graph"
MODES = ["tasks", "values", "updates"]
"""What Loopwright's events are made from; ``custom`` is not read for a loop like this one."""


class State(TypedDict):
    """A number that a node raises, and the counter of a bound written by hand."""

    n: int
    count: int


def a(state: State) -> dict[str, int]:
    """The trivial node."""
    RUNS["a"] += 1
    return {"n": state["n"] + 1}


def b(_state: State) -> dict[str, int]:
    """A trivial node that decides nothing."""
    RUNS["b"] += 1
    return {}


def counting(state: State) -> dict[str, int]:
    """The trivial node that counts."""
    RUNS["b"] += 1
    return {"count": state["count"] + 1}


async def async_a(state: State) -> dict[str, int]:
    """The trivial node, for the variant that compares with frameworks that are async only."""
    return a(state)


async def async_b(state: State) -> dict[str, int]:
    """A trivial async node that decides nothing."""
    return b(state)


async def async_again(_state: State) -> str:
    """The router for async runs: a plain function would cost a change of thread in each pass."""
    return "a"


def build(first: Any = a, second: Any = b, router: Callable[[State], Any] = lambda _state: "a") -> StateGraph[Any]:
    """``a -> b -> a ...``, which says stop only if the router does."""
    graph = StateGraph(State)
    graph.add_node("a", first)
    graph.add_node("b", second)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_conditional_edges("b", router, ["a", END])
    return graph


def plain(run: Callable[[Any, dict[str, int]], Any], graph: Any) -> None:
    """A loop that only LangGraph's own step limit bounds."""
    limit = {"recursion_limit": 2 * (PASSES + 1)}
    answer(lambda: outcome(lambda: run(graph, limit)), worst_case=NO_WORST_CASE)


def by_hand() -> None:
    """A counter in the state, and a router that looks at it."""
    graph = build(second=counting, router=lambda state: "a" if state["count"] <= PASSES else END).compile()
    limit = {"recursion_limit": 4 * PASSES + 20}
    answer(lambda: outcome(lambda: graph.invoke(INPUT, limit)), worst_case=NO_WORST_CASE)


def third() -> None:
    """One node more on the way back, which counts: what a gate is to be compared with."""
    graph = StateGraph(State)
    for name, node, successor in (("a", a, "b"), ("b", b, "c")):
        graph.add_node(name, node)
        graph.add_edge(name, successor)
    graph.add_node("c", lambda state: {"count": state["count"] + 1})
    graph.add_edge(START, "a")
    graph.add_conditional_edges("c", lambda state: "a" if state["count"] <= PASSES else END, ["a", END])
    compiled, limit = graph.compile(), {"recursion_limit": 4 * PASSES + 20}
    answer(lambda: outcome(lambda: compiled.invoke(INPUT, limit)), worst_case=NO_WORST_CASE)


def drain(graph: Any, limit: Any) -> None:
    """Take every chunk of the streams that Loopwright's events are made from."""
    for _chunk in graph.stream(INPUT, limit, stream_mode=MODES):
        pass


VARIANTS: dict[str, Callable[[], None]] = {
    "plain": lambda: plain(lambda graph, limit: graph.invoke(INPUT, limit), build().compile()),
    "async": lambda: plain(
        lambda graph, limit: asyncio.run(graph.ainvoke(INPUT, limit)), build(async_a, async_b, async_again).compile()
    ),
    "streams": lambda: plain(drain, build().compile()),
    "by-hand": by_hand,
    "third-node": third,
}
"""What can be measured: the first word of the command line."""


if __name__ == "__main__":
    VARIANTS[sys.argv[1]]()
