"""Declared fan-out: how many tasks one run of a router or node may send to a node with ``Send``.

A declaration is worth what enforces it: `loopwright.engine.jumps` refuses more while the graph runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from pydantic import PositiveInt

from loopwright.engine.gate import DISPATCHER, is_engine_node
from loopwright.engine.kinds import fits
from loopwright.engine.loop import Loop
from loopwright.engine.proof.graph import Topology
from loopwright.engine.proof.read import Builder, ways_of
from loopwright.errors import GraphError, unknown_name_message


def check_fan_out(builder: Builder, fan_out: Mapping[str, int]) -> None:
    """Refuse, with a `GraphError`, what does not fit: node -> the most tasks that one run of a sender sends to it."""
    for node, most in fan_out.items():
        if node not in builder.nodes:
            raise GraphError(f"fan_out: {unknown_name_message('node', node, builder.nodes)}")
        if not fits(most, PositiveInt):
            raise GraphError(f"fan_out of {node!r} must be a whole number from 1 up, not {most!r}")


@dataclass(frozen=True, slots=True)
class FanOut:
    """Who sends how much to whom."""

    widths: dict[str, dict[str, float]]
    """Node -> sender -> the most tasks that reach the node from one run of the sender; infinite where not declared."""
    ordinary: dict[str, set[str]]
    """Node with senders -> the nodes that enter it without a Send, all of one superstep together once."""


def read_fan_out(builder: Builder, topology: Topology) -> FanOut:
    """Read who sends how much to whom in a graph with its gates, as far as its ``fan_out`` declares it."""
    declared: Mapping[str, int] = getattr(builder, "fan_out", {})
    widths: dict[str, dict[str, float]] = {}
    ordinary: dict[str, set[str]] = {node: set() for node in topology.nodes}
    once = ("static", "join", "request", "granted", "exhausted")  # in a superstep, however many ask
    for edge in topology.edges:
        # The engine itself goes to a budget's fallback by its name.
        if (edge.kind in once or edge.source == DISPATCHER) and edge.target in ordinary:
            ordinary[edge.target].add(edge.source)
    by_name = topology.hidden | {loop.gate for loop in topology.loops}
    for edges, sends in ways_of(builder):
        ends = dict.fromkeys((edge.source, edge.target) for edge in edges if not is_engine_node(edge.source))
        for source, target in (each for each in ends if each[1] in ordinary):
            # A gate is only ever entered by its name: a Send across a loop's edge waits before it.
            if target in by_name or not sends:
                ordinary[target].add(source)
            else:
                its = widths.setdefault(target, {})
                its[source] = its.get(source, 0) + declared.get(target, inf)
    for gate, target in crossed(builder).items():
        widths.setdefault(target, {})[gate] = declared.get(target, inf)
    return FanOut(widths, {node: ordinary[node] for node in widths})


def crossed(builder: Builder) -> dict[str, str]:
    """Gate -> target of the loops that Sends may cross: the gate sends on what waits before it."""
    edges: frozenset[tuple[str, str]] = getattr(builder, "crossed", frozenset())
    loops: tuple[Loop, ...] = getattr(builder, "loops", ())
    return {loop.gate: loop.target for loop in loops if any((one, loop.target) in edges for one in loop.sources)}
