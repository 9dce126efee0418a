"""A run goes on with the graph that began it, or says why not."""

from __future__ import annotations

from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from loopwright.engine import Loop, bounded, resume, run
from loopwright.errors import CheckpointError


class State(TypedDict, total=False):
    n: int
    answer: str


def graph(extra: str | None = None, ends: str = END) -> StateGraph[Any]:
    made = shapes.graph(
        "START-work work-ask",
        schema=State,
        work=lambda s: {"n": s.get("n", 0) + 1},
        ask=lambda s: {"answer": interrupt("well?")},
    )
    if extra:
        made.add_node(extra, lambda s: {})
        made.add_edge("ask", extra)
        made.add_edge(extra, END)
    made.add_conditional_edges("ask", lambda s: "work" if s["answer"] == "no" else END, ["work", ends])
    return made


def loop(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "work", "sources": ("ask",), "limit": 2, **fields})


@pytest.fixture
def saver() -> InMemorySaver:
    saver = InMemorySaver()
    run(bounded(graph(), [loop()], checkpointer=saver), {"n": 0}, thread_id="t")
    return saver


CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda saver: bounded(graph("more"), [loop()], checkpointer=saver), id="a node more"),
        pytest.param(lambda saver: bounded(graph(), [loop(name="other")], checkpointer=saver), id="another loop"),
    ],
)
async def test_a_changed_graph_is_refused_and_says_how_to_go_on(changed: Any, saver: InMemorySaver) -> None:
    app = changed(saver)
    with pytest.raises(CheckpointError, match=r"thread 't' was begun by a graph of another structure.*force=True"):
        app.invoke(Command(resume="yes"), CONFIG)
    with pytest.raises(CheckpointError, match="another structure"):
        await app.ainvoke(Command(resume="yes"), CONFIG)
    with pytest.raises(CheckpointError, match="another structure"):
        resume(app, thread_id="t")


def test_a_changed_graph_goes_on_when_forced(saver: InMemorySaver) -> None:
    app = bounded(graph("more"), [loop()], checkpointer=saver)
    assert resume(app, thread_id="t", force=True).events[-1].type == "run_finished"
    forced = {"configurable": {"thread_id": "t", "loopwright_force": True}}
    assert app.invoke(Command(resume="yes"), forced)["answer"] == "yes"


def test_a_checkpoint_of_a_graph_that_was_not_bounded_is_let_pass() -> None:
    saver = InMemorySaver()
    graph().compile(checkpointer=saver).invoke({"n": 0}, CONFIG)
    app = bounded(graph(), [loop()], checkpointer=saver)
    assert app.invoke(Command(resume="yes"), CONFIG)["answer"] == "yes"
