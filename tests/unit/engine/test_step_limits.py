"""What ends a run at a step limit, and at its seconds: those are asked for behind every superstep."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from shapes import HERE, State

from loopwright.engine import Backoff, BoundedGraph, Budget, Loop, bounded
from loopwright.errors import BrokenAssumptionError
from loopwright.testing import ManualClock, ScriptedChatModel

hows = pytest.mark.parametrize("how", ["sync", "async"])


def round_trip(limit: int = 20, **options: Any) -> BoundedGraph:
    made = shapes.graph("START-a a-b b?a b?END")
    return bounded(made, [Loop(name="again", target="a", sources=("b",), limit=limit)], **options)


async def invoked(app: Any, how: str, config: Any = None) -> Any:
    return await app.ainvoke({"log": []}, config) if how == "async" else app.invoke({"log": []}, config)


@hows
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
@pytest.mark.parametrize("budget", [None, Budget(model_calls=3)], ids=["no budget", "budget"])
async def test_a_run_beyond_its_certificate_names_what_the_proof_did_not_know(
    how: str, saver: Any, budget: Any
) -> None:
    app = round_trip(limit=1, budget=budget, checkpointer=saver and saver())
    app.attach_edge("b", "b")  # the graph is changed behind its proof's back
    with pytest.raises(BrokenAssumptionError, match="assumptions") as raised:
        await invoked(app, how, HERE)
    assert raised.value.assumptions == app.certificate.assumptions
    assert raised.value.steps >= raised.value.allowed == app.certificate.max_supersteps
    assert raised.value.__cause__ is None


@hows
@pytest.mark.parametrize("budget", [None, Budget(model_calls=3)], ids=["no budget", "budget"])
async def test_a_graph_that_the_limit_of_a_plain_graph_around_it_cuts_short_says_so(
    caplog: pytest.LogCaptureFixture, how: str, budget: Any
) -> None:
    class Shown(State, total=False):
        stop_reason: Any

    outer = shapes.graph("START-inner", schema=Shown, inner=round_trip(budget=budget, name="helper"))
    with caplog.at_level(logging.WARNING, "loopwright.loops"):
        final = await invoked(outer.compile(), how, {"recursion_limit": 10})
    assert (final["stop_reason"]["loop"], final["stop_reason"]["limit"]) == ("recursion_limit", 10)
    [record] = caplog.records
    assert "'helper'" in record.getMessage() and "10 of the graph around it" in record.getMessage()


def going_round(budget: Budget | None, backoff: Backoff, exhausted: str = "answer", **fields: Any) -> BoundedGraph:
    made = shapes.graph("START-work work?work work?END answer-END")
    loop = Loop(name="again", target="work", sources=("work",), limit=1000, backoff=backoff, exhausted=exhausted)
    return bounded(made, [loop], budget=budget, **fields)


def test_seconds_end_a_graph_inside_a_node_too_and_no_thread_watches_them() -> None:
    made = StateGraph(State)
    made.add_sequence([(f"nap{number}", lambda _s: time.sleep(0.05)) for number in range(100)])
    made.add_edge(START, "nap0")
    outer = shapes.graph("START-inner", inner=made.compile())
    before = {*threading.enumerate()}
    began = time.monotonic()
    budget = Budget(model_calls=0, seconds=0.3)  # what else is used up does not stop the clock
    assert bounded(outer, budget=budget).invoke({"log": []})["stop_reason"]["resource"] == "seconds"
    assert time.monotonic() - began < 3
    assert not any("loopwright" in thread.name for thread in {*threading.enumerate()} - before)


@pytest.mark.parametrize(("asynchronous", "out"), [(False, END), (True, "answer")])  # the loop's own way may be the end
async def test_a_gate_does_not_wait_beyond_the_runs_seconds(asynchronous: bool, out: str) -> None:
    app = going_round(Budget(seconds=5, exhausted="answer"), Backoff(initial=1.0, factor=2.0), out)
    with ManualClock() as clock:
        final = await app.ainvoke({"log": []}) if asynchronous else app.invoke({"log": []})
    assert clock.now() < 5
    assert final["log"] == ["work", "work", "work", "answer"]  # 1 s and 2 s fit into 4.5, 4 s more do not
    stop = final["stop_reason"]
    assert (stop["loop"], stop["resource"], stop["limit"], stop["spent"]) == ("run", "seconds", 5, pytest.approx(3))
    assert "a wait of 4 more" in stop["reason"]


def test_a_pass_that_cannot_be_waited_for_is_not_counted() -> None:
    app = going_round(Budget(seconds=5), Backoff(initial=10.0))
    kept = going_round(Budget(seconds=5), Backoff(initial=10.0), checkpointer=InMemorySaver())
    with ManualClock():
        assert app.invoke({"log": []})["log"] == ["work"]
        kept.invoke({"log": []}, HERE)
    saved = kept.checkpointer.get_tuple(HERE)  # type: ignore[union-attr]
    entry = saved.checkpoint["channel_values"]["loop_ledger"].get("again")
    assert entry is None or entry["spent"] == 0


@pytest.mark.parametrize("own", [None, Budget(model_calls=9)])
def test_nor_beyond_those_of_a_run_around_it(own: Budget | None) -> None:
    outer = shapes.graph("START-inner", inner=going_round(own, Backoff(initial=10.0)))
    with ManualClock() as clock:
        final = bounded(outer, budget=Budget(seconds=5)).invoke({"log": []})
    assert clock.now() < 5
    assert (final["stop_reason"]["loop"], final["stop_reason"]["limit"]) == ("run", 5)


@hows
async def test_what_a_graph_inside_did_before_its_limit_stays_under_a_budget_around_it(how: str) -> None:
    inner = round_trip().with_config(recursion_limit=3)
    outer = bounded(shapes.graph("START-inner", inner=inner), budget=Budget(model_calls=5))
    assert (await invoked(outer, how))["log"] == ["a", "b"]


@hows
async def test_the_end_of_a_spent_budget_has_the_runs_metadata(how: str) -> None:
    model = ScriptedChatModel("again", repeat_last=True)
    made = shapes.graph("START-a a?a a?END", routes={"a": lambda _: "a"}, a=lambda _: {"log": [model.invoke("?").text]})
    app = bounded(made, limit=9, budget=Budget(model_calls=2), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}, "metadata": {"user": "x"}}
    assert (await invoked(app, how, config))["stop_reason"]["resource"] == "model_calls"
    assert app.get_state(config).metadata["user"] == "x"
