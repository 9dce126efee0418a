"""Who runs a bounded graph may drain it as LangGraph offers, with and without a budget of the run's."""

from __future__ import annotations

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.graph import END
from langgraph.runtime import RunControl
from shapes import State

from loopwright.engine import Budget, Loop, bounded


def app(control: RunControl, budget: Budget | None):
    def work(state: State):
        if len(state["log"]) == 2:
            control.request_drain("the machine stops")
        return {"log": ["work"]}

    made = shapes.graph("START-work work-check check?work check?END", work=work)
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
