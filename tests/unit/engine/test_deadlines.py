"""Seconds: asked behind every superstep, and no gate that waits longer than its run may last."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from shapes import State

from loopwright.engine import Backoff, BoundedGraph, Budget, Loop, bounded
from loopwright.testing import ManualClock


def round_trip(budget: Budget, backoff: Backoff, **fields: Any) -> BoundedGraph:
    made = shapes.graph("START-work work?work work?END answer-END")
    loop = Loop(name="again", target="work", sources=("work",), limit=1000, backoff=backoff, exhausted="answer")
    return bounded(made, [loop], budget=budget, **fields)


def test_seconds_end_a_graph_inside_a_node_too_and_no_thread_watches_them() -> None:
    made = StateGraph(State)
    made.add_sequence([(f"nap{number}", lambda _s: time.sleep(0.05)) for number in range(100)])
    made.add_edge(START, "nap0")
    outer = shapes.graph("START-inner", inner=made.compile())
    before = {*threading.enumerate()}
    began = time.monotonic()
    assert bounded(outer, budget=Budget(seconds=0.3)).invoke({"log": []})["stop_reason"]["resource"] == "seconds"
    assert time.monotonic() - began < 3
    assert not any("loopwright" in thread.name for thread in {*threading.enumerate()} - before)


# Backoff


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_gate_does_not_wait_beyond_the_runs_seconds(asynchronous: bool) -> None:
    app = round_trip(Budget(seconds=5, exhausted="answer"), Backoff(initial=1.0, factor=2.0))
    with ManualClock() as clock:
        final = await app.ainvoke({"log": []}) if asynchronous else app.invoke({"log": []})
    assert clock.now() < 5
    assert final["log"] == ["work", "work", "work", "answer"]  # 1 s and 2 s fit into 4.5, 4 s more do not
    stop = final["stop_reason"]
    assert (stop["loop"], stop["resource"], stop["limit"], stop["spent"]) == ("run", "seconds", 5, pytest.approx(3))
    assert "a wait of 4 more" in stop["reason"]


def test_a_pass_that_cannot_be_waited_for_is_not_counted() -> None:
    app = round_trip(Budget(seconds=5), Backoff(initial=10.0))
    kept = round_trip(Budget(seconds=5), Backoff(initial=10.0), checkpointer=InMemorySaver())
    here: Any = {"configurable": {"thread_id": "t"}}
    with ManualClock():
        assert app.invoke({"log": []})["log"] == ["work"]
        kept.invoke({"log": []}, here)
    saved = kept.checkpointer.get_tuple(here)  # type: ignore[union-attr]
    entry = saved.checkpoint["channel_values"]["loop_ledger"].get("again")
    assert entry is None or entry["spent"] == 0


def test_nor_beyond_those_of_a_run_around_it() -> None:
    inner = round_trip(Budget(model_calls=9), Backoff(initial=10.0))
    outer = shapes.graph("START-inner", inner=inner)
    with ManualClock() as clock:
        final = bounded(outer, budget=Budget(seconds=5)).invoke({"log": []})
    assert clock.now() < 5
    assert (final["stop_reason"]["loop"], final["stop_reason"]["limit"]) == ("run", 5)
