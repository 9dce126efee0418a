"""The proof that every cycle of a graph crosses a bound, and the certificate of its worst case.

The proof takes away the *granted* edges, those from a gate into its loop's target. If what is left has no cycle, then
every cycle crosses a gate, and a gate grants a counted number of passes; so every run ends.
`loopwright.engine.proof.worst_case` counts what it takes at most.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from langgraph.graph import START

from loopwright.engine.bind import BoundBuilder, bind, copy_builder
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.loop import Loop
from loopwright.engine.proof.agent_limits import own_limits
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.choice import choose, cycles_of
from loopwright.engine.proof.fan_out import check_fan_out, read_fan_out
from loopwright.engine.proof.graph import Topology, limits_apart, reached, refusals_apart
from loopwright.engine.proof.reach import followed_once
from loopwright.engine.proof.read import builder_of, read_topology, subgraphs
from loopwright.engine.proof.worst_case import assumptions_of, worst_case
from loopwright.errors import GraphError


@followed_once()
def verify(graph: Any, loops: Loop | Sequence[Loop] = (), fan_out: Mapping[str, int] | None = None) -> Certificate:
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
        GraphError: If an edge names a node that was not added, no path from the start reaches a node of a graph that
            is bounded else, or `fan_out` does not fit the graph.
    """
    given = builder_of(graph)  # which stays as it is
    if loops:
        builder = bind(given, loops, fan_out=fan_out)
    else:
        check_fan_out(given, fan_out or {})
        builder = copy(given) if isinstance(given, BoundBuilder) else copy_builder(given)
        builder.fan_out = {**builder.fan_out, **(fan_out or {})}
    topology = read_topology(builder, getattr(graph, "name", None))
    lost = lost_nodes(topology)
    apart = refusals_apart(topology, builder.loops)
    limits = own_limits(builder, apart.ways(granted=True))
    apart = limits_apart(apart, limits)
    left = apart.ways()
    inner = {node: verify(child) for node, child in subgraphs(builder).items() if node not in lost}
    cycles = [cycle for cycle in cycles_of(choose(left), left) if cycle[0] not in lost]
    cycles += (tuple(f"{node}/{name}" for name in one) for node, its in inner.items() for one in its.unbounded_cycles)
    if cycles:
        assumptions = tuple(assumptions_of(builder, apart, read_fan_out(builder, apart)))
        return Certificate(bounded=False, unbounded_cycles=tuple(cycles), assumptions=assumptions)
    check_shape(topology)
    return worst_case(builder, apart, inner, limits)


def lost_nodes(topology: Topology) -> list[str]:
    """The nodes that no path from the start reaches."""
    known = reached(topology.ways(granted=True), (START, DISPATCHER)) | topology.hidden
    return [node for node in topology.nodes if node not in known]


def check_shape(topology: Topology) -> None:
    """Refuse nodes that no path from the start reaches, with a `GraphError` that names them."""
    if lost := lost_nodes(topology):
        raise GraphError(
            f"graph {topology.name!r}: no path from the start reaches {', '.join(map(repr, lost))}. "
            "Add an edge to it, or remove the node; a node that jumps there with Command must declare its destinations."
        )
