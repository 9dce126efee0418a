"""Runs as typed events: sync, async, streamed, resumed."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import CachePolicy, Send
from shapes import State, graph, note

from loopwright.engine.bounds import bounded
from loopwright.engine.events.schema import (
    LoopDecided,
    NodeFinished,
    NodeGaveUp,
    NodeStarted,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
)
from loopwright.engine.events.stream import arun, astream, resume, run, stream
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.loop import Loop
from loopwright.engine.nodes.policy import NodePolicy
from loopwright.errors import CheckpointError, NodeFailed
from loopwright.testing import always


def app(work: Any = None, limit: int = 1, **options: Any) -> BoundedGraph:
    worker = {"action": work or note("work"), "policy": NodePolicy()}
    made = graph("START-work work-check check?work check?END", work=worker)
    loop = Loop(name="again", target="work", sources=("check",), limit=limit, reason=lambda _: "poor")
    return bounded(made, [loop], **{"name": "demo", **options})


def shown(events: Any) -> list[str]:
    """The events in short."""
    found = []
    for event in events:
        match event:
            case NodeStarted() | NodeFinished():
                found.append(f"{event.type} {event.node} {event.visit}")
            case LoopDecided():
                found.append(f"loop {event.decision} {event.spent}/{event.limit} {event.reason}")
            case _:
                found.append(event.type)
    return found


EXPECTED = [
    "run_started",
    "node_started work 1", "node_finished work 1", "node_started check 1", "node_finished check 1",
    "loop granted 1/1 poor",
    "node_started work 2", "node_finished work 2", "node_started check 2", "node_finished check 2",
    "loop exhausted 1/1 poor",
    "run_finished",
]  # fmt: skip


@pytest.mark.parametrize("how", ["run", "arun"])
@pytest.mark.parametrize("saved", [False, True])
async def test_all_ways_to_run_give_the_same_events_in_order(how: str, saved: bool) -> None:
    graph = app(checkpointer=InMemorySaver()) if saved else app()
    begun = {"graph": graph, "input": {"log": []}, **({"thread_id": "t"} if saved else {})}
    events = (run(**begun) if how == "run" else await arun(**begun)).events
    assert shown(events) == EXPECTED
    first, last = events[0], events[-1]
    assert isinstance(first, RunStarted) and isinstance(last, RunFinished)
    assert (first.graph, first.thread_id, first.resumed) == ("demo", "t" if saved else None, False)
    assert isinstance(last.stop_reason, dict) and last.stop_reason["loop"] == "again"
    assert last.seconds > 0 and not last.interrupted
    times = [event.at for event in events]
    assert times == sorted(times)


def test_a_thread_may_be_named_by_the_config_and_must_be_named_with_a_saver() -> None:
    graph = app(checkpointer=InMemorySaver())
    assert run(graph, {"log": []}, config={"configurable": {"thread_id": "c"}}).path
    assert graph.get_state({"configurable": {"thread_id": "c"}}).values["log"]
    with pytest.raises(CheckpointError, match="graph 'demo' has a checkpointer: give a thread_id"):
        run(graph, {"log": []})


@pytest.mark.parametrize("error", [ValueError("broken"), ExceptionGroup("several", [ValueError("broken")])])
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_a_failing_run_tells_before_it_raises(how: str, error: Exception) -> None:
    def work(_state: State) -> dict[str, Any]:
        raise error

    events: list[RunEvent] = []
    with pytest.raises(NodeFailed, match="ValueError: broken"):
        if how == "stream":
            for event in stream(app(work), {"log": []}):
                events.append(event)
        else:
            async for event in astream(app(work), {"log": []}):
                events.append(event)
    assert shown(events)[:2] == ["run_started", "node_started work 1"]
    last = events[-1]
    assert isinstance(last, RunFailed)
    assert last.kind == "NodeFailed" and "ValueError: broken" in last.message


def test_a_resume_runs_only_what_is_left() -> None:
    broken = [True]

    def work(state: State) -> dict[str, Any]:
        if len(state["log"]) == 2 and broken:
            raise ValueError("broken")
        return {"log": ["work"]}

    graph = app(work, checkpointer=InMemorySaver())
    with pytest.raises(NodeFailed):
        run(graph, {"log": []}, thread_id="t")
    broken.clear()
    result = resume(graph, thread_id="t")
    assert isinstance(result.events[0], RunStarted) and result.events[0].resumed
    assert result.path == ["work", "check"]
    assert result.state["log"] == ["work", "check", "work", "check"]
    assert result.state["stop_reason"]["spent"] == 1


def test_a_step_limit_of_25_is_no_default() -> None:
    state = run(app(limit=50), {"log": []}, config={"recursion_limit": 25}).state
    assert (state["stop_reason"]["loop"], state["stop_reason"]["limit"]) == ("recursion_limit", 25)


@pytest.mark.parametrize("texts", [False, True])
def test_runs_inside_a_node_are_told_like_any_other(texts: bool) -> None:
    inner, found = app(lambda _: {"log": [always("a word").invoke("?").text]}), list[Any]()

    def twice(_state: State) -> None:
        found.extend(run(inner, {"log": []}, texts=texts) for _ in range(2))
        assert NodeGaveUp(node="from", kind="", message="an old log", goto="").tasks == []

    graph("START-twice", twice=twice).compile().invoke({"log": []})
    for result in found:
        assert shown(event for event in result.events if event.type != "text") == EXPECTED
        assert result.state["log"] == ["a word", "check"] * 2
        said = [(event.node, event.text) for event in result.events if event.type == "text"]
        assert said == [("work", "a word")] * 2 * texts
    outer = bounded(graph("START-agent", agent=app(checkpointer=True)), checkpointer=InMemorySaver())
    told = run(outer, {"log": []}, thread_id="t", texts=texts).events
    around = {event.task_id for event in told if isinstance(event, NodeStarted) and event.node == "agent"}
    assert {event.within for event in told if isinstance(event, LoopDecided)} == (around if texts else set())


def test_a_visit_whose_result_was_known_is_told_to_its_end_and_is_no_part_of_the_path() -> None:
    work = {"action": lambda given: {"log": [given["text"]]}, "cache_policy": CachePolicy()}
    made = graph("START-spread work-END", work=work)
    made.add_conditional_edges(
        "spread", lambda state: [Send("work", {"text": each}) for each in state["plan"]], ["work"]
    )
    cached = bounded(made, cache=InMemoryCache())
    for plan, ran in (("b", 1), ("abc", 2), ("abc", 0)):
        result = run(cached, {"log": [], "plan": plan})
        given = {event.task_id: event.given for event in result.events if isinstance(event, NodeStarted)}
        ends = {event.task_id: event.update for event in result.events if isinstance(event, NodeFinished)}
        assert given.keys() == ends.keys()
        assert [ends[task] for task, one in given.items() if one] == [{"log": [each]} for each in plan]
        assert result.path == ["spread", *["work"] * ran]


def test_a_state_without_keys_is_told_under_the_name_of_its_one_channel() -> None:
    made = graph("START-work", schema=list, work=lambda _: ["work"])
    told = run(bounded(made, checkpointer=InMemorySaver()), ["begun"], thread_id="t", states=True)
    assert told.state == {"__root__": ["work"]}


def test_a_thread_that_was_never_run_cannot_be_resumed() -> None:
    with pytest.raises(CheckpointError, match="thread 'nobody' has no checkpoint to resume from"):
        resume(app(checkpointer=InMemorySaver()), thread_id="nobody")
