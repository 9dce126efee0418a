"""How often each node of a proven graph can run, and how many supersteps that takes.

Where the granted edges are taken away, no cycle is left. So every run of a node can be followed back, along a path, to
where it sprang from: the entry, a pass that a gate granted, or a node that waits for others. From one such *origin* a
node runs in as many supersteps as there are paths of different lengths to it; and an origin springs as often as passes
are granted there, or as what it waits for comes together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from graphlib import TopologicalSorter

from langgraph.graph import END

from loopwright.engine.proof.certificate import Witness
from loopwright.engine.proof.fan_out import FanOut
from loopwright.engine.proof.graph import Edge, Topology


def count(  # noqa: C901 - the bound is one sum
    start: str,
    topology: Topology,
    joins: Mapping[str, Sequence[tuple[str, ...]]],
    passes: Mapping[str, int],
    deferred: Set[str],
    fan_out: FanOut,
) -> tuple[dict[str, float], int, Witness]:
    """The most that can happen in a run that begins at a node.

    Args:
        start: The node that has just run; its own run is not counted.
        topology: The nodes and edges, gates included; the granted edges apart, it is free of cycles.
        joins: Node -> the groups of nodes that it waits for together.
        passes: Loop -> the passes that it can grant.
        deferred: The nodes that wait until nothing else is left to run.
        fan_out: Who sends how much to whom.

    Returns:
        Node -> how often it can run, infinite where a fan-out is not declared; how many supersteps there can be; and
        why a run is no longer: along no edge does a path gain more supersteps than level.
    """
    order = [*TopologicalSorter(topology.ways()).static_order()][::-1]  # each node behind all that lead to it
    granting = [edge for edge in topology.edges if edge.kind == "granted" and passes[edge.label or ""]]
    why = _levels(start, order, topology, passes, granting)
    alone: dict[str, set[str]] = {}
    for edge in topology.edges:
        if edge.kind not in ("join", "granted"):
            alone.setdefault(edge.target, set()).add(edge.source)
    gates = {edge.source: passes[edge.label or ""] for edge in granting}
    granted = Counter[str]()
    for edge in granting:
        granted[edge.target] += gates[edge.source]
    springs = {start: 1}  # origin -> how often it springs
    lengths = {start: {start: 1}}  # node -> origin -> the lengths of the paths from it, as bits
    active, runs = Counter({start: 1}), dict[str, float]({start: 1})
    added = sum(passes[loop] * detour for loop, detour in why.detour.items())
    for node in order:
        if node == start or node not in why.level:
            continue
        sources = alone.get(node, set())
        joined = (min(active[source] for source in starts) for starts in joins.get(node, ()))
        entries = granted[node] + sum(joined)
        springs[node] = entries
        if node in deferred:
            # What is sent to a node does not wait: it runs at once, and later where it is named too.
            springs[node] += sum(active[source] for source in sources) * (2 if node in fan_out.widths else 1)
        found = Counter({node: 1} if springs[node] else {})
        if node not in deferred:
            for source in sources & lengths.keys():
                for origin, bits in lengths[source].items():
                    found[origin] |= bits << 1
        lengths[node] = found
        active[node] = sum(springs[origin] * bits.bit_count() for origin, bits in lengths[node].items())
        if not deferred:  # else paths begin anew behind each run of a node that waits
            active[node] = min(active[node], why.level[node] + added)
        times: float = active[node]
        if senders := fan_out.widths.get(node):
            entries += sum(active[source] for source in sources & fan_out.ordinary[node])
            sent = ((gates.get(sender, runs.get(sender, 0)), width) for sender, width in senders.items())
            times = entries + sum(each * width for each, width in sent if each)
        runs[node] = times
    everywhere = Counter[str]()
    for node in {*topology.nodes} - {start}:
        for origin, bits in lengths.get(node, {}).items():
            everywhere[origin] |= bits
    supersteps = sum(springs[origin] * bits.bit_count() for origin, bits in everywhere.items())
    return runs, supersteps if deferred else min(supersteps, max(why.level.values()) + added), why


def _levels(
    start: str, order: Sequence[str], topology: Topology, passes: Mapping[str, int], granting: Sequence[Edge]
) -> Witness:
    """Levels and detours that prove few supersteps: the loops with the most passes get the shortest detours."""
    left = topology.ways()
    gains = [(node, target, 1) for node in order for target in left[node] if target != END]
    detour: dict[str, int] = {}
    for edge in sorted(granting, key=lambda edge: -passes[edge.label or ""]):
        detour[edge.label or ""] = most = max(0, _longest(edge.target, gains).get(edge.source, -1) + 1)
        gains.append((edge.source, edge.target, 1 - most))
    return Witness(passes=dict(passes), level=_longest(start, gains, least=0), detour=detour)


def _longest(start: str, gains: Sequence[tuple[str, str, int]], least: float = float("-inf")) -> dict[str, int]:
    """Node -> the length of the longest path from `start` to it, at least `least`; round no cycle is any gained."""
    length, changed = {start: 0}, True
    while changed:
        changed = False
        for source, target, gain in gains:
            if source in length:
                far = int(max(length[source] + gain, least))
                if target not in length or far > length[target]:
                    length[target], changed = far, True
    return length
