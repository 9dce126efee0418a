"""A graph as plain nodes and edges: what the proof and the diagrams both read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the static check, which needs a name from here, imports no LangChain
    from loopwright.engine.loop import Loop

START, END = "__start__", "__end__"
"""The entry and the exit, as LangGraph spells them."""

EdgeKind = Literal["static", "join", "conditional", "command", "assumed", "handler", "request", "granted", "exhausted"]
"""How control passes along an edge.

``static``, ``join`` (waits for several sources), ``conditional`` (a router), ``command`` (a node's declared goto),
``assumed`` (a router or Command that names no destinations: any node), ``handler`` (a node's error handler jumps),
``request`` (into a gate), ``granted`` (from a gate into the loop's target) and ``exhausted`` (from a gate to its
fallback).
"""


@dataclass(frozen=True, slots=True)
class Edge:
    """One way for control to pass from a node to another."""

    source: str
    """The node that control leaves; ``__start__`` for the entry."""
    target: str
    """The node that control enters; ``__end__`` for the exit."""
    kind: EdgeKind
    """How control passes."""
    label: str | None = None
    """The router's word for this edge, where it differs from the target."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A graph's nodes and edges, gates included."""

    name: str
    """The graph's name."""
    nodes: tuple[str, ...]
    """Every node in the order of declaration, gates and hidden nodes included, without ``__start__`` and
    ``__end__``."""
    edges: tuple[Edge, ...]
    """Every edge."""
    loops: tuple[Loop, ...] = ()
    """The loops that are bounded by a gate."""
    hidden: frozenset[str] = frozenset()
    """Nodes that only book-keep and that no diagram shows."""

    def ways(self, *, granted: bool = False) -> dict[str, dict[str, None]]:
        """Node -> the nodes that it leads to, in the order of declaration; what a gate grants only if asked for."""
        found: dict[str, dict[str, None]] = {node: {} for node in (START, *self.nodes, END)}
        for edge in self.edges:
            if granted or edge.kind != "granted":
                found.setdefault(edge.source, {})[edge.target] = None
        return found
