"""The proof of `loopwright.engine.proof`, for graphs that were read from source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from loopwright.engine.cycles import reached, unbounded_cycles
from loopwright.engine.discovery.found import END, START, FoundGraph, FoundLoop, Place
from loopwright.engine.refusals import refusal_of
from loopwright.engine.topology import Edge


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle that crosses no bound."""

    nodes: tuple[str, ...]
    """Its nodes, in order; those of a graph within a node as ``node/inner``."""
    place: Place
    """Where the edge is written that closes it."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a graph."""

    cycles: tuple[Cycle, ...] = ()
    """Cycles that cross no bound."""
    lost: tuple[tuple[str, Place], ...] = ()
    """Nodes that no path from the start reaches, and where they are added."""
    problem: tuple[Place, str] | None = None
    """What could not be read; then nothing is proven."""


def prove(graph: FoundGraph, around: tuple[FoundGraph, ...] = ()) -> Proof:
    """Look for cycles that cross no bound, in a graph and in those that are nodes of it.

    Args:
        graph: The graph.
        around: The graphs that it is a node of.
    """
    base = graph
    while base.problem is None and base.origin is not None:
        base = base.origin
    if base.problem:
        return Proof(problem=base.problem)
    if graph in around:
        return Proof(problem=(graph.place, "it is a node of itself"))
    edges = base.all_edges()
    for message in _unknown_nodes(base, edges):
        return Proof(problem=message)
    loops, fallbacks = _all_loops(graph), _all_fallbacks(graph)
    entered = {way for loop in loops for way in (*loop.exhausted.values(), *loop.routes)} | fallbacks
    lost = tuple((node, base.nodes[node].place) for node in _lost(base, edges, entered))
    if graph.origin is not None and graph.loops is None:
        cycles: list[Cycle] = []  # bounded(limit=...) puts a gate before every edge that closes a cycle
    else:
        for loop in loops:
            if problem := _misfit(loop, base, edges, fallbacks):
                return Proof(problem=(graph.place, problem))
        cycles = _cycles(base, _gated(edges, loops))
    inner = {name: prove(node.graph, (*around, graph)) for name, node in base.nodes.items() if node.graph}
    for proof in inner.values():
        if proof.problem:
            return Proof(problem=proof.problem)
    cycles += [
        Cycle(tuple(f"{name}/{node}" for node in cycle.nodes), cycle.place)
        for name, proof in inner.items()
        for cycle in proof.cycles
    ]
    return Proof(tuple(cycles), lost)


def _all_loops(graph: FoundGraph) -> list[FoundLoop]:
    loops: list[FoundLoop] = []
    while graph.origin is not None:
        loops += graph.loops or ()
        graph = graph.origin
    return loops


def _all_fallbacks(graph: FoundGraph) -> set[str]:
    fallbacks: set[str] = set()
    while graph.origin is not None:
        fallbacks |= {*graph.fallbacks}
        graph = graph.origin
    return fallbacks


def _unknown_nodes(graph: FoundGraph, edges: Sequence[tuple[Edge, Place]]) -> list[tuple[Place, str]]:
    known = {START, END, *graph.nodes}
    return [
        (place, f"there is no node {name!r}")
        for edge, place in edges
        for name in (edge.source, edge.target)
        if name not in known
    ]


def _lost(graph: FoundGraph, edges: Sequence[tuple[Edge, Place]], entered: Collection[str]) -> list[str]:
    known = reached(((edge.source, edge.target) for edge, _ in edges), (START, *entered))
    return [node for node in graph.nodes if node not in known]


def _misfit(
    loop: FoundLoop, graph: FoundGraph, edges: Sequence[tuple[Edge, Place]], fallbacks: Collection[str]
) -> str | None:
    known = {END, *graph.nodes, *fallbacks}
    for node in (loop.target, *loop.sources, *loop.exhausted.values(), *loop.routes):
        if node not in known:
            return f"loop {loop.name!r} names a node {node!r} that is not there"
    pairs = {(edge.source, edge.target) for edge, _ in edges}
    for source in loop.sources:
        if (source, loop.target) not in pairs:
            return f"loop {loop.name!r}: there is no edge {source} -> {loop.target}"
    return None


def _gated(edges: Sequence[tuple[Edge, Place]], loops: Sequence[FoundLoop]) -> list[tuple[Edge, Place]]:
    """The edges with gates in the loops' ways, without those that a gate grants: a gate grants a counted number."""
    for loop in loops:
        gate, by_source = f"loop.{loop.name}", len(set(loop.exhausted.values())) > 1
        moved: list[tuple[Edge, Place]] = []
        for edge, place in edges:
            if edge.source not in loop.sources or edge.target != loop.target or edge.kind == "handler":
                moved.append((edge, place))
                continue
            entrance = f"{gate}.{edge.source}" if by_source else gate
            refusal = refusal_of(loop.name, edge.source) if by_source else gate
            moved.append((Edge(edge.source, entrance, "request"), place))
            if by_source:
                moved.append((Edge(entrance, refusal, "request"), place))
            ways = (loop.exhausted[edge.source], *loop.routes)
            moved += [(Edge(refusal, way, "exhausted"), place) for way in ways]
        edges = moved
    return [*edges]


def _cycles(graph: FoundGraph, edges: Sequence[tuple[Edge, Place]]) -> list[Cycle]:
    follow: dict[str, set[str]] = {node: set() for node in (START, *graph.nodes, END)}
    places: dict[tuple[str, str], Place] = {}
    for edge, place in edges:
        follow.setdefault(edge.source, set()).add(edge.target)
        follow.setdefault(edge.target, set())
        places.setdefault((edge.source, edge.target), place)
    return [Cycle(nodes, places[nodes[-1], nodes[0]]) for nodes in unbounded_cycles(follow)]
