"""The proof that every cycle of a graph crosses a bound, and the certificate of its worst case.

The proof takes away the *granted* edges, those from a gate into its loop's target. If what is left has no cycle, then
every cycle crosses a gate, and a gate grants a counted number of passes; so every run ends.
`loopwright.engine.worst_case` counts what it takes at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.graph import END, START
from langgraph.pregel import Pregel

from loopwright.engine.binding import BoundBuilder, Builder, bind, copy_builder
from loopwright.engine.certificate import Certificate
from loopwright.engine.cycles import reached, unbounded_cycles
from loopwright.engine.fan_out import limit_sends, read_fan_out
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.loops import Loop
from loopwright.engine.reading import builder_of, called_graphs, read_topology, subgraphs
from loopwright.engine.refusals import refusals_apart
from loopwright.engine.topology import Topology
from loopwright.engine.worst_case import assumptions_of, worst_case
from loopwright.errors import GraphError


def verify(graph: Any, loops: Sequence[Loop] = (), fan_out: Mapping[str, int] | None = None) -> Certificate:
    """Prove that every cycle of a graph is bounded, and compute the worst case of a run.

    Args:
        graph: A ``StateGraph`` or a compiled one, bounded already or not; it is not changed.
        loops: Loops to bind first, for a graph that has no gates yet.
        fan_out: Node -> the most tasks that one run of a router or node sends to it with ``Send``; with it, the runs of
            that node are counted. `bounded` enforces it.

    Returns:
        The certificate; ``bounded`` is False and ``unbounded_cycles`` names the culprits where the proof fails.

    Raises:
        LoopDeclarationError: If a loop does not fit the graph.
        GraphError: If no path from the start reaches a node, or `fan_out` does not fit the graph.
    """
    builder = _prepared(builder_of(graph), loops, fan_out)
    topology = read_topology(builder, getattr(graph, "name", None))
    check_shape(topology)
    topology = refusals_apart(topology, builder.loops if isinstance(builder, BoundBuilder) else ())
    left: dict[str, set[str]] = {node: set() for node in (START, *topology.nodes, END)}
    left |= {edge.source: set() for edge in topology.edges if edge.source not in left}
    for edge in topology.edges:
        if edge.kind != "granted" and edge.target in left:
            left[edge.source].add(edge.target)
    inner = {node: verify(child) for node, child in subgraphs(builder).items()}
    cycles = [*unbounded_cycles(left)]
    cycles += [
        (f"{node}/{name}" for name in cycle) for node, child in inner.items() for cycle in child.unbounded_cycles
    ]
    if cycles:
        found = tuple(tuple(cycle) for cycle in cycles)
        return Certificate(
            bounded=False,
            unbounded_cycles=found,
            assumptions=tuple(assumptions_of(builder, topology, read_fan_out(builder, topology))),
        )
    return worst_case(builder, topology, left, inner)


def _prepared(builder: Builder, loops: Sequence[Loop], fan_out: Mapping[str, int] | None) -> Builder:
    """The builder with its gates and with limits on what is sent; the one that was given stays as it is."""
    if fan_out:
        loops_there, budget = (builder.loops, builder.budget) if isinstance(builder, BoundBuilder) else ((), None)
        builder = copy_builder(builder)
        builder.loops, builder.budget = loops_there, budget
        limit_sends(builder, fan_out)
    if loops:
        return bind(builder, loops)
    return builder if isinstance(builder, BoundBuilder) else copy_builder(builder)


def check_shape(topology: Topology) -> None:
    """Refuse nodes that no path from the start reaches.

    Raises:
        GraphError: It names them.
    """
    known = reached(((edge.source, edge.target) for edge in topology.edges), (START, DISPATCHER)) | topology.hidden
    lost = [node for node in topology.nodes if node not in known]
    if lost:
        raise GraphError(
            f"graph {topology.name!r}: no path from the start reaches {', '.join(map(repr, lost))}. "
            "Add an edge to it, or remove the node; a node that jumps there with Command must declare its destinations."
        )


def step_limit(certificate: Certificate, builder: Builder) -> int | None:
    """The ``recursion_limit`` that follows from a certificate; None where LangGraph's own default should stay.

    LangGraph needs one step more than it runs. Graphs inside nodes, and those inside them, inherit the limit, so it
    leaves them room; where a node calls a graph of unknown length, or one that calls itself, nothing is derived.
    """
    steps = _longest(certificate, builder, ())
    return None if steps is None else steps + 1


def _longest(certificate: Certificate, builder: Builder, around: tuple[Builder, ...]) -> int | None:
    """The supersteps of the longest graph among this one and those that run inside it."""
    longest = certificate.max_supersteps
    if longest is None or any(builder is outer for outer in around):
        return None
    children: list[Pregel[Any, Any, Any, Any]] = [*subgraphs(builder).values()]
    children += [graph for graphs in called_graphs(builder).values() for graph in graphs]
    for child in children:
        try:
            inside = _longest(verify(child), builder_of(child), (*around, builder))
        except GraphError:
            inside = None
        if inside is None:
            return None
        longest = max(longest, inside)
    return longest
