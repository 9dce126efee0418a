"""Seconds: one thread for all runs, and no gate that waits longer than its run may last."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright.engine import Backoff, BoundedGraph, Budget, Loop, bounded
from loopwright.engine.budget.meter import Deadlines
from loopwright.testing import ManualClock


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def round_trip(budget: Budget, backoff: Backoff | None = None, naps: float = 0.0, **fields: Any) -> BoundedGraph:
    made = StateGraph(State)

    def work(_state: State) -> State:
        time.sleep(naps)
        return {"log": ["work"]}

    made.add_node("work", work)
    made.add_node("answer", lambda _s: {"log": ["answer"]})
    made.add_edge(START, "work")
    made.add_conditional_edges("work", lambda _s: "work", ["work", END])
    loop = Loop(name="again", target="work", sources=("work",), limit=1000, backoff=backoff, exhausted="answer")
    return bounded(made, [loop], budget=budget, **fields)


def waiting_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "loopwright-deadlines"]


def test_a_hundred_runs_with_budgets_of_seconds_have_one_thread_that_watches_them() -> None:
    gate, most = threading.Barrier(101), []
    made = StateGraph(State)
    made.add_node("work", lambda _s: [{}, gate.wait(timeout=60)][0])
    made.add_edge(START, "work")
    app = bounded(made, budget=Budget(seconds=60))
    with ThreadPoolExecutor(100) as pool:
        runs = [pool.submit(app.invoke, {"log": []}) for _ in range(100)]
        while gate.n_waiting < 100:
            time.sleep(0.01)
        most.append(len(waiting_threads()))
        gate.wait(timeout=60)
        for run in runs:
            run.result()
    assert most == [1]


async def test_each_of_many_runs_ends_when_its_own_time_is_over() -> None:
    apps = [round_trip(Budget(seconds=seconds), naps=0.01) for seconds in (0.6, 0.2, 0.4)]
    ended: list[float] = []

    async def one(app: BoundedGraph) -> None:
        final = await app.ainvoke({"log": []})
        assert final["stop_reason"]["resource"] == "seconds"
        ended.append(final["stop_reason"]["limit"])

    await asyncio.gather(*map(one, apps))
    assert ended == [0.2, 0.4, 0.6]


def test_deadlines_are_called_in_order_and_those_that_were_removed_are_not() -> None:
    deadlines, called, done = Deadlines(), [], threading.Event()
    removed = deadlines.add(0.05, lambda: called.append("removed"))
    deadlines.add(0.15, lambda: called.append("second"))
    deadlines.add(0.1, lambda: called.append("first"))
    deadlines.add(0.2, done.set)
    deadlines.remove(removed)
    deadlines.remove(removed)
    assert done.wait(10)
    assert called == ["first", "second"]


def test_the_thread_ends_when_there_is_nothing_to_wait_for_and_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopwright.engine.budget.meter._LINGER", 0.05)
    deadlines = Deadlines()
    before = set(waiting_threads())
    for _ in range(2):
        done = threading.Event()
        deadlines.add(0.01, done.set)
        assert done.wait(10)
        for thread in set(waiting_threads()) - before:
            thread.join(10)
        assert set(waiting_threads()) <= before


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
    outer = StateGraph(State)
    outer.add_node("inner", inner)
    outer.add_edge(START, "inner")
    with ManualClock() as clock:
        final = bounded(outer, budget=Budget(seconds=5)).invoke({"log": []})
    assert clock.now() < 5
    assert (final["stop_reason"]["loop"], final["stop_reason"]["limit"]) == ("run", 5)


def test_a_wait_within_the_budget_is_waited() -> None:
    with ManualClock() as clock:
        final = round_trip(Budget(seconds=1e6, model_calls=3), Backoff(initial=1.0, factor=1.0)).invoke({"log": []})
    assert clock.now() == pytest.approx(1000)
    assert final["stop_reason"]["loop"] == "again"
