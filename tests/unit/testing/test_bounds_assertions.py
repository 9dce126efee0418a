"""`assert_bounded` and `assert_stops` pass where a graph is bounded, and say all that is needed where it is not."""

from __future__ import annotations

from typing import Any, Literal

import agent
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from loopwright import Loop, NodePolicy, add_node, bounded
from loopwright.engine.proof.certificate import Certificate
from loopwright.errors import GraphError
from loopwright.testing import AlwaysNo, aassert_stops, always, assert_bounded, assert_stops


class State(TypedDict, total=False):
    grade: str
    answer: str


def decide(state: State) -> Literal["retrieve", "generate"]:
    return "generate" if state["grade"] == "yes" else "retrieve"


def rag(grade: Any = lambda state: {"grade": "yes"}, router: Any = decide) -> StateGraph[State]:
    builder = StateGraph(State)
    for name, node in {"retrieve": lambda state: {}, "grade": grade, "generate": lambda state: {"answer": "x"}}.items():
        builder.add_node(name, node)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "grade")
    builder.add_conditional_edges("grade", router)
    builder.add_edge("generate", END)
    return builder


def message_of(call: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


# --- assert_bounded ------------------------------------------------------------------------------------------------


def test_a_bounded_graph_gives_its_certificate():
    loop = Loop(name="again", target="retrieve", sources=("grade",), limit=2)
    certificate = assert_bounded(rag(), [loop], max_supersteps=10, max_node_runs=20)
    assert isinstance(certificate, Certificate)
    assert certificate == assert_bounded(bounded(rag(), [loop]))


def test_the_suggestions_for_a_graph_inside_a_node_say_which():
    outer = StateGraph(State)
    outer.add_node("inner", rag().compile())
    outer.add_edge(START, "inner")
    text = message_of(lambda: assert_bounded(outer))
    assert "inner/retrieve -> inner/grade -> inner/retrieve" in text
    assert "in the graph of node 'inner': Loop(name='retrieve', target='retrieve', sources=('grade',), limit=5)" in text


def test_a_cycle_behind_a_gate_is_explained():
    loop = Loop(name="again", target="retrieve", sources=("grade",), limit=2, exhausted="grade")
    text = message_of(lambda: assert_bounded(rag(), [loop]))
    assert "The exhausted route of loop 'again' leads back into it" in text


def test_a_worst_case_that_is_too_much_is_shown_with_all_figures():
    app = bounded(agent.app, limit=5)
    text = message_of(lambda: assert_bounded(app, max_supersteps=10, max_node_runs=1000, max_model_calls=6))
    lines = text.splitlines()
    assert lines[0] == "LangGraph is bounded, but its worst case is more than the test allows"
    assert lines[1].split() == [">", "max_supersteps", f"{app.certificate.max_supersteps},", "allowed", "10"]
    assert lines[2].split() == ["max_node_runs", f"{app.certificate.max_node_runs},", "allowed", "1,000"]
    assert lines[3].split() == [">", "max_model_calls", "unknown,", "allowed", "6"]
    assert lines[4].split() == ["max_seconds", "unknown"]


# --- assert_stops --------------------------------------------------------------------------------------------------


def test_a_graph_with_replaced_graders_stops_at_its_bound():
    no = AlwaysNo()
    stopped = assert_stops(rag(), {}, limit=3, nodes={"grade": no.node(grade="no")})
    assert (stopped.stop_reason["outcome"], stopped.stop_reason["spent"], no.asked) == ("exhausted", 3, 4)
    assert stopped.runs_by_node["retrieve"] == stopped.runs_by_node["grade"] == 4
    assert stopped.supersteps <= stopped.certificate.max_supersteps
    assert stopped.state["grade"] == "no"


@pytest.mark.parametrize("annotated", [True, False])
def test_a_router_is_replaced_whether_its_destinations_are_known_or_not(annotated):
    no = AlwaysNo()
    builder = rag(router=decide if annotated else lambda state: "generate")
    loop = Loop(name="again", target="retrieve", sources=("grade",), limit=2)
    stopped = assert_stops(builder.compile(), {}, [loop], routers={"grade": no.router("retrieve", "generate")})
    assert (stopped.stop_reason["loop"], no.asked) == ("again", 3)


def test_more_model_calls_than_declared_are_found():
    model = always("no")
    builder = StateGraph(State)
    add_node(builder, "grade", lambda state: [model.invoke("?"), {}][1], NodePolicy(max_model_calls=0))
    builder.add_edge(START, "grade")
    builder.add_edge("grade", "grade")
    text = message_of(lambda: assert_stops(builder, {}, limit=1))
    assert text == "the run went beyond its certificate: 2 model calls, at most 0"


async def test_async_nodes_are_run():
    async def grade(state: State) -> State:
        return {"grade": "no"}

    stopped = await aassert_stops(bounded(rag(grade), limit=2), {})
    assert stopped.stop_reason["spent"] == 2


def test_a_run_that_reaches_no_bound_tests_nothing():
    assert "reached no bound" in message_of(lambda: assert_stops(rag(), {}, limit=2))
    assert assert_stops(rag(), {}, limit=2, at_bound=False).stop_reason is None


def test_a_run_that_waits_for_a_person_did_not_end():
    builder = rag(lambda state: {"grade": interrupt("?")})
    text = message_of(
        lambda: assert_stops(
            builder, {}, limit=2, checkpointer=InMemorySaver(), config={"configurable": {"thread_id": "1"}}
        )
    )
    assert "it waits at an interrupt" in text


def test_a_run_beyond_its_certificate_is_found():
    app = bounded(rag(lambda state: {"grade": "no"}), limit=3)
    app.certificate = assert_bounded(rag(), [Loop(name="r", target="retrieve", sources=("grade",), limit=1)])
    text = message_of(lambda: assert_stops(app, {}))
    assert "runs of 'retrieve', at most" in text


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"nodes": {"grad": print}}, "unknown node 'grad'. Did you mean 'grade'"),
        ({"routers": {"retrieve": print}}, "node 'retrieve' has 0 routers.*'grade'"),
    ],
)
def test_what_cannot_be_replaced_is_refused(change, problem):
    with pytest.raises(GraphError, match=problem):
        assert_stops(rag(), {}, limit=1, **change)


def test_a_graph_that_is_bounded_already_is_not_changed():
    with pytest.raises(GraphError, match="bounded already"):
        assert_stops(bounded(rag(), limit=1), {}, nodes={"grade": AlwaysNo().node(grade="no")})
