"""The certificate, against what plain LangGraph itself reports of its tasks."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, RetryPolicy
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop
from loopwright.engine.proof.cycles import unbounded_cycles
from loopwright.engine.proof.verify import verify
from loopwright.errors import UnboundedCycleError
from loopwright.testing import ScriptedChatModel


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def note(name: str) -> Callable[[State], dict[str, Any]]:
    def node(_state: State) -> dict[str, Any]:
        return {"log": [name]}

    return node


def graph(edges: str, **options: dict[str, Any]) -> StateGraph[Any]:
    """A graph from ``"START-a a-b b?a b?END"``: ``-`` always, ``?`` the router's choice, which is always the first."""
    made = StateGraph(State)
    pairs = [(edge.replace("?", "-").split("-"), "?" in edge) for edge in edges.split()]
    names = dict.fromkeys(
        name for (source, target), _ in pairs for name in (source, target) if name not in ("START", "END")
    )
    for name in names:
        made.add_node(name, **{"action": note(name), **options.get(name, {})})
    routed: dict[str, list[str]] = {}
    for (source, target), chosen in pairs:
        if chosen:
            routed.setdefault(source, []).append(END if target == "END" else target)
        else:
            made.add_edge(START if source == "START" else source, END if target == "END" else target)
    for source, targets in routed.items():
        made.add_conditional_edges(source, lambda _, first=targets[0]: first, targets)
    return made


def loop(name: str, sources: str, target: str, limit: int, exhausted: str = END, **fields: Any) -> Loop:
    return Loop(name=name, sources=tuple(sources), target=target, limit=limit, exhausted=exhausted, **fields)


# Exactness


# Parts of LangGraph


def test_error_handlers_run_beside_their_nodes_and_are_counted() -> None:
    def fail(_state: State) -> dict[str, Any]:
        raise RuntimeError("broken")

    def handle(_state: State) -> dict[str, Any]:
        return {"log": ["handled"]}

    made = graph("START-a a-b b?a b?END", a={"action": fail, "error_handler": handle})
    handler = made.nodes["a"].error_handler_node
    assert handler is not None
    app = bounded(made, [loop("x", "b", "a", 2)])
    final = app.invoke({"log": []})
    assert app.certificate.max_runs_by_node[handler] == 3 >= final["log"].count("handled")


def test_a_default_handler_is_counted_for_every_node_that_it_serves() -> None:
    made = graph("START-a START-b")
    made.set_node_defaults(error_handler=lambda _: {"log": ["handled"]})
    certificate = verify(made)
    assert certificate.max_runs_by_node["__default_error_handler__"] == 2


def test_a_command_that_declares_nothing_may_go_anywhere() -> None:
    made = graph("START-a b-END")
    made.add_node("jump", lambda s: Command(goto=s["log"][0]))
    made.add_edge("a", "jump")
    certificate = verify(made)
    assert not certificate.bounded
    assert ("jump",) in certificate.unbounded_cycles


# Costs


def test_model_calls_and_seconds_add_up_over_the_runs_with_retries_and_subgraphs() -> None:
    def costs(calls: int, seconds: float) -> dict[str, Any]:
        return {"metadata": {"loopwright_max_model_calls": calls, "loopwright_max_seconds": seconds}}

    inner = graph("START-x", x=costs(5, 0.5))
    made = graph("START-a a-sub sub?a sub?END", a=costs(2, 1.5), sub={"action": inner.compile()})
    certificate = bounded(made, [loop("out", ["sub"], "a", 2)]).certificate  # type: ignore[arg-type]
    assert certificate.max_model_calls == 3 * (2 + 5)
    assert certificate.max_seconds == pytest.approx(3 * 2.0)
    assert verify(graph("START-a a-b", a=costs(1, 1))).max_model_calls is None


def test_a_node_of_the_user_s_whose_name_begins_like_a_gate_s_is_not_free() -> None:
    assert verify(graph("START-loop.mine")).max_model_calls is None


def test_a_graph_called_inside_a_node_may_jump_in_the_graph_around_it() -> None:
    inner = graph("START-x", x={"action": lambda _: Command(goto="a", graph=Command.PARENT)}).compile()
    made = graph("START-a a-b", b={"action": lambda _: inner.invoke({"log": []})})
    assert ("a", "b") in verify(made).unbounded_cycles


def test_assumptions_name_what_the_figures_rest_on() -> None:
    called = graph("START-x").compile()

    def calls_a_graph(_state: State) -> dict[str, Any]:
        return called.invoke({"log": []})  # type: ignore[return-value]

    made = graph("START-a a-b c-END", a={"retry_policy": RetryPolicy()}, b={"action": calls_a_graph})
    made.add_conditional_edges("b", lambda s: s["log"][0])
    text = "; ".join(verify(made).assumptions)
    for part in ("own code ends", "retries of a are", "b calls 1 graph", "routers of b name no destinations", "resume"):
        assert part in text
    outer = graph("START-x x-END", x={"action": made.compile()})
    assert "x/b calls 1 graph(s) inside" in " ".join(verify(outer).assumptions)


# Cycles


def test_every_unbounded_cycle_is_listed_once_from_its_first_node() -> None:
    certificate = verify(graph("START-a a-b b-c c?a c?b c?c c?END"))
    assert set(certificate.unbounded_cycles) == {("a", "b", "c"), ("b", "c"), ("c",)}
    assert len(certificate.unbounded_cycles) == 3
    assert certificate.max_supersteps is None and certificate.max_node_runs is None


def test_cycles_of_a_large_graph_are_found_in_reasonable_time() -> None:
    follow = {f"n{i}": [f"n{j}" for j in range(i + 1, min(i + 4, 150))] for i in range(150)}
    assert unbounded_cycles(follow) == []
    follow["n149"] = ["n0"]
    assert any(len(cycle) > 40 for cycle in unbounded_cycles(follow))


def test_a_node_without_a_way_on_is_named_in_the_certificate() -> None:
    ends = verify(graph("START-a a-b")).assumptions
    assert any(line.startswith("b has no way on") for line in ends)
    assert not any("no way on" in line for line in verify(graph("START-a a-END")).assumptions)


# Fallbacks by source


def by_source(first: str, second: str) -> CompiledStateGraph[Any]:
    """``work -> first``, and ``elsewhere -> second``; first and second ask for another pass whenever they run."""
    builder = StateGraph(State)
    for name in ("work", "first", "elsewhere", "second"):
        builder.add_node(name, note(name))
    builder.add_edge(START, "work")
    builder.add_edge("work", "first")
    builder.add_conditional_edges("first", lambda _: "again", {"again": "work", "on": "elsewhere"})
    builder.add_edge("elsewhere", "second")
    builder.add_conditional_edges("second", lambda _: "again", {"again": "work", "done": END})
    routes = {"first": first, "second": second}
    loop = Loop(name="again", target="work", sources=("first", "second"), limit=2, exhausted=routes)
    return bounded(builder, [loop])


def test_a_refusal_goes_only_where_the_source_that_asked_leads() -> None:
    """Elsewhere leads to second, and second asks at the same gate; but second is refused to the end, not to elsewhere."""
    app = by_source("elsewhere", END)
    assert app.invoke({"log": []})["log"] == [*(["work", "first"] * 3), "elsewhere", "second"]
    steps = [*app.stream({"log": []}, stream_mode="updates")]
    assert len(steps) <= (verify(app).max_supersteps or 0)


def test_a_fallback_by_source_that_leads_back_into_its_own_refusal_is_no_proof() -> None:
    with pytest.raises(UnboundedCycleError, match="exhausted route of loop 'again' leads back into it"):
        by_source(END, "elsewhere")


# LangChain's own limits


def agent_of(*middleware: Any) -> Any:
    agents = pytest.importorskip("langchain.agents")
    calls = [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": str(n)}]) for n in range(20)]

    def look() -> str:
        """Find nothing."""
        return "nothing"

    return agents.create_agent(ScriptedChatModel(*calls), [look], middleware=[*middleware])


def test_a_limit_of_langchain_bounds_the_agent_in_its_certificate_and_in_its_runs() -> None:
    limit = pytest.importorskip("langchain.agents.middleware").ModelCallLimitMiddleware(run_limit=4)
    agent = agent_of(limit)
    certificate = verify(agent)
    assert certificate.bounded
    assert any("at most 4 times (LangChain's own limit" in each for each in certificate.assumptions)
    runs: Counter[str] = Counter()
    for chunk in agent.stream({"messages": [("user", "?")]}, stream_mode="tasks"):
        if "triggers" in chunk:
            runs[chunk["name"]] += 1
    most = certificate.max_runs_by_node
    assert all(count <= (most[node] or count) for node, count in runs.items())
    assert runs["model"] == 4
    assert "stop_reason" not in bounded(agent).invoke({"messages": [("user", "?")]})
