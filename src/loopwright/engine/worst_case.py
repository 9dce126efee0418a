"""The worst case of one run, from the lengths of the paths through its graph.

A node runs in a superstep because one of its predecessors ran in the one before. Followed back to the start, that is a
path through the graph, and it crosses granted edges at most as often as all gates together grant passes. The lengths
that such paths can have are the supersteps in which the node can run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any

from langgraph.graph import END, START

from loopwright.engine.binding import BoundBuilder, Builder
from loopwright.engine.certificate import Certificate
from loopwright.engine.gate import Asker, Gate, NewRun
from loopwright.engine.loops import RUN, Loop
from loopwright.engine.reading import called_graphs
from loopwright.engine.rerouting import may_send
from loopwright.engine.topology import Edge, Topology

EXACT_PASSES = 256
"""Up to this many passes in all, path lengths are counted exactly; beyond, the product (passes + 1) x longest path is
taken."""


def passes_in_a_run(loops: Sequence[Loop]) -> dict[str, int]:
    """Loop -> the most passes that it grants in one run; a scoped loop's limit counts anew for every outer pass."""
    by_name = {loop.name: loop for loop in loops}

    def total(loop: Loop) -> int:
        return loop.ceiling * (1 if loop.scope == RUN else total(by_name[loop.scope]) + 1)

    return {loop.name: total(loop) for loop in loops}


def worst_case(
    builder: Builder, topology: Topology, left: dict[str, set[str]], inner: Mapping[str, Certificate]
) -> Certificate:
    """The certificate of a graph that is proven bounded.

    Args:
        builder: The graph with its gates.
        topology: Its nodes and edges.
        left: Node -> the nodes that it leads to, without the granted edges; free of cycles.
        inner: The certificates of the nodes that are graphs themselves.
    """
    loops = builder.loops if isinstance(builder, BoundBuilder) else ()
    passes = sum(passes_in_a_run(loops).values())
    deferred = [node for node, spec in builder.nodes.items() if spec.defer]
    runs, supersteps = _count(topology, left, passes, deferred)
    handled = {node: spec.error_handler_node for node, spec in builder.nodes.items() if spec.error_handler_node}
    for handler in set(handled.values()):
        # A handler runs in the superstep of the node that failed; where several share it, once for each of them.
        runs[handler] = sum(runs[node] for node, its in handled.items() if its == handler)
    fanned = fanned_out(builder, topology)
    by_node: dict[str, int | None] = {node: None if node in fanned else runs[node] for node in topology.nodes}
    return Certificate(
        bounded=True,
        max_supersteps=supersteps,
        max_runs_by_node=by_node,
        max_node_runs=_total_runs(by_node, inner),
        max_model_calls=_total(builder, by_node, inner, "model_calls"),
        max_seconds=_total(builder, by_node, inner, "seconds"),
        assumptions=tuple(assumptions_of(builder, topology, fanned)),
    )


def _count(
    topology: Topology, left: Mapping[str, set[str]], passes: int, deferred: Sequence[str]
) -> tuple[dict[str, int], int]:
    """Runs per node and supersteps in all, from the lengths that paths with up to `passes` granted edges can have."""
    before: dict[str, set[str]] = {node: set() for node in left}
    for node, targets in left.items():
        for target in targets:
            before[target].add(node)
    order = list(TopologicalSorter(before).static_order())
    depth = {START: 0}
    for node in order:
        if node != START:
            depth[node] = 1 + max((depth[source] for source in before[node]), default=0)
    longest = max((depth[node] for node in topology.nodes), default=0)
    if deferred or passes > EXACT_PASSES:
        # A deferred node waits until nothing else is left, so a path may begin anew behind each of its runs; between
        # two granted passes that happens at most once for each deferred node, and once for what was waiting before.
        segments = (passes + 1) * (len(deferred) + 2 if deferred else 1)
        supersteps = segments * longest
        return dict.fromkeys(topology.nodes, supersteps), supersteps
    granted = [edge for edge in topology.edges if edge.kind == "granted"]
    return _exact(topology, order, before, granted, passes)


def _exact(
    topology: Topology, order: Sequence[str], before: Mapping[str, set[str]], granted: Sequence[Edge], passes: int
) -> tuple[dict[str, int], int]:
    """Sets of path lengths as bits of integers: bit t of a node's set says that it can run in superstep t."""
    ever = dict.fromkeys(order, 0)
    entered: dict[str, int] = {START: 1}
    for _ in range(passes + 1):
        times = dict.fromkeys(order, 0)
        for node in order:
            bits = entered.get(node, 0)
            for source in before[node]:
                bits |= times[source] << 1
            times[node] = bits
            ever[node] |= bits
        entered = {}
        for edge in granted:
            entered[edge.target] = entered.get(edge.target, 0) | times[edge.source] << 1
    runs = {node: ever[node].bit_count() for node in topology.nodes}
    supersteps = max((ever[node].bit_length() - 1 for node in topology.nodes), default=0)
    return runs, max(0, supersteps)


def _written(builder: Builder) -> dict[str, Any]:
    """The nodes that the engine did not add, with their specs."""
    return {name: spec for name, spec in builder.nodes.items() if not isinstance(spec.runnable, Gate | Asker | NewRun)}


def fanned_out(builder: Builder, topology: Topology) -> set[str]:
    """Nodes that a `Send` can reach, and everything behind them that runs once per task: their error handlers."""
    senders = {
        source for source, branches in builder.branches.items() if any(may_send(b.path) for b in branches.values())
    }
    senders |= {node for node, spec in _written(builder).items() if spec.ends and may_send(spec.runnable)}
    kinds = ("conditional", "command", "assumed")
    reached = {edge.target for edge in topology.edges if edge.source in senders and edge.kind in kinds} - {END}
    handlers = {spec.error_handler_node for node, spec in builder.nodes.items() if node in reached}
    return reached | {handler for handler in handlers if handler}


def _total_runs(by_node: Mapping[str, int | None], inner: Mapping[str, Certificate]) -> int | None:
    total = 0
    for node, runs in by_node.items():
        per_run = 1
        if node in inner:
            inside = inner[node].max_node_runs
            if inside is None:
                return None
            per_run += inside
        if runs is None:
            return None
        total += runs * per_run
    return total


def _total(builder: Builder, by_node: Mapping[str, int | None], inner: Mapping[str, Certificate], what: str) -> Any:
    """The sum over nodes of runs times what one run costs at most; None as soon as one is unknown."""
    total: float = 0
    written = _written(builder)
    for node, runs in by_node.items():
        if node in inner:
            cost = getattr(inner[node], f"max_{what}")
        elif node not in written:
            cost = 0
        else:
            cost = (builder.nodes[node].metadata or {}).get(f"loopwright_max_{what}")
        if cost is None or runs is None:
            return None
        total += runs * cost
    return total


def assumptions_of(builder: Builder, topology: Topology, fanned: set[str]) -> list[str]:
    """What a certificate rests on and the engine cannot check, one sentence each."""
    nodes = [*_written(builder)]
    found = [
        "a node's own code ends: a loop inside a node is not seen",
        "a Send or Command goes to the declared destinations only",
        "a router or node whose source shows no Send makes none",
    ]
    if any(not builder.nodes[node].ends for node in nodes):
        found.append("a node that declares no destinations returns no Command with a goto, unless its source shows one")
    ends = [node for node in nodes if node not in topology.hidden | {edge.source for edge in topology.edges}]
    if ends:
        found.append(f"{', '.join(ends)} has no way on: LangGraph ends that branch there")
    assumed = sorted({edge.source for edge in topology.edges if edge.kind == "assumed"})
    if assumed:
        found.append(f"the routers of {', '.join(assumed)} name no destinations: any node is assumed")
    if fanned:
        found.append(
            f"how many Sends reach {', '.join(sorted(fanned))} at once is not declared, so their runs are not counted"
        )
    retried = [node for node in nodes if builder.nodes[node].retry_policy]
    if retried:
        found.append(f"retries of {', '.join(retried)} are attempts of one run, not runs of their own")
    for node, graphs in called_graphs(builder).items():
        found.append(f"{node} calls {len(graphs)} graph(s) inside; their steps are not counted here")
    found.append("a resume or an interrupt's answer runs the tasks that were in flight again")
    return found
