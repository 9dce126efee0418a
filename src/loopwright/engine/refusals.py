"""A gate whose fallback depends on the source, as the proof sees it: a refusal goes where the source that asked leads.

In the graph there is one gate for all sources, so that simultaneous requests are one pass. Read as plain edges, every
source could then be refused to every fallback, and cycles would appear that no run can take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from loopwright.engine.topology import Edge, Topology

if TYPE_CHECKING:  # the static check, which needs a name from here, imports no LangChain
    from loopwright.engine.loops import Loop


def refusal_of(loop: str, source: str) -> str:
    """What the proof calls the refusal of one source.

    Args:
        loop: The loop's name.
        source: The source that asked.
    """
    return f"loop.{loop}:{source}"


def refusals_apart(topology: Topology, loops: Sequence[Loop]) -> Topology:
    """The same graph with the refusals of each source apart; they take the superstep that the gate takes.

    Args:
        topology: The graph with its gates.
        loops: The loops that it is bound with.
    """
    edges = list(topology.edges)
    for loop in loops:
        if isinstance(loop.exhausted, str):
            continue
        own = set(loop.own_routes)
        edges = [edge for edge in edges if edge.kind != "exhausted" or edge.source != loop.gate or edge.target in own]
        for source, route in loop.exhausted.items():
            refusal = refusal_of(loop.name, source)
            edges.append(Edge(f"{loop.gate}.{source}", refusal, "request"))
            edges.append(Edge(refusal, route, "exhausted", loop.name))
    return replace(topology, edges=tuple(edges))
