"""How often each node of a proven graph can run, and how many supersteps that takes.

Two bounds hold, and the smaller one counts. By *time*: a node runs in a superstep because one of its predecessors ran
in the one before; followed back to the start that is a path, and levels say how long it can be. By *inflow*: a node
is entered at most as often as what leads to it ran, and by a gate at most as often as that grants passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter

from langgraph.graph import END

from loopwright.engine.proof.certificate import Witness
from loopwright.engine.proof.cycles import cyclic_components
from loopwright.engine.proof.fan_out import FanOut
from loopwright.engine.proof.graph import Edge, Topology

REPLAYED = 1_000_000
"""Up to this many supersteps times edges, supersteps are told apart; beyond, a node could run in every one of them."""


@dataclass(frozen=True)
class Count:
    """The most that can happen."""

    runs: dict[str, int]
    """Node -> how often it can run."""
    supersteps: int
    """How many supersteps there can be."""
    why: Witness
    """Why a run is no longer: along no edge does a path gain more supersteps than level."""


@dataclass(frozen=True)
class Counted:
    """What is needed to count.

    The granted edges apart, the graph is free of cycles.
    """

    topology: Topology
    """The nodes and edges, gates included."""
    left: Mapping[str, set[str]]
    """Node -> the nodes that it leads to, without the granted edges."""
    joins: Mapping[str, Sequence[tuple[str, ...]]]
    """Node -> the groups of nodes that it waits for together."""
    joined: Set[tuple[str, str]]
    """Sources and targets, gates too, between which there is a join and nothing else."""
    passes: Mapping[str, int]
    """Loop -> the passes that it can grant."""
    deferred: Set[str]
    """The nodes that wait until nothing else is left to run."""
    fan_out: FanOut
    """Who sends how much to whom."""

    def closing(self) -> Counted:
        """The same graph when nothing goes round any more."""
        return replace(self, passes=dict.fromkeys(self.passes, 0))

    @cached_property
    def ways(self) -> list[tuple[str, str, str | None]]:
        """Every edge with the loop that grants it: sources first, so that one round follows any path without passes."""
        order = {node: place for place, node in enumerate(self.order)}
        plain = [(u, v, None) for u in self.order for v in self.left.get(u, ()) if v != END]
        granted = [(edge.source, edge.target, edge.label or "") for edge in self._granted()]
        return sorted([*plain, *granted], key=lambda way: order[way[0]])

    @cached_property
    def order(self) -> list[str]:
        """The nodes, each behind all that lead to it."""
        before: dict[str, set[str]] = {node: set() for node in self.left}
        for node, targets in self.left.items():
            for target in targets:
                before[target].add(node)
        return list(TopologicalSorter(before).static_order())

    def _granted(self) -> Iterator[Edge]:
        return (edge for edge in self.topology.edges if edge.kind == "granted" and self.passes[edge.label or ""])

    def count(self, start: str) -> Count:
        """The most that can happen in a run that begins at a node.

        Args:
            start: The node that has just run; its own run is not counted.
        """
        why = self._levels(start)
        rooms = {loop: self.passes[loop] * detour for loop, detour in why.detour.items()}
        late = {v: at + sum(rooms[loop] for loop in why.within.get(v, ())) for v, at in why.level.items()}
        supersteps = max(late.get(node, 0) for node in (start, *self.topology.nodes))
        if self.deferred:
            # A deferred node waits until nothing else is left, so a path may begin anew behind each of its runs; along
            # one path that happens at most once for each of them between two granted passes.
            begun = 1 + len(self.deferred) * (sum(self.passes.values()) + 1)
            supersteps = max(why.level.values()) * begun + sum(rooms.values())
        if self.deferred or supersteps * len(self.ways) > REPLAYED:
            active = {node: supersteps * (node in why.level) for node in self.order}
            runs = {node: width * active[node] for node, width in self._widest().items()}
        else:
            active, runs = self._by_time(start, late, supersteps)
        active, runs = self._by_inflow(start, active, runs)
        # In every superstep at least one node runs.
        supersteps = min(supersteps, sum(active[node] for node in self.topology.nodes if node != start))
        return Count(runs, supersteps, why)

    def _levels(self, start: str) -> Witness:
        """Levels and detours that prove few supersteps: the loops with the most passes get the shortest detours."""
        follow: dict[str, set[str]] = {node: set() for node in self.order}
        for source, target, _loop in self.ways:
            follow[source].add(target)
        components = [set(self.order)] if self.deferred else cyclic_components(follow)
        around = {node: number for number, component in enumerate(components) for node in component}
        detour: dict[str, int] = {}
        within: dict[int, list[str]] = {number: [] for number in range(len(components))}
        room = Counter[int]()
        for edge in sorted(self._granted(), key=lambda edge: -self.passes[edge.label or ""]):
            loop, place = edge.label or "", around.get(edge.source, -1)
            if place >= 0 and place == around.get(edge.target):
                gains = [
                    (source, target, 1 - detour.get(its or "", 0))
                    for source, target, its in self.ways
                    if around.get(source) == around.get(target) == place and (its is None or its in detour)
                ]
                detour[loop] = max(0, _longest(edge.target, gains).get(edge.source, -1) + 1)
                within[place].append(loop)
                room[place] += self.passes[loop] * detour[loop]
        gains = list[tuple[str, str, int]]()
        for source, target, loop in self.ways:
            inside = source in around and around[source] == around.get(target)
            spent = detour.get(loop or "", 0) if inside else -room[around.get(source, -1)]
            gains.append((source, target, 1 - spent))
        level = _longest(start, gains, least=0)
        named = {node: tuple(within[around[node]]) for node in level if node in around}
        named = {node: loops for node, loops in named.items() if loops}
        return Witness(passes=dict(self.passes), level=level, within=named, detour=detour)

    def _by_time(self, start: str, late: Mapping[str, int], supersteps: int) -> tuple[dict[str, int], dict[str, int]]:
        """In how many supersteps a node can run; and its runs: one in each, and one for every task sent to it."""
        follow: dict[str, set[str]] = {}
        for source, target, _loop in self.ways:
            follow.setdefault(source, set()).add(target)
        widths, ordinary = self.fan_out.widths, self.fan_out.ordinary
        active, runs = Counter[str](), Counter[str]()
        last: dict[str, int] = {start: 1}
        for step in range(1, supersteps + 1):
            now = {node: 1 for source in last for node in follow.get(source, ()) if step <= late[node]}
            for node in now.keys() & widths.keys():
                now[node] = int(any(source in last for source in ordinary[node]))
                now[node] += sum(last.get(sender, 0) * width for sender, width in widths[node].items())
            active.update(now.keys())
            runs.update(now)
            last = now
        return {node: active[node] for node in self.order}, {node: runs[node] for node in self.order}

    def _widest(self) -> dict[str, int]:
        """The most runs of each node in one superstep."""
        widest: dict[str, int] = {}
        for node in self.order:
            senders = self.fan_out.widths.get(node, {})
            widest[node] = int(not senders or bool(self.fan_out.ordinary[node]))
            # A gate, which may come later, runs once.
            widest[node] += sum(widest.get(sender, 1) * width for sender, width in senders.items())
        return widest

    def _by_inflow(
        self, start: str, active: Mapping[str, int], runs: Mapping[str, int]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Lower the supersteps in which a node runs, and its runs, to what leads to it."""
        alone: dict[str, set[str]] = {}
        fixed: dict[str, int] = {}
        grants: dict[str, int] = {}
        for edge in self.topology.edges:
            if edge.kind == "granted":
                grants[edge.source] = self.passes[edge.label or ""]
                fixed[edge.target] = fixed.get(edge.target, 0) + grants[edge.source]
            elif edge.kind != "join" and (edge.source, edge.target) not in self.joined:
                alone.setdefault(edge.target, set()).add(edge.source)
        active, runs = {**active, start: 1}, {**runs, start: 1}
        for node in self.order:
            if node == start:
                continue
            entries = fixed.get(node, 0)
            entries += sum(min(active[source] for source in starts) for starts in self.joins.get(node, ()))
            senders = self.fan_out.widths.get(node)
            # What is sent to a node does not wait; so one that waits runs at once and, where it is named too, later.
            twice = node in self.deferred and (senders or node in self.fan_out.unknown)
            asked = sum(active[source] for source in alone.get(node, ()))
            active[node] = min(active[node], entries + asked * (2 if twice else 1))
            if senders is None:
                runs[node] = active[node]
            else:
                entries += sum(active[source] for source in alone.get(node, set()) & self.fan_out.ordinary[node])
                sent = sum(grants.get(sender, runs[sender]) * width for sender, width in senders.items())
                runs[node] = min(runs[node], entries + sent)
        return active, runs


def _longest(start: str, gains: Sequence[tuple[str, str, int]], least: float = float("-inf")) -> dict[str, int]:
    """Node -> the length of the longest path to it.

    Args:
        start: Where paths begin.
        gains: Edges and their lengths, sources first; round no cycle are they more than nothing.
        least: The least length of a path.
    """
    length, changed = {start: 0}, True
    while changed:
        changed = False
        for source, target, gain in gains:
            if source in length:
                far = int(max(length[source] + gain, least))
                if target not in length or far > length[target]:
                    length[target], changed = far, True
    return length
