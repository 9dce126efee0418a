"""What reaches a budget from the threads that a node starts itself; and many runs at once see nothing of one another."""

from __future__ import annotations

import asyncio
import contextvars
import operator
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
import shapes
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnableParallel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import StateGraph
from shapes import State

from loopwright.engine import BoundedGraph, Budget, Loop, StateLimit, bounded, verify
from loopwright.engine.budget.meter import current_meter
from loopwright.testing import ScriptedChatModel

TOKENS = {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}


def scripted() -> ScriptedChatModel:
    return ScriptedChatModel(AIMessage("hm", usage_metadata=TOKENS), repeat_last=True)


def in_bare_thread(call: Callable[[], Any]) -> None:
    """Call something in a thread that has nothing of this one's context; a refused call ends it."""

    def work() -> None:
        with suppress(GraphDrained):
            call()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_copied_context(call: Callable[[], Any]) -> None:
    context = contextvars.copy_context()
    in_bare_thread(lambda: context.run(call))


WAYS: dict[str, Callable[[ScriptedChatModel, RunnableConfig], Any]] = {
    "by itself": lambda model, config: model.invoke("x"),
    "with its config": lambda model, config: model.invoke("x", config),
    "with callbacks of its own": lambda model, config: model.invoke("x", {"callbacks": [BaseCallbackHandler()]}),
    "streamed": lambda model, config: [*model.stream("x", config)],
    "batch of one": lambda model, config: model.batch(["x"], config),
    "side by side": lambda model, config: RunnableParallel(only=model).invoke("x", config),
    "in a chain": lambda model, config: (RunnableLambda(str) | model).invoke("x", config),
    "bare thread": lambda model, config: in_bare_thread(lambda: model.invoke("x", config)),
    "bare thread, streamed": lambda model, config: in_bare_thread(lambda: [*model.stream("x", config)]),
    "bare thread, batch": lambda model, config: in_bare_thread(lambda: model.batch(["x"], config)),
    "bare loop": lambda model, config: in_bare_thread(lambda: asyncio.run(model.ainvoke("x", config))),
    "copied context": lambda model, config: in_copied_context(lambda: model.invoke("x")),
    "both": lambda model, config: in_copied_context(lambda: model.invoke("x", config)),
}


def asking(model: ScriptedChatModel, way: str, calls: int) -> StateGraph[Any]:
    """One node that makes so many calls in one of the ways, and says how many its budget heard of."""

    def work(_state: State, config: RunnableConfig) -> State:
        for _ in range(calls):
            WAYS[way](model, config)
        spent = current_meter.get().total()
        return {"log": [f"{spent['model_calls']:g} calls, {spent['tokens']:g} tokens"]}

    return shapes.graph("START-work", work=work)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("way", WAYS)
async def test_every_call_is_counted_once(way: str, asynchronous: bool) -> None:
    app = bounded(asking(scripted(), way, 3), budget=Budget(model_calls=9))
    final = await app.ainvoke({}) if asynchronous else app.invoke({})
    assert final["log"] == ["3 calls, 30 tokens"]


@pytest.mark.parametrize("way", WAYS)
def test_the_call_beyond_the_budget_is_refused(way: str) -> None:
    model = scripted()
    final = bounded(asking(model, way, 6), budget=Budget(model_calls=2)).invoke({})
    assert len(model.calls) == 2
    assert final["stop_reason"]["resource"] == "model_calls"


@pytest.mark.parametrize("way", ["bare thread", "bare loop", "both", "with its config"])
def test_a_call_that_an_inner_budget_refuses_is_not_charged_to_the_outer_one(way: str) -> None:
    model, spent = scripted(), []
    inner = bounded(asking(model, way, 6), budget=Budget(model_calls=2))

    def work(state: State, config: RunnableConfig) -> None:
        inner.invoke({"log": []}, config)
        spent.append(current_meter.get().total()["model_calls"])

    bounded(shapes.graph("START-work", work=work), budget=Budget(model_calls=9)).invoke({"log": []})
    assert (len(model.calls), spent) == (2, [2])


def test_a_graph_called_in_a_bare_thread_belongs_to_the_run_whose_config_it_is_given() -> None:
    model = scripted()
    inner = bounded(asking(model, "bare thread", 6), budget=Budget(model_calls=5))

    def work(_state: State, config: RunnableConfig) -> None:
        in_bare_thread(lambda: inner.invoke({"log": []}, {"callbacks": config["callbacks"]}))

    final = bounded(shapes.graph("START-work", work=work), budget=Budget(model_calls=3)).invoke({"log": []})
    assert (len(model.calls), final["stop_reason"]["limit"]) == (3, 3)


@pytest.mark.parametrize("form", ["list", "manager in a node", "on the graph"])
def test_the_callers_own_callbacks_hear_each_call_once(form: str) -> None:
    class Ear(BaseCallbackHandler):
        heard = 0

        def on_chat_model_start(self, *_args: Any, **_kwargs: Any) -> None:
            self.heard += 1

    ear = Ear()
    app: Any = bounded(asking(scripted(), "with its config", 2), budget=Budget(model_calls=9))
    if form == "list":
        app.invoke({}, {"callbacks": [ear]})
    elif form == "on the graph":
        app.with_config(callbacks=[ear]).invoke({}, {"callbacks": [BaseCallbackHandler()]})
    else:
        outer = shapes.graph("START-inner", inner=lambda state, config: app.invoke(state, config))
        outer.compile().invoke({"log": []}, {"callbacks": [ear]})
    assert ear.heard == 2


def test_the_certificate_says_what_is_not_counted() -> None:
    made = asking(scripted(), "by itself", 1)
    assert any("thread" in line for line in bounded(made, budget=Budget(model_calls=1)).certificate.assumptions)
    assert not any("thread" in line for line in verify(made).assumptions)


RUNS, LIMITS = 60, 4


class RunState(TypedDict):
    run: int
    limit: int
    count: int
    notes: list[str]
    trail: Annotated[list[str], operator.add]


def work(state: RunState) -> dict[str, list[str]]:
    return {"trail": [f"{state['run']}.{state['count']}"]}


async def async_work(state: RunState) -> dict[str, list[str]]:
    await asyncio.sleep(0)
    return work(state)


def one_graph(saver: Any, node: Any) -> BoundedGraph:
    graph = shapes.graph("START-work work-work", schema=RunState, work=node)
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
    places: Any = ({"configurable": {"thread_id": number}} for number in range(RUNS))
    with ThreadPoolExecutor(8) as pool:
        check([*pool.map(graph.invoke, map(given, range(RUNS)), places)])
