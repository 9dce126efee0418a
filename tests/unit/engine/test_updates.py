"""Threads that are touched from outside: a gate's decision stands under updates, and a drained run goes on."""

from __future__ import annotations

from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import END, START
from langgraph.runtime import RunControl
from langgraph.types import StateUpdate
from shapes import HERE, State

from loopwright.engine import BoundedGraph, Budget, Loop, bounded


def app(limit: int = 2, **options: Any) -> BoundedGraph:
    made = shapes.graph("START-work work?work work?END")
    loop = Loop(name="again", target="work", sources=("work",), limit=limit)
    return bounded(made, [loop], **{"interrupt_before": ["work"], **options})


def at_the_gate(graph: Any) -> Any:
    graph.invoke({"log": []}, HERE)
    graph.invoke(None, HERE)
    assert graph.get_state(HERE).next == ("work",)
    return graph


def to_the_end(graph: Any) -> list[str]:
    while graph.get_state(HERE).next:
        graph.invoke(None, HERE)
    return graph.get_state(HERE).values["log"]


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_updates_in_bulk_keep_the_granted_pass(how: str) -> None:
    graph = at_the_gate(app(checkpointer=InMemorySaver()))
    supersteps = [[StateUpdate({"log": [word]})] for word in ("one", "two")]
    if how == "sync":
        graph.bulk_update_state(HERE, supersteps)
    else:
        await graph.abulk_update_state(HERE, supersteps)
    assert graph.get_state(HERE).next == ("work",)
    assert to_the_end(graph) == ["work", "one", "two", "work", "work"]
    assert graph.get_state(HERE).values["stop_reason"]["spent"] == 2


def test_no_update_writes_the_books() -> None:
    graph = at_the_gate(app(limit=3, checkpointer=InMemorySaver()))
    graph.update_state(HERE, {"loop_ledger": {"": {"since": 9}, "again": {"spent": -5, "limit": 9}}}, "work")
    assert to_the_end(graph) == ["work"] * 3
    assert graph.get_state(HERE).values["stop_reason"]["spent"] == 3


def test_an_input_that_is_written_as_an_update_starts_new_books() -> None:
    graph = at_the_gate(app(checkpointer=InMemorySaver()))
    assert to_the_end(graph) == ["work"] * 3
    for _ in range(2):
        graph.update_state(HERE, {"log": ["more"]}, as_node=START)
        assert to_the_end(graph)[-4:] == ["more", *["work"] * 3]
        assert graph.get_state(HERE).values["stop_reason"]["spent"] == 2


def test_a_drain_of_a_plain_graph_around_is_heard_under_a_budget() -> None:
    control = RunControl()
    made = shapes.graph("START-work work-more", work=lambda _: control.request_drain("the machine stops"))
    around = shapes.graph("START-inner", inner=bounded(made, budget=Budget(model_calls=5)))
    with pytest.raises(GraphDrained, match="the machine stops"):
        [*around.compile().stream({"log": []}, control=control, subgraphs=True)]


@pytest.mark.parametrize("budget", [None, Budget(model_calls=5), Budget(seconds=60)], ids=["none", "calls", "seconds"])
async def test_a_drained_run_goes_on_from_where_it_was(budget: Budget | None) -> None:
    control = RunControl()

    def work(state: State) -> dict[str, Any]:
        if len(state["log"]) == 2:
            control.request_drain("the machine stops")
        return {"log": ["work"]}

    made = shapes.graph("START-work work-check check?work check?END", work=work)
    loop = Loop(name="again", target="work", sources=("check",), limit=2, exhausted=END)
    graph = bounded(made, [loop], budget=budget, checkpointer=InMemorySaver())
    with pytest.raises(GraphDrained, match="the machine stops"):
        await graph.ainvoke({"log": []}, HERE, control=control)
    assert graph.get_state(HERE).values["log"] == ["work", "check", "work"]
    final = await graph.ainvoke(None, HERE, control=RunControl())
    assert final["log"] == ["work", "check"] * 3
    assert final["stop_reason"]["loop"] == "again"
