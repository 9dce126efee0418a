"""What a gate does in a running graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from shapes import State

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Backoff, Loop, LoopMessages
from loopwright.errors import LoopDeclarationError


def note(name: str, **update: Any) -> Callable[[State], dict[str, Any]]:
    def node(_state: State) -> dict[str, Any]:
        return {"log": [name], **update}

    return node


def loop(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "work", "sources": ("check",), "limit": 2, **fields})


def graph(check: Callable[..., Any] | None = None, want: int = 99, **extra: Callable[..., Any]) -> StateGraph[Any]:
    """``work -> check``, and back while fewer than `want` checks were made."""
    builder = StateGraph(State)
    builder.add_node("work", note("work"))
    builder.add_node("check", check or note("check"))
    for name, node in extra.items():
        builder.add_node(name, node)
    builder.add_edge(START, "work")
    builder.add_edge("work", "check")
    builder.add_conditional_edges(
        "check",
        lambda state: "again" if state["log"].count("check") <= want else "done",
        {"again": "work", "done": END},
    )
    return builder


def passes(state: dict[str, Any]) -> int:
    return state["log"].count("work") - 1


# Counting


@pytest.mark.parametrize("garbage", [0, -7, 10**9, None, "three"])
def test_a_node_that_corrupts_the_visible_counter_gains_no_pass_and_the_last_word_is_the_gate_s(garbage: Any) -> None:
    final = bounded(graph(note("check", count=garbage)), [loop(limit=3, counter="count")]).invoke({"log": []})
    assert passes(final) == 3
    assert final["count"] == 3


# Routes


def two_sources() -> StateGraph[Any]:
    """``work`` goes to the nodes that ``plan`` names; each wants another pass."""
    builder = StateGraph(State)
    for name in ("work", "a", "b", "after_a", "after_b"):
        builder.add_node(name, note(name))
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: list(state["plan"]), ["a", "b"])
    for name in ("a", "b"):
        builder.add_conditional_edges(name, lambda _: "again", {"again": "work", "done": END})
    return builder


BY_SOURCE = {"a": "after_a", "b": "after_b"}


def test_requests_of_an_abandoned_run_do_not_steer_the_next_one() -> None:
    """The first run stops between the note of who asked and the gate; the second asks from elsewhere."""
    declared = loop(sources=("a", "b"), limit=0, exhausted=BY_SOURCE)
    app = bounded(two_sources(), [declared], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    app.invoke({"log": [], "plan": "a"}, config, interrupt_before=["loop.again"])
    assert app.get_state(config).next == ("loop.again",)
    assert app.invoke({"log": [], "plan": "b"}, config)["log"][-2:] == ["b", "after_b"]


# Waiting, messages, events


async def test_an_async_backoff_leaves_the_event_loop_free() -> None:
    app = bounded(graph(), [loop(limit=2, backoff=Backoff(initial=0.05, factor=1))])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    started = time.perf_counter()
    await app.ainvoke({"log": []})
    assert time.perf_counter() - started >= 0.1
    ticking.cancel()
    assert ticks >= 5


# Limits of each source


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"source_limits": {"chek": 1}}, "'chek', which is none of the sources"),
        ({"source_limits": {"check": -1}}, "the limit of source 'check' must be a whole number"),
        ({"messages": LoopMessages(exhausted={"work": "?"})}, "'messages.exhausted' by source must name exactly"),
    ],
)
def test_wrong_limits_by_source_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(LoopDeclarationError, match=problem):
        loop(**fields)
