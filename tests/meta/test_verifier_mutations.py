"""Every kind of edge bears load: a proof that does not see it comes out wrong on a fixed list of examples.

The reader's output is spoiled, one kind of edge at a time. An example is wrong if its verdict is, or if a run by plain
LangGraph exceeds its certificate.
"""

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest
from shapes import END, StateGraph, graph, handled, jump, loop, note, sends, to_parent, watch

from loopwright.engine.bind import bind, copy_builder, watch_routers
from loopwright.engine.loop import Loop
from loopwright.engine.proof.counting import count
from loopwright.engine.proof.fan_out import FanOut
from loopwright.engine.proof.graph import EdgeKind, Topology
from loopwright.engine.proof.read import builder_of, read_topology, subgraphs

# The package has a function of the same name as the module.
proof = importlib.import_module("loopwright.engine.proof.verify")
worst_case = importlib.import_module("loopwright.engine.proof.worst_case")


@dataclasses.dataclass(frozen=True)
class Example:
    build: Callable[[], StateGraph[Any]]
    bounded: bool
    loops: Sequence[Loop] = ()
    fan_out: dict[str, int] = dataclasses.field(default_factory=dict)


def untyped() -> StateGraph[Any]:
    made = graph("START-a a-b")
    made.add_conditional_edges("b", lambda state: state["log"][0])  # nothing in its source says where it goes
    return made


TWO = "START-a a-b b?a b?END"

EXAMPLES = {
    "static cycle": Example(lambda: graph("START-a a-b b-a"), bounded=False),
    "cycle through a join": Example(lambda: graph("START-a a-b a-c b+c-a"), bounded=False),
    "cycle through a router": Example(lambda: graph("START-a a?a a?END"), bounded=False),
    "cycle through a Command": Example(
        lambda: graph("START-a", a={"action": jump("a"), "destinations": ("a", END)}), bounded=False
    ),
    "cycle through an untyped router": Example(untyped, bounded=False),
    "cycle through an error handler": Example(lambda: handled("START-a a-b", "b", "a"), bounded=False),
    "cycle through a subgraph's Command": Example(lambda: graph("START-a a-sub", sub=to_parent("a")), bounded=False),
    "spent bound that leads back": Example(
        lambda: graph(f"{TWO} retry-b"), bounded=False, loops=[loop("x", "b", "a", 1, "retry")]
    ),
    "loop that is bounded": Example(lambda: graph(TWO), bounded=True, loops=[loop("x", "b", "a", 2)]),
    "fallback of a loop": Example(
        lambda: graph(f"{TWO} answer-END"), bounded=True, loops=[loop("x", "b", "a", 0, "answer")]
    ),
    # d waits for c, so e runs in superstep 5; without waiting it would in 3.
    "node that waits": Example(
        lambda: graph("START-a a-d d-e a-b b-c", d={"action": note("d"), "defer": True}), bounded=True
    ),
    "fan-out": Example(lambda: graph("START-a a?b b-c", routes={"a": sends("b", 3)}), bounded=True, fan_out={"b": 3}),
}


def wrong(example: Example) -> bool:
    """Whether the proof says something of an example that is not so."""
    certificate = proof.verify(example.build(), example.loops, fan_out=example.fan_out)
    if certificate.bounded is not example.bounded:
        return True
    if not certificate.bounded:
        return False
    builder = copy_builder(builder_of(example.build()))
    builder.fan_out = example.fan_out
    bound = bind(builder, example.loops)
    watch_routers(bound)
    seen, most = watch(bound.compile(), {"log": []}), certificate.max_runs_by_node
    too_often = any(count > (most[node] or 0) for node, count in seen.runs.items())
    return too_often or seen.last > (certificate.max_supersteps or 0)


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Topology], Topology]) -> None:
    """Let the proof read something else than what is there."""
    monkeypatch.setattr(proof, "read_topology", lambda given, name=None: change(given, read_topology(given, name)))
    monkeypatch.setattr(proof, "lost_nodes", lambda _topology: [])  # what only leads to an edge would be missed


def without(kind: str) -> Callable[[Any, Topology], Topology]:
    return lambda _graph, read: dataclasses.replace(read, edges=tuple(e for e in read.edges if e.kind != kind))


def without_jumps_out(given: Any, read: Topology) -> Topology:
    inner = subgraphs(builder_of(given))
    edges = tuple(e for e in read.edges if e.source not in inner or e.kind not in ("command", "assumed"))
    return dataclasses.replace(read, edges=edges)


def granted_like_any_other(_graph: Any, read: Topology) -> Topology:
    edges = (dataclasses.replace(e, kind="static") if e.kind == "granted" else e for e in read.edges)
    return dataclasses.replace(read, edges=tuple(edges))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_proof_as_it_is_gets_every_example_right(name: str) -> None:
    assert not wrong(EXAMPLES[name])


CAUGHT_BY = {
    "static": {"static cycle", "loop that is bounded"},
    "join": {"cycle through a join"},
    "conditional": {"cycle through a router"},
    "command": {"cycle through a Command"},
    "assumed": {"cycle through an untyped router", "cycle through a subgraph's Command"},
    "handler": {"cycle through an error handler"},
    "request": {"spent bound that leads back", "loop that is bounded"},
    "granted": {"loop that is bounded"},
    "exhausted": {"spent bound that leads back", "fallback of a loop"},
}


@pytest.mark.parametrize("kind", CAUGHT_BY)
def test_a_proof_that_overlooks_a_kind_of_edge_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, without(kind))
    assert CAUGHT_BY[kind] <= {name for name, example in EXAMPLES.items() if wrong(example)}


def test_every_kind_of_edge_is_overlooked_once() -> None:
    assert CAUGHT_BY.keys() == set(get_args(EdgeKind))


@pytest.mark.parametrize(
    ("change", "name"),
    [(without_jumps_out, "cycle through a subgraph's Command"), (granted_like_any_other, "loop that is bounded")],
)
def test_a_proof_that_takes_edges_for_others_is_caught(change: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, change)
    assert wrong(EXAMPLES[name])


def test_a_proof_that_overlooks_waiting_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_case, "count", lambda start, **rest: count(start, **{**rest, "deferred": frozenset()}))
    assert wrong(EXAMPLES["node that waits"])


def test_a_proof_that_overlooks_sends_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_case, "read_fan_out", lambda _builder, _topology: FanOut({}, {}))
    assert wrong(EXAMPLES["fan-out"])
