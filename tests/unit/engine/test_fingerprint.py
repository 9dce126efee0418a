"""A run goes on with the graph that began it, or says why not."""

from __future__ import annotations

from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, StateGraph
from langgraph.types import Command, interrupt
from shapes import HERE, State

from loopwright.engine import BoundedGraph, bounded, resume, run
from loopwright.errors import CheckpointError


def graph(more: str = "") -> StateGraph[Any]:
    nodes: Any = {"work": lambda s: {"count": s.get("count", 0) + 1}, "ask": lambda s: {"text": interrupt("well?")}}
    routes = {"ask": lambda s: "work" if s["text"] == "no" else END}
    return shapes.graph(f"START-work work-ask ask?work ask?END {more}", State, routes, more=lambda _: {}, **nodes)


def app_of(saver: Any, more: str = "", name: str = "again") -> BoundedGraph:
    return bounded(graph(more), [shapes.loop(name, "ask", "work", 2)], checkpointer=saver)


@pytest.fixture
def saver() -> InMemorySaver:
    saver = InMemorySaver()
    run(app_of(saver), {"count": 0}, thread_id="t")
    return saver


MORE = {"more": "ask-more more-END"}


@pytest.mark.parametrize("changed", [MORE, {"name": "other"}], ids=["a node more", "another loop"])
async def test_a_changed_graph_is_refused_and_says_how_to_go_on(changed: Any, saver: InMemorySaver) -> None:
    app = app_of(saver, **changed)
    with pytest.raises(CheckpointError, match=r"thread 't' was begun by a graph of another structure.*force=True"):
        app.invoke(Command(resume="yes"), HERE)
    with pytest.raises(CheckpointError, match="another structure"):
        await app.ainvoke(Command(resume="yes"), HERE)
    with pytest.raises(CheckpointError, match="another structure"):
        resume(app, thread_id="t")


def test_what_waits_in_a_node_that_is_gone_is_not_over(saver: InMemorySaver) -> None:
    app = bounded(shapes.graph("START-work work?work work?END"), limit=2, checkpointer=saver)
    with pytest.raises(CheckpointError, match="another structure"):
        app.invoke(Command(update={"count": 9}), HERE)


def test_a_changed_graph_goes_on_when_forced(saver: InMemorySaver) -> None:
    app = app_of(saver, **MORE)
    assert resume(app, thread_id="t", force=True).events[-1].type == "run_finished"
    forced = {"configurable": {"thread_id": "t", "loopwright_force": True}}
    assert app.invoke(Command(resume="yes"), forced)["text"] == "yes"


def test_a_checkpoint_of_a_graph_that_was_not_bounded_is_let_pass() -> None:
    saver = InMemorySaver()
    graph().compile(checkpointer=saver).invoke({"count": 0}, HERE)
    assert app_of(saver).invoke(Command(resume="yes"), HERE)["text"] == "yes"
