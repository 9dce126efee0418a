"""For any graph, any limits and any answers of the graders: exactly the passes that were granted, and never more than proven.

The oracle is LangGraph's own ``debug`` stream of the plain parent class (which task ran in which superstep) and what the
routers asked for. Nothing of the engine's own reading of edges is used to count."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import shapes
from chances import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph.state import CompiledStateGraph
from random_graphs import GRADED, KINDS, Case, case, hold_within_certificate, run

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import RUN, Spend, decide
from loopwright.engine.proof.verify import verify
from loopwright.errors import UnboundedCycleError

FAST = settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def cases(*without: str) -> st.SearchStrategy[Case]:
    """Graphs whose dice Hypothesis throws, so that it shrinks them."""
    kinds = [kind for kind in (*KINDS, *GRADED) if kind not in without]
    return st.builds(case, st.integers(0, 999), st.randoms(use_true_random=False), st.just(kinds))


@FAST
@given(
    cases("inside"),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.sets(st.sampled_from(["n0", "n1", "n2"]), max_size=2),
)
def test_granted_passes_are_the_requested_ones_up_to_the_limit(
    made: Case, limits: list[int], spoiling: set[str]
) -> None:
    made.spoiling = spoiling
    for node in made.graph.nodes.values():  # else a gate waits with its target, and several requests are one pass
        node.defer = False
    made.loops = [
        replace(loop, limit=limit, scope=RUN, stall=None, counter=f"count{number}", history=None if number else "past0")
        for number, (loop, limit) in enumerate(zip(made.loops, limits, strict=False))
    ]
    final: dict[str, Any] = {}
    granted: Counter[str] = Counter()
    seen = shapes.Watched()
    for mode, chunk in CompiledStateGraph.stream(made.app(), {"log": []}, stream_mode=["debug", "custom", "values"]):
        if mode == "debug":
            seen.see(((), chunk))
        elif mode == "values":
            final = chunk
        elif chunk["decision"] == "granted":
            granted[chunk["loop"]] += 1
    refused = False
    for loop, limit in zip(made.loops, limits, strict=False):
        steps = {seen.tasks[task][0] for source in loop.sources for task in made.asked[source, loop.target]}
        assert granted[loop.name] == min(len(steps), limit)
        refused |= len(steps) > limit
    assert (final.get("stop_reason") is not None) == refused


@FAST
@given(cases(), st.integers(0, 3))
def test_a_limit_alone_always_ends_within_its_certificate(made: Case, limit: int) -> None:
    # A way back that closes no cycle gets no gate, so its router may send there.
    app = bounded(made.graph, limit=limit, fan_out=dict.fromkeys(made.graph.nodes, 1) | made.fan_out)
    hold_within_certificate(made, app)
    assert {loop.limit for loop in app.loops} <= {limit}


def has_a_cycle(edges: set[tuple[str, str]]) -> bool:
    """Take away what nothing leads to, again and again; what is left lies on or behind a cycle."""
    while True:
        entered = {target for _, target in edges}
        left = {(source, target) for source, target in edges if source in entered}
        if left == edges:
            return bool(edges)
        edges = left


@FAST
@given(cases())
def test_a_graph_without_gates_is_proven_exactly_where_it_has_no_cycle(made: Case) -> None:
    """And the cycles that are named are there."""
    graph, edges = made.graph, made.edges
    certificate = verify(graph)
    assert certificate.bounded is not has_a_cycle(edges)
    for cycle in certificate.unbounded_cycles:
        assert all(pair in edges for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    try:
        bounded(graph)
    except UnboundedCycleError as error:
        assert error.cycles == certificate.unbounded_cycles
        assert not certificate.bounded
    else:
        assert certificate.bounded


class Model:
    """What a loop should do, written as plainly as it can be."""

    def __init__(self, limits: dict[str, int], scopes: dict[str, str]) -> None:
        self.limits, self.scopes = limits, scopes
        self.left = dict(limits)
        self.outer_at: dict[str, int] = {}
        self.granted: Counter[str] = Counter()

    def ask(self, name: str) -> str:
        scope = self.scopes[name]
        if scope != "run" and self.outer_at.get(name) != self.granted[scope]:
            self.outer_at[name] = self.granted[scope]
            self.left[name] = self.limits[name]
        if not self.left[name]:
            return "exhausted"
        self.left[name] -= 1
        self.granted[name] += 1
        return "granted"


@FAST
@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.sampled_from(["run", "a"]),
    st.sampled_from(["run", "a", "b"]),
    st.lists(st.sampled_from("abc"), max_size=40),
)
def test_decide_agrees_with_a_trivial_model(limits: list[int], second: str, third: str, requests: list[str]) -> None:
    scopes = dict(zip("abc", ["run", second, third], strict=True))
    by_name = dict(zip("abc", limits, strict=True))
    loops = {name: shapes.loop(name, "s", "t", by_name[name], scope=scopes[name]) for name in "abc"}
    model, ledger = Model(by_name, scopes), dict[str, Spend]()
    for name in requests:
        verdict = decide(loops[name], {}, {}, ledger)
        ledger[name] = verdict.spend
        assert verdict.decision == model.ask(name)


@pytest.mark.matrix
@pytest.mark.parametrize("first", [*range(0, 60, 10), 1360])
def test_no_random_graph_exceeds_its_certificate(first: int) -> None:
    for seed in range(first, first + 10):
        run(seed)


def test_a_seed_gives_the_same_graph_and_the_same_run() -> None:
    assert run(3) == run(3)
    assert case(3).fan_out == case(3).fan_out


def test_the_random_graphs_are_made_of_every_kind_of_edge() -> None:
    wanted = {*KINDS, "loop", "join", "deferred", "scope", "stall", "fallback by source", "conditional entry"}
    for seed in range(60):
        wanted -= (+case(seed).features).keys()
        if not wanted:
            break
    assert not wanted


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_many_random_graphs_stay_within_their_certificates(soak: Callable[..., list[str]]) -> None:
    assert soak(run)
