"""`assert_bounded` passes where a graph is bounded, and says all that is needed where it is not."""

from __future__ import annotations

from typing import Any, Literal

import agent
import pytest
from langgraph.graph import StateGraph
from shapes import State, graph

from loopwright import Loop, bounded
from loopwright.engine.proof.certificate import Certificate
from loopwright.testing import assert_bounded


def decide(state: State) -> Literal["retrieve", "generate"]:
    return "generate" if state["text"] == "yes" else "retrieve"


def rag() -> StateGraph[State]:
    made = graph("START-retrieve retrieve-grade generate-END")
    made.add_conditional_edges("grade", decide)
    return made


def message_of(call: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


def test_a_bounded_graph_gives_its_certificate():
    loop = Loop(name="again", target="retrieve", sources=("grade",), limit=2)
    certificate = assert_bounded(rag(), [loop], max_supersteps=10, max_node_runs=20)
    assert isinstance(certificate, Certificate)
    assert certificate == assert_bounded(bounded(rag(), [loop]))


def test_a_graph_inside_a_node_is_bounded_from_outside():
    text = message_of(lambda: assert_bounded(graph("START-inner", inner=rag().compile())))
    assert "inner/retrieve -> inner/grade -> inner/retrieve" in text
    assert "bounded(GRAPH, limit=5)  # bounds the graphs inside it, too" in text


def test_a_worst_case_that_is_too_much_is_shown_with_all_figures():
    app = bounded(agent.app, limit=5)
    text = message_of(lambda: assert_bounded(app, max_supersteps=10, max_node_runs=1000, max_model_calls=6))
    lines = text.splitlines()
    assert lines[0] == "LangGraph is bounded, but its worst case is more than the test allows"
    assert lines[1].split() == [">", "max_supersteps", f"{app.certificate.max_supersteps},", "allowed", "10"]
    assert lines[2].split() == ["max_node_runs", f"{app.certificate.max_node_runs},", "allowed", "1,000"]
    assert lines[3].split() == [">", "max_model_calls", "unknown,", "allowed", "6"]
    assert lines[4].split() == ["max_seconds", "unknown"]
