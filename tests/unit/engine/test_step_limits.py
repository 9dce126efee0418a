"""What ends a run at a step limit: the user's, that of a graph around it, or the certificate's own."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from shapes import State

from loopwright.engine import BoundedGraph, Budget, Loop, bounded
from loopwright.errors import BrokenAssumptionError

hows = pytest.mark.parametrize("how", ["sync", "async"])


def round_trip(limit: int = 20, **options: Any) -> BoundedGraph:
    made = shapes.graph("START-a a-b b?a b?END")
    return bounded(made, [Loop(name="again", target="a", sources=("b",), limit=limit)], **options)


async def invoked(app: Any, how: str, config: Any = None) -> Any:
    return await app.ainvoke({"log": []}, config) if how == "async" else app.invoke({"log": []}, config)


# The certificate's own


@hows
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
@pytest.mark.parametrize("budget", [None, Budget(model_calls=3)], ids=["no budget", "budget"])
async def test_a_run_beyond_its_certificate_names_what_the_proof_did_not_know(
    how: str, saver: Any, budget: Any
) -> None:
    app = round_trip(limit=1, budget=budget, checkpointer=saver and saver())
    app.attach_edge("b", "b")  # the graph is changed behind its proof's back
    with pytest.raises(BrokenAssumptionError, match="assumptions") as raised:
        await invoked(app, how, {"configurable": {"thread_id": "t"}})
    assert raised.value.assumptions == app.certificate.assumptions
    assert raised.value.steps >= raised.value.allowed == app.certificate.max_supersteps
    assert raised.value.__cause__ is None


# That of a graph around it


@hows
@pytest.mark.parametrize("budget", [None, Budget(model_calls=3)], ids=["no budget", "budget"])
async def test_a_graph_that_the_limit_of_a_plain_graph_around_it_cuts_short_says_so(
    caplog: pytest.LogCaptureFixture, how: str, budget: Any
) -> None:
    class Shown(State, total=False):
        stop_reason: Any

    inner = round_trip(budget=budget, name="helper")
    outer = shapes.graph("START-inner", schema=Shown, inner=inner)
    with caplog.at_level(logging.WARNING, "loopwright.loops"):
        final = await invoked(outer.compile(), how, {"recursion_limit": 10})
    assert (final["stop_reason"]["loop"], final["stop_reason"]["limit"]) == ("recursion_limit", 10)
    [record] = caplog.records
    assert "'helper'" in record.getMessage() and "10 of the graph around it" in record.getMessage()
