"""A graph as plain nodes and edges: what the proof and the diagrams both read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the static check, which needs a name from here, imports no LangChain
    from loopwright.engine.loop import Loop

START, END = "__start__", "__end__"
"""The entry and the exit, as LangGraph spells them."""

EdgeKind = Literal["static", "join", "conditional", "command", "assumed", "handler", "request", "granted", "exhausted"]
"""How control passes along an edge.

``static``, ``join`` (waits for several sources), ``conditional`` (a router), ``command`` (a node's declared goto),
``assumed`` (a router or Command that names no destinations: any node), ``handler`` (a node's error handler jumps),
``request`` (into a gate), ``granted`` (from a gate into the loop's target) and ``exhausted`` (from a gate to its
fallback).
"""

AS_DECLARED = "no router or node goes, or sends, where it does not declare and its source does not show it"
"""What is taken for granted of a graph that nothing holds to its edges while it runs."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One way for control to pass from a node to another."""

    source: str
    """The node that control leaves; ``__start__`` for the entry."""
    target: str
    """The node that control enters; ``__end__`` for the exit."""
    kind: EdgeKind
    """How control passes."""
    label: str | None = None
    """The router's word for this edge, where it differs from the target."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A graph's nodes and edges, gates included."""

    name: str
    """The graph's name."""
    nodes: tuple[str, ...]
    """Every node in the order of declaration, gates and hidden nodes included, without ``__start__`` and
    ``__end__``."""
    edges: tuple[Edge, ...]
    """Every edge."""
    loops: tuple[Loop, ...] = ()
    """The loops that are bounded by a gate."""
    hidden: frozenset[str] = frozenset()
    """Nodes that only book-keep and that no diagram shows."""

    def ways(self, *, granted: bool = False) -> dict[str, dict[str, None]]:
        """Node -> the nodes that it leads to, in the order of declaration; what a gate grants only if asked for."""
        found: dict[str, dict[str, None]] = {node: {} for node in (START, *self.nodes, END)}
        for edge in self.edges:
            if granted or edge.kind != "granted":
                found.setdefault(edge.source, {})[edge.target] = None
        return found


def ways_out(
    source: str,
    kind: EdgeKind,
    declared: Sequence[tuple[str, str | None]],
    shown: Collection[str] | None,
    anywhere: Mapping[str, str],
) -> list[Edge]:
    """The edges of a router, a node's Commands or an error handler.

    Args:
        source: The node that control leaves.
        kind: ``conditional``, ``command`` or ``handler``.
        declared: The nodes that are declared, each with its label.
        shown: Those that the source shows; None: any node.
        anywhere: Every node that it could go to -> the one that control enters then: a loop's gate, if it goes round.
    """
    named = {end for end, _label in declared}
    ends = anywhere if shown is None else sorted(anywhere.keys() & shown, key=[*anywhere].index)
    others = (anywhere[end] for end in ends if anywhere[end] not in named)
    found = [Edge(source, end, kind, label) for end, label in declared]
    return found + [Edge(source, end, "assumed" if shown is None and kind != "handler" else kind) for end in others]


# What is read apart for the proof


def refusal_of(loop: str, source: str) -> str:
    """What the proof calls the refusal of one source."""
    return f"loop.{loop}:{source}"


def refusals_apart(topology: Topology, loops: Sequence[Loop]) -> Topology:
    """The same graph with the refusals of each source apart, where its fallback depends on the source.

    In the graph there is one gate for all sources, so that simultaneous requests are one pass. Read as plain edges,
    every source could be refused to every fallback, and cycles would appear that no run can take. A refusal takes the
    superstep that the gate takes.
    """
    edges = list(topology.edges)
    for loop in loops:
        if isinstance(loop.exhausted, str):
            continue
        edges = [edge for edge in edges if edge.kind != "exhausted" or edge.source != loop.gate]
        for edge in topology.edges:
            if edge.target == loop.gate:
                asking = [edge.source] if edge.source in loop.exhausted else [*loop.exhausted]
                edges += [Edge(edge.source, refusal_of(loop.name, source), "request") for source in asking]
        edges += [Edge(refusal_of(loop.name, source), route, "exhausted") for source, route in loop.exhausted.items()]
    return replace(topology, edges=tuple(edges))


def limits_apart(topology: Topology, limits: Mapping[str, int]) -> Topology:
    """The same graph with what an agent's `own_limits` grant apart: a node that the limited one is granted to enter.

    That costs the proof a superstep for each time that control goes on, which the run does not take.
    """
    edges: list[Edge] = []
    for edge in topology.edges:
        if edge.source in limits and edge.target != END and not edge.target.endswith(".after_agent"):
            edge = replace(edge, source=limit_of(edge.source))
        edges.append(edge)
    edges += [Edge(node, limit_of(node), "granted", limit_of(node)) for node in limits]
    return replace(topology, edges=tuple(edges))


def limit_of(node: str) -> str:
    """What the proof calls the way on from a node that limits it itself."""
    return f"limit:{node}"


# Cycles, and what can be reached


def reached(follow: Mapping[str, Iterable[str]], starts: Iterable[str], without: str | None = None) -> set[str]:
    """The nodes that can be reached, the starts among them, by ways that do not pass the node `without`."""
    found = {*starts} - {without}
    queue = [*found]
    while queue:
        fresh = {*follow.get(queue.pop(), ())} - found - {without}
        found |= fresh
        queue += fresh
    return found


def cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, in the order of declaration."""
    done, again = depth_first(follow, follow)
    if not again:
        return []
    order = {node: place for place, node in enumerate(follow)}
    back: dict[str, list[str]] = {node: [] for node in follow}
    for node, targets in follow.items():
        for target in targets:
            back[target].append(node)
    components: list[set[str]] = []
    for node in reversed(done):  # S. Rao Kosaraju's algorithm
        if node in back:
            component = reached(back, [node]) & back.keys()
            for each in component:
                del back[each]
            if len(component) > 1 or node in follow[node]:
                components.append(component)
    return sorted(components, key=lambda component: min(map(order.__getitem__, component)))


def depth_first(follow: Mapping[str, Iterable[str]], starts: Iterable[str]) -> tuple[list[str], set[str]]:
    """The nodes in the order in which a search in depth leaves them, and those to which a node behind them led back."""
    done, again, seen = list[str](), set[str](), set[str]()
    for start in starts:
        way = [] if start in seen else [(start, iter(follow.get(start, ())))]
        behind = {start}
        seen.add(start)
        while way:
            node, targets = way[-1]
            for target in targets:
                if target in behind:
                    again.add(target)
                elif target not in seen:
                    seen.add(target)
                    behind.add(target)
                    way.append((target, iter(follow.get(target, ()))))
                    break
            else:
                done.append(node)
                behind.discard(way.pop()[0])
    return done, again


def shortest_path(follow: Mapping[str, Iterable[str]], start: str, goal: str) -> tuple[str, ...]:
    """A shortest way from a node to one that it can reach, both among its nodes."""
    came, queue = {start: start}, [start]
    for node in queue:
        if goal not in came:
            fresh = dict.fromkeys((target for target in follow[node] if target not in came), node)
            came |= fresh
            queue += fresh
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path))
