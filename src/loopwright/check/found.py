"""Graphs as they stand in a source file, with the line of every edge."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from loopwright.engine.proof.graph import END as END
from loopwright.engine.proof.graph import START as START
from loopwright.engine.proof.graph import Edge, ways_out
from loopwright.engine.proof.source import NOWHERE, Nodes, either

FUNCTIONAL = "it is a function of the functional API, whose loops are Python's own: count their passes there"
"""Why the functional API is not read; an import would not tell more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Some lines of a file."""

    file: Path
    """The file."""
    line: int
    """The first line, counted from 1."""
    last: int
    """The last line."""
    cell: int | None = None
    """The cell of a notebook that they are in, counted from 1, where they are counted from the cell's first."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.cell is None else f"{self.file}: cell {self.cell}, line {self.line}"


@dataclass(frozen=True, slots=True)
class FoundLoop:
    """A ``Loop(...)`` whose values are constants."""

    name: str
    """The loop's name."""
    target: str
    """The node that a granted pass enters."""
    sources: tuple[str, ...]
    """The nodes whose edges into the target go round."""
    exhausted: Mapping[str, str]
    """Source -> where control goes when a pass is refused."""


@dataclass(slots=True)
class FoundNode:
    """A node of a graph."""

    place: Place
    """Where it is added."""
    declared: tuple[str, ...] = ()
    """The destinations that it declares for its Commands."""
    words: Nodes = NOWHERE
    """Without declared ones, those that its source shows; None: any node."""
    shown: frozenset[str] = frozenset()
    """The nodes that its source names in a Command or Send; there may be more."""
    handler_words: Nodes = NOWHERE
    """Where its error handler goes."""
    graph: FoundGraph | None = None
    """The graph that it is, if it is one."""
    unread: str | None = None
    """Why it may go where nobody declared, if what it runs was not read."""
    parent: Nodes = NOWHERE
    """Where its Commands for the graph around this one go; None: any node there."""
    functions: tuple[Any, ...] = ()
    """The functions that it runs, as far as they were found."""
    runs_tools: bool = False
    """Whether these are tools that answer a model."""

    @property
    def ways(self) -> Nodes:
        """Where it goes, by what it declares and what its source shows; None: any node."""
        shown = self.shown if self.words is None else self.words
        return frozenset(self.declared) | shown if self.declared else self.words

    def merged(self, other: FoundNode) -> FoundNode:
        """Itself or another one of its name, whichever the program adds."""
        declared = (*self.declared, *other.declared) if self.declared and other.declared else ()
        ways = [node.words if declared else node.ways for node in (self, other)]
        return FoundNode(
            self.place, declared, either(*ways), self.shown | other.shown,
            either(self.handler_words, other.handler_words), self.graph or other.graph, self.unread or other.unread,
            either(self.parent, other.parent),
            (*self.functions, *(each for each in other.functions if each not in self.functions)),
            self.runs_tools and other.runs_tools,
        )  # fmt: skip


@dataclass(slots=True)
class FoundRoute:
    """A router behind a node."""

    place: Place
    """Where it is added."""
    source: str
    """The node."""
    targets: tuple[str, ...] | None
    """The nodes that it names; None: any node."""
    declared: bool
    """Whether the graph says so, or only the router's source."""
    sent: frozenset[str] = frozenset()
    """The nodes that it names in a ``Send``, which a path map does not hold back."""
    functions: tuple[Any, ...] = ()
    """The functions that it runs, as far as they were found."""


@dataclass(slots=True, eq=False)
class FoundGraph:
    """A graph that a file builds."""

    place: Place
    """Where it is made."""
    made_by: ast.Call
    """The call that makes it, because a line may have two."""
    nodes: dict[str, FoundNode] = field(default_factory=dict[str, FoundNode])
    """Every node by name."""
    edges: list[tuple[Edge, Place]] = field(default_factory=list[tuple[Edge, Place]])
    """The edges that are written down as such."""
    routes: list[FoundRoute] = field(default_factory=list[FoundRoute])
    """Its routers."""
    origin: FoundGraph | None = None
    """The graph that `bounded` was given, if this is what it returned."""
    of_builder: bool = False
    """Whether it was given the builder, which may be compiled plainly, too."""
    loops: tuple[FoundLoop, ...] | None = None
    """The loops that `bounded` was given; None if it chooses them itself."""
    fallbacks: tuple[str, ...] = ()
    """Where `bounded` lets a spent budget lead, and the node ``fallback`` if it adds one."""
    compiled_as: str | None = None
    """The name that it was compiled under; None if it was not compiled."""
    made: bool = False
    """Whether it came ready made, and its middleware or hooks may have nodes that are not among these."""
    problem: tuple[Place, str] | None = None
    """The first thing that could not be read, and where."""
    missed: list[tuple[Place, str]] = field(default_factory=list[tuple[Place, str]])
    """Nodes and ways that it has beside those that were read; they take none away."""
    bounds: tuple[str, ...] = ()
    """What bounds it, in the words of its source."""
    hopes: tuple[str, ...] = ()
    """What may bound its cycles, and why that is not counted on."""
    notes: tuple[str, ...] = ()
    """What looks like a bound and is none."""
    assumptions: dict[str, None] = field(default_factory=dict[str, None])
    """What a verdict rests on."""
    steps: int | None = None
    """The steps that LangGraph allows a run; None: its default."""
    branch: tuple[int, ...] = ()
    """The ways of the ``if``s that it is made in."""
    state: Any = None
    """The class of its state, if it was read."""
    owner: Any = None
    """What was being read when it was made: a module or a function."""
    frame: Any = None
    """The scope that its line is in: the owner, or a function that was called."""

    @property
    def site(self) -> tuple[Path, int, int]:
        """What tells it from other graphs, however often its line is read."""
        return self.place.file, self.place.line, self.made_by.col_offset

    def refuse(self, place: Place, why: str) -> None:
        """Note that a part of the graph cannot be read; the first one counts."""
        self.problem = self.problem or (place, why)

    def parent_words(self) -> Nodes:
        """Where Commands in it go in the graph around it; None: any node there."""
        of_given = self.origin.parent_words() if self.origin else NOWHERE
        return reduce(either, (node.parent for node in self.nodes.values()), of_given)

    def all_edges(self) -> list[tuple[Edge, Place]]:
        """Every way that control can pass, as `loopwright.engine.proof.read` would find it in the living graph."""
        anywhere, found = {node: node for node in (*self.nodes, END)}, [*self.edges]
        for route in self.routes:
            named = dict.fromkeys(route.targets or ())
            known = [(target, None) for target in named if route.declared or target in anywhere]
            sent = None if route.targets is None else route.sent
            found += ((edge, route.place) for edge in ways_out(route.source, "conditional", known, sent, anywhere))
        for name, node in self.nodes.items():
            declared = [(target, None) for target in node.declared]
            out = node.graph.parent_words() if node.graph else NOWHERE
            words = either(node.words, out)
            if declared:  # which does not hold back a Command that the source shows
                words = (node.shown if node.words is None else node.words) | (out or NOWHERE)
            edges = ways_out(name, "command", declared, words, anywhere)
            edges += ways_out(name, "handler", [], node.handler_words, anywhere)
            found += ((edge, node.place) for edge in edges)
        return found
