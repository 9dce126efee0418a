"""Who asks for ``states`` is told of every checkpoint, in order, with the state as it then was."""

from __future__ import annotations

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END

from loopwright.engine import Budget, Loop, bounded
from loopwright.engine.events.schema import NodeFinished, RunFinished, StateSaved
from loopwright.engine.events.stream import arun, run
from loopwright.engine.graph import BoundedGraph


def app(**options) -> BoundedGraph:
    made = shapes.graph("START-work work-check check?work check?END")
    loop = Loop(name="again", target="work", sources=("check",), limit=1, counter="passes", exhausted=END)
    return bounded(made, [loop], **options)


def saved(result) -> list[StateSaved]:
    return [event for event in result.events if isinstance(event, StateSaved)]


@pytest.mark.parametrize("budget", [None, Budget(model_calls=5)], ids=["", "with a budget"])
async def test_each_checkpoint_is_told_of_with_its_state(budget):
    saver = InMemorySaver()
    graph = app(checkpointer=saver, budget=budget)
    for name, result in (
        ("sync", run(graph, {"log": []}, thread_id="sync", states=True)),
        ("async", await arun(graph, {"log": []}, thread_id="async", states=True)),
    ):
        states = saved(result)
        kept = [
            each.config["configurable"]["checkpoint_id"] for each in saver.list({"configurable": {"thread_id": name}})
        ]
        assert [state.checkpoint_id for state in states] == kept[::-1]
        assert [state.next for state in states][-6:] == [
            ["check"],
            ["loop.again"],
            ["work"],
            ["check"],
            ["loop.again"],
            [],
        ]
        assert states[-1].values["log"] == ["work", "check", "work", "check"]
        assert states[-1].values["passes"] == 1
        steps = [state.step for state in states]
        assert steps == sorted(steps)
        at = {type(event): place for place, event in enumerate(result.events)}
        assert at[NodeFinished] < at[StateSaved] < at[RunFinished]
