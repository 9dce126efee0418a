"""The certificate, against what plain LangGraph itself reports of its tasks."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command, RetryPolicy
from shapes import graph, loop

from loopwright.engine.bounds import bounded
from loopwright.engine.proof.choice import choose, cycles_of
from loopwright.engine.proof.verify import verify
from loopwright.errors import UnboundedCycleError


def test_a_default_handler_is_counted_for_every_node_that_it_serves() -> None:
    made = graph("START-a START-b")
    made.set_node_defaults(error_handler=lambda _: {"log": ["handled"]})
    assert verify(made).max_runs_by_node["__default_error_handler__"] == 2


def test_model_calls_and_seconds_add_up_over_the_runs_with_retries_and_subgraphs() -> None:
    def costs(calls: int, seconds: float) -> dict[str, Any]:
        return {"metadata": {"loopwright_max_model_calls": calls, "loopwright_max_seconds": seconds}}

    inner = graph("START-x", x=costs(5, 0.5))
    made = graph("START-a a-sub sub?a sub?END", a=costs(2, 1.5), sub={"action": inner.compile()})
    certificate = bounded(made, [loop("out", "sub", "a", 2)]).certificate
    assert certificate.max_model_calls == 3 * (2 + 5)
    assert certificate.max_seconds == pytest.approx(3 * 2.0)
    assert verify(graph("START-a a-b", a=costs(1, 1))).max_model_calls is None


@pytest.mark.parametrize("called", [True, False])
@pytest.mark.parametrize("declared", [{}, {"destinations": ("__end__",)}])
def test_a_graph_inside_may_jump_in_the_graph_around_it_whatever_is_declared(called: bool, declared: Any) -> None:
    inner = graph("START-x", x={"action": lambda _: Command(goto="a", graph=Command.PARENT)}).compile()
    node = {"action": (lambda _: inner.invoke({"log": []})) if called else inner}
    assert ("a", "b") in verify(graph("START-a a-b", b=node | declared)).unbounded_cycles


def test_assumptions_name_what_the_figures_rest_on() -> None:
    called: Any = graph("START-x x?x x?END").compile()
    calls_it = {"action": lambda _: called.invoke({"log": []})}
    made = graph("START-a a-b c-END", a={"retry_policy": RetryPolicy()}, b=calls_it)
    made.add_conditional_edges("b", lambda s: s["log"][0])
    text = "; ".join(verify(made).assumptions)
    for part in ("own code ends", "retries of a are", "b calls 1 graph", "b calls a graph ", "routers of b", "resume"):
        assert part in text
    outer = graph("START-x x-END", x={"action": made.compile()})
    assert "x/b calls 1 graph(s) inside" in " ".join(verify(outer).assumptions)


def test_every_unbounded_cycle_is_listed_once_from_its_first_node() -> None:
    certificate = verify(graph("START-a a-b b-c c?a c?b c?c c?END"))
    assert set(certificate.unbounded_cycles) == {("a", "b", "c"), ("b", "c"), ("c",)}
    assert len(certificate.unbounded_cycles) == 3
    assert certificate.max_supersteps is None and certificate.max_node_runs is None


def test_a_cycle_of_a_graph_inside_is_named_by_the_node_that_it_is_in() -> None:
    first, second = graph("START-x x?x x?END").compile(), graph("START-y y?y y?END").compile()
    made = graph("START-one one-two", one={"action": first}, two={"action": second})
    assert verify(made).unbounded_cycles == (("one/x",), ("two/y",))
    with pytest.raises(UnboundedCycleError, match=r"Give a limit, .*: bounded\(GRAPH, limit=5\)"):
        verify(made).require()


def test_a_cycle_of_edges_that_are_assumed_is_told_as_such() -> None:
    made = graph("START-a a-b c-END")
    made.add_conditional_edges("b", lambda s: s["log"][0])
    for ask in (lambda: verify(made).require(), lambda: bounded(made)):
        with pytest.raises(UnboundedCycleError, match=r"the routers of b name no .*-> Literal\[...\] first. Declare "):
            ask()


def test_cycles_of_a_large_graph_are_found_in_reasonable_time() -> None:
    follow = {f"n{i}": [f"n{j}" for j in range(i + 1, min(i + 4, 150))] for i in range(150)}
    assert choose(follow) == ()
    follow["n149"] = ["n0"]
    assert any(len(cycle) > 40 for cycle in cycles_of(choose(follow), follow))


def test_a_node_without_a_way_on_is_named_in_the_certificate() -> None:
    assert any(line.startswith("b has no way on") for line in verify(graph("START-a a-b")).assumptions)
    assert not any("no way on" in line for line in verify(graph("START-a a-END")).assumptions)
