"""How often each node of a proven graph can run, and how many supersteps that takes.

Two bounds hold, and the smaller one counts. By *time*: a node runs in a superstep because one of its predecessors ran
in the one before; followed back to the start that is a path, which crosses granted edges at most as often as all gates
together grant passes, and the lengths of such paths are the supersteps in which the node can run. By *inflow*: a node
is entered at most as often as what leads to it ran, and by a gate at most as often as that grants passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import product
from math import prod

from loopwright.engine.fan_out import FanOut
from loopwright.engine.topology import Topology

EXACT_PASSES = 256
"""Up to this many passes in all, path lengths are counted exactly; beyond, the product (passes + 1) x longest path is
taken."""

TOLD_APART = 20_000
"""Up to this many nodes times ways to spend the passes of several loops, the ways are told apart."""


@dataclass(frozen=True)
class Count:
    """The most that can happen."""

    runs: dict[str, int]
    """Node -> how often it can run."""
    supersteps: int
    """How many supersteps there can be."""


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
    def before(self) -> dict[str, set[str]]:
        """Node -> the nodes that lead to it."""
        found: dict[str, set[str]] = {node: set() for node in self.left}
        for node, targets in self.left.items():
            for target in targets:
                found[target].add(node)
        return found

    @cached_property
    def order(self) -> list[str]:
        """The nodes, each behind all that lead to it."""
        return list(TopologicalSorter(self.before).static_order())

    def count(self, start: str) -> Count:
        """The most that can happen in a run that begins at a node.

        Args:
            start: The node that has just run; its own run is not counted.
        """
        if self.deferred or sum(self.passes.values()) > EXACT_PASSES:
            supersteps = self._product(start)
            active = dict.fromkeys(self.order, supersteps)
            runs = {node: width * supersteps for node, width in self._widest().items()}
        else:
            lengths = self._lengths(start)
            supersteps = max(0, max((lengths[node].bit_length() - 1 for node in self.topology.nodes), default=0))
            active = {node: bits.bit_count() for node, bits in lengths.items()}
            runs = self._by_time(lengths, start, supersteps)
        active, runs = self._by_inflow(start, active, runs)
        # In every superstep at least one node runs.
        return Count(runs, min(supersteps, sum(active[node] for node in self.topology.nodes if node != start)))

    def _product(self, start: str) -> int:
        depth = {start: 0}
        for node in self.order:
            behind = [depth[source] + 1 for source in self.before[node] if source in depth]
            if behind:
                depth[node] = max(behind)
        # A deferred node waits until nothing else is left, so a path may begin anew behind each of its runs; between
        # two granted passes that happens at most once for each deferred node, and once for what was waiting before.
        segments = (sum(self.passes.values()) + 1) * (len(self.deferred) + 2 if self.deferred else 1)
        return segments * max(depth.get(node, 0) for node in self.left)

    def _lengths(self, start: str) -> dict[str, int]:
        """Sets of path lengths as bits of integers: bit t of a node's set says that it can run in superstep t.

        Paths are told apart by how many passes of each loop they have used, where that is cheap, else by how many of
        all loops together.
        """
        granted = {edge.label or "": edge for edge in self.topology.edges if edge.kind == "granted"}
        passes = [self.passes[loop] for loop in granted]
        apart = len(self.order) * prod(most + 1 for most in passes) <= TOLD_APART
        purses = list(product(*(range(most + 1) for most in passes)) if apart else zip(range(sum(passes) + 1)))
        ever = dict.fromkeys(self.order, 0)
        seen: dict[tuple[int, ...], dict[str, int]] = {}
        for used in purses:
            times = dict.fromkeys(self.order, 0)
            times[start] = int(not any(used))
            for place, edge in enumerate(granted.values()):
                spent = place if apart else 0
                before = (*used[:spent], used[spent] - 1, *used[spent + 1 :])
                if before in seen:
                    times[edge.target] |= seen[before][edge.source] << 1
            for node in self.order:
                for source in self.before[node]:
                    times[node] |= times[source] << 1
                ever[node] |= times[node]
            seen[used] = times
        return ever

    def _by_time(self, lengths: Mapping[str, int], start: str, supersteps: int) -> dict[str, int]:
        """Once in every superstep in which a node can run, and once for every task that is sent to it."""
        widths, ordinary = self.fan_out.widths, self.fan_out.ordinary
        runs = {node: bits.bit_count() for node, bits in lengths.items()}
        if not widths:
            return runs
        runs |= dict.fromkeys(widths, 0)
        last: dict[str, int] = {start: 1}
        for step in range(1, supersteps + 1):
            now = {node: 1 for node in self.order if lengths[node] >> step & 1}
            for node in now.keys() & widths.keys():
                now[node] = int(any(source in last for source in ordinary[node]))
                now[node] += sum(last.get(sender, 0) * width for sender, width in widths[node].items())
                runs[node] += now[node]
            last = now
        return runs

    def _widest(self) -> dict[str, int]:
        """The most runs of each node in one superstep."""
        widest: dict[str, int] = {}
        for node in self.order:
            senders = self.fan_out.widths.get(node, {})
            widest[node] = int(not senders or bool(self.fan_out.ordinary[node]))
            widest[node] += sum(widest[sender] * width for sender, width in senders.items())
        return widest

    def _by_inflow(
        self, start: str, active: Mapping[str, int], runs: Mapping[str, int]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Lower the supersteps in which a node runs, and its runs, to what leads to it."""
        alone: dict[str, set[str]] = {}
        fixed: dict[str, int] = {}
        for edge in self.topology.edges:
            if edge.kind == "granted":
                fixed[edge.target] = fixed.get(edge.target, 0) + self.passes[edge.label or ""]
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
                runs[node] = min(runs[node], entries + sum(runs[sender] * width for sender, width in senders.items()))
        return active, runs
