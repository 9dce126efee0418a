"""For any graph, any limits and any answers of the graders: exactly the passes that were granted, and never more than proven.

The oracle is LangGraph's own ``debug`` stream of the plain parent class (which task ran in which superstep) and what the
routers asked for. Nothing of the engine's own reading of edges is used to count."""

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from chances import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from random_graphs import KINDS, case, run
from shapes import watch
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop, Spend, decide
from loopwright.engine.proof.verify import verify
from loopwright.errors import UnboundedCycleError

FAST = settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    count0: int
    count1: int
    count2: int
    past0: list[str]


@dataclass
class Plan:
    """A random graph: forward edges make a DAG, and every loop adds one edge back."""

    size: int
    forward: dict[int, list[int]]
    routed: set[int]
    deferred: set[int]
    joins: list[tuple[int, int, int]]
    loops: list[tuple[int, int]]
    limits: list[int]
    scopes: list[str]
    answers: list[bool]
    picks: list[int]
    vandals: set[int]
    asked: dict[int, set[int]] = field(default_factory=dict)
    calls: int = 0

    def answer(self) -> bool:
        self.calls += 1
        return self.answers[self.calls % len(self.answers)]

    def pick(self) -> int:
        self.calls += 1
        return self.picks[self.calls % len(self.picks)]


@st.composite
def plans(draw: st.DrawFn, deferred: bool = False) -> Plan:
    size = draw(st.integers(2, 7))
    forward: dict[int, list[int]] = {node: [] for node in range(size)}
    for node in range(1, size):  # every node has a predecessor, so all can be reached
        for source in draw(st.sets(st.integers(0, node - 1), min_size=1, max_size=3)):
            forward[source].append(node)
    back = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(lambda pair: (max(pair), min(pair)))
    loops = draw(st.lists(back, min_size=1, max_size=3, unique=True))
    joins = []
    if size >= 4 and draw(st.booleans()):
        left, right, end = sorted(draw(st.sets(st.integers(0, size - 1), min_size=3, max_size=3)))
        joins.append((left, right, end))
    scopes = ["run"] * len(loops)
    for place in range(1, len(loops)):  # a chain of scopes cannot lead back to itself
        if draw(st.booleans()):
            scopes[place] = f"l{draw(st.integers(0, place - 1))}"
    return Plan(
        size=size,
        forward=forward,
        routed=draw(st.sets(st.integers(0, size - 1))),
        deferred=draw(st.sets(st.integers(1, size - 1), max_size=2)) if deferred else set(),
        joins=joins,
        loops=loops,
        limits=draw(st.lists(st.integers(0, 3), min_size=len(loops), max_size=len(loops))),
        scopes=scopes,
        answers=draw(st.one_of(st.just([True]), st.lists(st.booleans(), min_size=1, max_size=12))),
        picks=draw(st.lists(st.integers(0, 7), min_size=1, max_size=12)),
        vandals=draw(st.sets(st.integers(0, size - 1), max_size=2)),
    )


def build(plan: Plan) -> StateGraph[Any]:
    """The graph; its routers write down what they ask for, with the superstep in which they do."""
    graph = StateGraph(State)
    for node in range(plan.size):

        def work(_state: State, node: int = node) -> dict[str, Any]:
            spoiled = {
                f"count{number}": garbage
                for number, garbage in zip(range(len(plan.loops)), (-5, 10**6, 0), strict=False)
            }
            return {"log": [f"n{node}"], **(spoiled if node in plan.vandals else {})}

        graph.add_node(f"n{node}", work, defer=node in plan.deferred)
    graph.add_edge(START, "n0")
    for node, targets in plan.forward.items():
        if node in plan.routed and targets:

            def route(_state: State, targets: list[int] = targets) -> list[str]:
                chosen = plan.pick()
                found = [f"n{target}" for place, target in enumerate(targets) if chosen >> place & 1]
                return found or [END]

            graph.add_conditional_edges(f"n{node}", route, [*(f"n{target}" for target in targets), END])
        else:
            for target in targets:
                graph.add_edge(f"n{node}", f"n{target}")
    for left, right, end in plan.joins:
        graph.add_edge([f"n{left}", f"n{right}"], f"n{end}")
    for number, (source, target) in enumerate(plan.loops):

        def wish(_state: State, config: RunnableConfig, number: int = number, target: int = target) -> str:
            if not plan.answer():
                return END
            plan.asked.setdefault(number, set()).add(config["metadata"]["langgraph_step"])
            return f"n{target}"

        wish.__name__ = f"wish{number}"  # LangGraph names a node's routers after their functions
        graph.add_conditional_edges(f"n{source}", wish, [f"n{target}", END])
    return graph


def declared(plan: Plan) -> list[Loop]:
    return [
        Loop(
            name=f"l{number}", target=f"n{target}", sources=(f"n{source}",), limit=plan.limits[number],
            scope=plan.scopes[number], counter=f"count{number}", history="past0" if number == 0 else None,
        )
        for number, (source, target) in enumerate(plan.loops)
    ]  # fmt: skip


@FAST
@given(plans())
def test_granted_passes_are_the_requested_ones_up_to_the_limit(plan: Plan) -> None:
    plan.scopes = ["run"] * len(plan.loops)
    app = bounded(build(plan), declared(plan))
    final: dict[str, Any] = {}
    asked: Counter[str] = Counter()
    for chunk in CompiledStateGraph.stream(app, {"log": []}, stream_mode=["debug", "custom", "values"]):
        if chunk[0] == "values":
            final = chunk[1]
        elif chunk[0] == "custom" and chunk[1]["decision"] == "granted":
            asked[chunk[1]["loop"]] += 1
    for number, limit in enumerate(plan.limits):
        requested = len(plan.asked.get(number, ()))
        assert asked[f"l{number}"] == min(requested, limit)
    refused = any(len(steps) > plan.limits[number] for number, steps in plan.asked.items())
    assert (final.get("stop_reason") is not None) == refused


@FAST
@given(plans(deferred=True), st.integers(0, 3))
def test_a_limit_alone_always_ends_within_its_certificate(plan: Plan, limit: int) -> None:
    plan.vandals = set()  # without a loop of its own a counter is the nodes' own affair
    app = bounded(build(plan), limit=limit)
    assert app.certificate.max_node_runs is not None
    watch(app, {"log": []}).hold_within(app.certificate, 0)
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
@given(plans())
def test_a_graph_without_gates_is_proven_exactly_where_it_has_no_cycle(plan: Plan) -> None:
    """And the cycles that are named are there."""
    graph = build(plan)
    certificate = verify(graph)
    edges = {(f"n{source}", f"n{target}") for source, targets in plan.forward.items() for target in targets}
    edges |= {(f"n{source}", f"n{target}") for source, target in plan.loops}
    edges |= {(f"n{start}", f"n{end}") for left, right, end in plan.joins for start in (left, right)}
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
    loops = {
        name: Loop(name=name, target="t", sources=("s",), limit=by_name[name], scope=scopes[name]) for name in "abc"
    }
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
