"""A gate whose fallback depends on the source, as the proof sees it: a refusal goes where the source that asked leads.

In the graph there is one gate for all sources, so that simultaneous requests are one pass. Read as plain edges, every
source could then be refused to every fallback, and cycles would appear that no run can take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from loopwright.engine.proof.graph import END, Edge, Topology

if TYPE_CHECKING:  # the static check, which needs a name from here, imports no LangChain
    from loopwright.engine.loop import Loop


def refusal_of(loop: str, source: str) -> str:
    """What the proof calls the refusal of one source."""
    return f"loop.{loop}:{source}"


def refusals_apart(topology: Topology, loops: Sequence[Loop]) -> Topology:
    """The same graph with the refusals of each source apart; they take the superstep that the gate takes."""
    edges = list(topology.edges)
    for loop in loops:
        if isinstance(loop.exhausted, str):
            continue
        own = set(loop.own_routes)
        edges = [edge for edge in edges if edge.kind != "exhausted" or edge.source != loop.gate or edge.target in own]
        for edge in topology.edges:
            if edge.target == loop.gate:
                asking = [edge.source] if edge.source in loop.exhausted else [*loop.exhausted]
                edges += [Edge(edge.source, refusal_of(loop.name, source), "request") for source in asking]
        edges += [Edge(refusal_of(loop.name, source), route, "exhausted") for source, route in loop.exhausted.items()]
    return replace(topology, edges=tuple(edges))


def limits_apart(topology: Topology, limits: Mapping[str, int]) -> Topology:
    """The same graph with what an agent's own limits grant apart: a node that the limited one is granted to enter.

    That costs the proof a superstep for each time that control goes on, which the run does not take.

    Args:
        topology: The graph with its gates.
        limits: Node -> how many times control goes on from it in one run, to anything but the agent's end.
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
