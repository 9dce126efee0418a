"""What a gate does in a running graph."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from shapes import State

from loopwright.engine.bounds import bounded
from loopwright.engine.events.schema import LoopDecided, run_event
from loopwright.engine.ledger import merge_ledger
from loopwright.engine.loop import Backoff, Loop, LoopMessages, Spend, StateLimit
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


def test_the_history_is_first_in_first_out_with_a_warning_for_each_dropped_entry(
    caplog: pytest.LogCaptureFixture,
) -> None:
    declared = loop(limit=5, history="past", history_limit=3, history_entry="{loop} {spent}/{limit} {target}")
    with caplog.at_level(logging.WARNING, "loopwright.loops"):
        final = bounded(graph(), [declared]).invoke({"log": []})
    assert final["past"] == ["again 3/5 work", "again 4/5 work", "again 5/5 work"]
    assert [record.getMessage() for record in caplog.records].count(
        "Loop again: history is full, its oldest entry was dropped"
    ) == 2


@pytest.mark.parametrize("garbage", [0, -7, 10**9, None, "three"])
def test_a_node_that_corrupts_the_visible_counter_gains_no_pass_and_the_last_word_is_the_gate_s(garbage: Any) -> None:
    final = bounded(graph(note("check", count=garbage)), [loop(limit=3, counter="count")]).invoke({"log": []})
    assert passes(final) == 3
    assert final["count"] == 3


# Limits in the state


def test_a_limit_that_is_no_number_is_refused_by_name() -> None:
    app = bounded(graph(), [loop(limit=StateLimit(key="most", default=2, ceiling=4))])
    with pytest.raises(LoopDeclarationError, match=r"'again'.*'most' must be a whole number from 0 up, not 'many'"):
        app.invoke({"log": [], "most": "many"})


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


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_every_decision_is_an_event_on_the_custom_stream(mode: str) -> None:
    app = bounded(graph(), [loop(limit=1, reason=lambda state: f"{len(state['log'])} so far")])
    if mode == "sync":
        raw = [*app.stream({"log": []}, stream_mode="custom")]
    else:
        raw = [chunk async for chunk in app.astream({"log": []}, stream_mode="custom")]
    events = [run_event.validate_python(chunk) for chunk in raw]
    assert all(isinstance(event, LoopDecided) for event in events)
    shown = [event.model_dump(exclude={"at"}) for event in events]
    same = {"type": "loop", "loop": "again", "limit": 1, "spent": 1, "waited": 0.0, "why": "", "sources": ["check"]}
    assert shown == [
        {**same, "decision": "granted", "reason": "2 so far", "goto": ["work"], "step": 3},
        {**same, "decision": "exhausted", "reason": "4 so far", "goto": [END], "step": 6},
    ]


def test_the_stop_reason_says_what_was_wanted_and_when() -> None:
    final = bounded(graph(), [loop(limit=1, reason=lambda _: "still poor")]).invoke({"log": []})
    assert final["stop_reason"] == {
        "loop": "again", "outcome": "exhausted", "limit": 1, "spent": 1, "reason": "still poor", "step": 6
    }  # fmt: skip


# Threads: new input, resume, interrupt, fork


def test_two_turns_on_one_thread_each_get_their_passes_and_the_stop_reason_is_cleared() -> None:
    app = bounded(
        graph(lambda state: {"log": ["check"], "want": 0}), [loop(limit=2, counter="count", history="past")],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    config: Any = {"configurable": {"thread_id": "t"}}
    first = app.invoke({"log": []}, config)
    assert (passes(first), first["count"], len(first["past"])) == (2, 2, 2)
    second = app.invoke({"log": ["turn two"]}, config)
    turn = second["log"][second["log"].index("turn two") :]
    assert turn.count("work") == 3
    assert (second["count"], second["past"]) == (2, ["[Iteration 1]", "[Iteration 2]"])
    third = bounded(graph(want=0), [loop(limit=2)], checkpointer=app.checkpointer).invoke({"log": []}, config)
    assert third.get("stop_reason") is None


# Reducers


def test_the_ledger_s_reducer_lets_no_count_fall_unless_a_new_run_starts() -> None:
    old: dict[str, Spend] = {"x": Spend(spent=2, limit=3, refused=0, pass_of=1)}
    assert merge_ledger(old, {"x": Spend(spent=1, limit=3, refused=0, pass_of=1)}) == old
    later = Spend(spent=1, limit=3, refused=0, pass_of=2)
    assert merge_ledger(old, {"x": later}) == {"x": later}
    assert merge_ledger(old, {"y": later}) == {**old, "y": later}
    begun = {"": {"since": 4}, **old}
    assert merge_ledger(begun, {"": {"since": 9}}) == {"": {"since": 9}}
    for earlier in ({}, {"since": 4}, {"since": 3}):
        assert merge_ledger(begun, {"": earlier, "x": Spend(spent=0, limit=9, refused=0)}) == begun


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
