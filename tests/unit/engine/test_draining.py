"""Who runs a bounded graph may drain it as LangGraph offers, with and without a budget of the run's."""

from __future__ import annotations

import operator
from typing import Annotated

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import RunControl
from typing_extensions import TypedDict

from loopwright.engine import Budget, Loop, bounded


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def app(control: RunControl, budget: Budget | None):
    def work(state: State):
        if len(state["log"]) == 2:
            control.request_drain("the machine stops")
        return {"log": ["work"]}

    made = StateGraph(State)
    made.add_node("work", work)
    made.add_node("check", lambda _state: {"log": ["check"]})
    made.add_edge(START, "work")
    made.add_edge("work", "check")
    made.add_conditional_edges("check", lambda _state: "work", ["work", END])
    loop = Loop(name="again", target="work", sources=("check",), limit=2, exhausted=END)
    return bounded(made, [loop], budget=budget, checkpointer=InMemorySaver())


@pytest.mark.parametrize("budget", [None, Budget(model_calls=5), Budget(seconds=60)], ids=["none", "calls", "seconds"])
async def test_a_drained_run_goes_on_from_where_it_was(budget):
    control = RunControl()
    graph, here = app(control, budget), {"configurable": {"thread_id": "1"}}
    with pytest.raises(GraphDrained, match="the machine stops"):
        await graph.ainvoke({"log": []}, here, control=control)
    assert graph.get_state(here).values["log"] == ["work", "check", "work"]
    final = await graph.ainvoke(None, here, control=RunControl())
    assert final["log"] == ["work", "check"] * 3
    assert final["stop_reason"]["loop"] == "again"
