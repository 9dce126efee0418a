"""The proof that every cycle of a graph crosses a bound, and the certificate of its worst case.

The proof takes away the *granted* edges, those from a gate into its loop's target. If what is left has no cycle, then
every cycle crosses a gate, and a gate grants a counted number of passes; so every run ends.

The certificate follows from the same picture. A node runs in a superstep because one of its predecessors ran in the one
before. Followed back to the start, that is a path through the graph, and it crosses granted edges at most as often as
all gates together grant passes. The lengths that such paths can have are the supersteps in which the node can run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from langgraph.graph import END, START
from langgraph.pregel import Pregel
from pydantic import BaseModel, ConfigDict

from loopwright.engine.binding import BoundBuilder, Builder, bind, copy_builder, may_send
from loopwright.engine.gate import ENGINE_NODES, Asker, Gate, NewRun
from loopwright.engine.loops import RUN, Loop
from loopwright.engine.reading import builder_of, called_graphs, read_topology, subgraphs
from loopwright.engine.topology import Edge, Topology
from loopwright.errors import GraphError, UnboundedCycleError

EXACT_PASSES = 256
"""Up to this many passes in all, path lengths are counted exactly; beyond, the product (passes + 1) x longest path is
taken."""


class Certificate(BaseModel):
    """The worst case of one run, known before it starts."""

    model_config = ConfigDict(frozen=True)

    bounded: bool
    """Whether every cycle crosses a bound."""
    unbounded_cycles: tuple[tuple[str, ...], ...] = ()
    """Cycles that cross none: the names of their nodes, in order."""
    max_supersteps: int | None = None
    """LangGraph supersteps, gates included; None if unbounded."""
    max_runs_by_node: dict[str, int | None] = {}
    """Node -> how often it can run; None where a fan-out with Send is possible and its width is not declared."""
    max_node_runs: int | None = None
    """The sum of the above, with the nodes of subgraphs; None if any is unknown."""
    max_model_calls: int | None = None
    """Calls of chat models, retries included; None unless every node that calls one says how often."""
    max_seconds: float | None = None
    """Seconds, retries included; None unless every node outside the engine has a timeout."""
    max_tokens: int | None = None
    """Tokens; None unless a budget bounds them."""
    assumptions: tuple[str, ...] = ()
    """What the figures rest on and the engine cannot check."""

    def require(self) -> Certificate:
        """Return the certificate if the graph is bounded.

        Raises:
            UnboundedCycleError: If a cycle crosses no bound; it names every cycle found.
        """
        if not self.bounded:
            first = self.unbounded_cycles[0]
            gates = [node.removeprefix(ENGINE_NODES) for node in first if node.startswith(ENGINE_NODES)]
            fix = f"Declare a Loop, for example {suggested_loop(first)}"
            if gates:
                loop = min(gates, key=len)  # the others are note-takers on the way into its gate
                fix = f"The exhausted route of loop {loop!r} leads back into it; let it lead out, to END in the end"
            raise UnboundedCycleError(self.unbounded_cycles, fix)
        return self


def suggested_loop(cycle: Sequence[str]) -> str:
    """The source code of a `Loop` that would bound a cycle, ready to paste."""
    return f"Loop(name={cycle[0]!r}, target={cycle[0]!r}, sources=({cycle[-1]!r},), limit=5)"


def verify(graph: Any, loops: Sequence[Loop] = ()) -> Certificate:
    """Prove that every cycle of a graph is bounded, and compute the worst case of a run.

    Args:
        graph: A ``StateGraph`` or a compiled one, bounded already or not; it is not changed.
        loops: Loops to bind first, for a graph that has no gates yet.

    Returns:
        The certificate; ``bounded`` is False and ``unbounded_cycles`` names the culprits where the proof fails.

    Raises:
        LoopDeclarationError: If a loop does not fit the graph.
        GraphError: If a node is unreachable or leads nowhere.
    """
    builder = builder_of(graph)
    if loops:
        builder = bind(builder, loops)
    elif not isinstance(builder, BoundBuilder):
        builder = copy_builder(builder)
    topology = read_topology(builder, getattr(graph, "name", None))
    check_shape(topology)
    left: dict[str, set[str]] = {node: set() for node in (START, *topology.nodes, END)}
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
        return Certificate(bounded=False, unbounded_cycles=found, assumptions=tuple(_assumptions(builder, topology)))
    return _certificate(builder, topology, left, inner)


def check_shape(topology: Topology) -> None:
    """Refuse nodes that no path from the start reaches.

    Raises:
        GraphError: It names them.
    """
    follow: dict[str, set[str]] = {}
    for edge in topology.edges:
        follow.setdefault(edge.source, set()).add(edge.target)
    reached, queue = {START}, [START]
    while queue:
        fresh = follow.get(queue.pop(), set()) - reached
        reached |= fresh
        queue += fresh
    lost = [node for node in topology.nodes if node not in reached | topology.hidden]
    if lost:
        raise GraphError(
            f"graph {topology.name!r}: no path from the start reaches {', '.join(map(repr, lost))}. "
            "Add an edge to it, or remove the node; a node that jumps there with Command must declare its destinations."
        )


def unbounded_cycles(follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Cycles of a directed graph: for every edge that lies on one, a shortest cycle through it, each once.

    Args:
        follow: Node -> the nodes that it leads to.

    Returns:
        The cycles as node names in order, starting with the node that was declared first; empty if there is none.
    """
    order = {node: place for place, node in enumerate(follow)}
    found: dict[tuple[str, ...], None] = {}
    for component in _cyclic_components(follow):
        for source in sorted(component, key=order.__getitem__):
            for target in sorted(component & set(follow[source]), key=order.__getitem__):
                path = _shortest_path(follow, target, source, component)
                first = min(range(len(path)), key=lambda i: order[path[i]])
                found[(*path[first:], *path[:first])] = None
    return list(found)


def _cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, by peeling off what lies on no cycle and then splitting by reach."""
    before: dict[str, set[str]] = {node: set() for node in follow}
    for node, targets in follow.items():
        for target in targets:
            before[target].add(node)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        pass
    else:
        return []
    components: list[set[str]] = []
    left = set(follow)
    while left:
        start = next(node for node in follow if node in left)
        component = _reach(follow, start, left) & _reach(before, start, left)
        if len(component) > 1 or start in follow[start]:
            components.append(component)
        left -= component
    return components


def _reach(follow: Mapping[str, Iterable[str]], start: str, within: set[str]) -> set[str]:
    reached, queue = {start}, [start]
    while queue:
        fresh = (set(follow[queue.pop()]) & within) - reached
        reached |= fresh
        queue += fresh
    return reached


def _shortest_path(follow: Mapping[str, Iterable[str]], start: str, goal: str, within: set[str]) -> tuple[str, ...]:
    came: dict[str, str | None] = {start: None}
    queue = [start]
    for node in queue:
        if node == goal:
            break
        for target in sorted(set(follow[node]) & within - set(came)):
            came[target] = node
            queue.append(target)
    path: list[str] = []
    step: str | None = goal
    while step is not None:
        path.append(step)
        step = came[step]
    return tuple(reversed(path))


# The worst case


def passes_in_a_run(loops: Sequence[Loop]) -> dict[str, int]:
    """Loop -> the most passes that it grants in one run; a scoped loop's limit counts anew for every outer pass."""
    by_name = {loop.name: loop for loop in loops}

    def total(loop: Loop) -> int:
        return loop.ceiling * (1 if loop.scope == RUN else total(by_name[loop.scope]) + 1)

    return {loop.name: total(loop) for loop in loops}


def _certificate(
    builder: Builder, topology: Topology, left: dict[str, set[str]], inner: Mapping[str, Certificate]
) -> Certificate:
    loops = builder.loops if isinstance(builder, BoundBuilder) else ()
    passes = sum(passes_in_a_run(loops).values())
    deferred = [node for node, spec in builder.nodes.items() if spec.defer]
    runs, supersteps = _count(topology, left, passes, deferred)
    handled = {node: spec.error_handler_node for node, spec in builder.nodes.items() if spec.error_handler_node}
    for handler in set(handled.values()):
        # A handler runs in the superstep of the node that failed; where several share it, once for each of them.
        runs[handler] = sum(runs[node] for node, its in handled.items() if its == handler)
    fanned = _fanned_out(builder, topology)
    by_node: dict[str, int | None] = {node: None if node in fanned else runs[node] for node in topology.nodes}
    return Certificate(
        bounded=True,
        max_supersteps=supersteps,
        max_runs_by_node=by_node,
        max_node_runs=_total_runs(by_node, inner),
        max_model_calls=_total(builder, by_node, inner, "model_calls"),
        max_seconds=_total(builder, by_node, inner, "seconds"),
        assumptions=tuple(_assumptions(builder, topology)),
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


def _fanned_out(builder: Builder, topology: Topology) -> set[str]:
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


def _assumptions(builder: Builder, topology: Topology) -> list[str]:
    nodes = [*_written(builder)]
    found = [
        "a node's own code ends: a loop inside a node is not seen",
        "a Send or Command goes to the declared destinations only",
        "a router or node whose source shows no Send makes none",
    ]
    if any(not builder.nodes[node].ends for node in nodes):
        found.append("a node that declares no destinations returns no Command with a goto, unless its source shows one")
    assumed = sorted({edge.source for edge in topology.edges if edge.kind == "assumed"})
    if assumed:
        found.append(f"the routers of {', '.join(assumed)} name no destinations: any node is assumed")
    fanned = sorted(_fanned_out(builder, topology))
    if fanned:
        found.append(f"how many Sends reach {', '.join(fanned)} at once is not declared, so their runs are not counted")
    retried = [node for node in nodes if builder.nodes[node].retry_policy]
    if retried:
        found.append(f"retries of {', '.join(retried)} are attempts of one run, not runs of their own")
    for node, graphs in called_graphs(builder).items():
        found.append(f"{node} calls {len(graphs)} graph(s) inside; their steps are not counted here")
    found.append("a resume or an interrupt's answer runs the tasks that were in flight again")
    return found


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
