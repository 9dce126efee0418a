"""The graphs of a file, each with its name, its verdict and what is wrong with it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from loopwright.engine.cycles import suggested_loop
from loopwright.engine.discovery.found import FoundGraph, Place
from loopwright.engine.discovery.project import Project
from loopwright.engine.discovery.proving import Proof, prove
from loopwright.engine.discovery.reader import Reader, functions_in
from loopwright.engine.discovery.values import MAKERS, Frame, GraphValue

Verdict = Literal["bounded", "unbounded", "unreachable", "not read"]
"""What is known of a graph; ``unreachable``: no path from the start reaches one of its nodes."""

_BUILDING = re.compile(rf"\b({'|'.join(MAKERS)}|bounded|create_\w+|add_\w+)\b")
"""What a line says that may make a graph; functions without such a line are not followed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a graph."""

    rule: Literal["unbounded-cycle", "unreachable-node", "graph-not-read"]
    """Which rule it breaks."""
    file: Path
    """The file."""
    line: int
    """The line, counted from 1."""
    message: str
    """What is wrong, in one line."""
    cycle: tuple[str, ...] = ()
    """The nodes of the cycle, in order."""
    suggestion: str | None = None
    """A ``Loop`` ready to paste."""


@dataclass(frozen=True, slots=True)
class CheckedGraph:
    """A graph and what was found."""

    name: str
    """``FILE:variable``, or ``FILE:function.variable``."""
    file: Path
    """The file."""
    line: int
    """Where the graph is made."""
    verdict: Verdict
    """What is known of it."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with it."""
    certificate: Any = field(default=None, compare=False)
    """The `Certificate`, where the graph was imported and its proof holds."""


class Checker:
    """Checks files one by one; what they import from each other is read once.

    Args:
        roots: Folders that imports start from.
    """

    def __init__(self, roots: list[Path]) -> None:
        self.project = Project(roots)
        self.reader = Reader(self.project)
        self._sites: set[tuple[Path, int, int]] = set()
        self._checked_files: dict[Path, list[CheckedGraph]] = {}

    def check(self, path: Path) -> list[CheckedGraph]:
        """Find and prove the graphs of a file.

        Args:
            path: The file.

        Returns:
            Every graph; findings on a line with the comment ``# loopwright: ignore`` are left out.

        Raises:
            GraphError: If the file cannot be read as Python.
        """
        if path not in self._checked_files:
            self._checked_files[path] = self._check(path)
        return self._checked_files[path]

    def _check(self, path: Path) -> list[CheckedGraph]:
        source = self.project.open(path)
        building = [number for number, line in enumerate(source.text.splitlines(), 1) if _BUILDING.search(line)]
        if not building:
            return []
        frame = self.reader.module(path)
        named = [*self._named(frame, "", None)]
        for node, around in functions_in(source.tree, frame):
            builds = bisect_left(building, node.lineno) != bisect_right(building, node.end_lineno or node.lineno)
            if builds and node not in self.reader.called:
                inner, returned = self.reader.function(node, self._living(around, frame))
                named += self._named(inner, f"{inner.name}.", returned)
        return [*dict.fromkeys(self._checked(name, graph, path) for name, graph in named)]

    def _living(self, around: Frame, frame: Frame) -> Frame:
        """The scope around a function: the module's own names where it has none of its own."""
        return frame if around.name == "" else Frame(around.node, around.file, around.name, frame)

    def _named(self, frame: Frame, prefix: str, returned: Any) -> Iterator[tuple[str, FoundGraph]]:
        """The graphs that were made while a scope was read, once each, with the best name there is."""
        made = [graph for graph in self.reader.graphs if graph.owner is frame and graph.site not in self._sites]
        names: dict[FoundGraph, tuple[bool, str]] = {}
        for name, value in frame.names.items():
            if isinstance(value, GraphValue) and name not in frame.imported:
                kept = names.get(value.graph)
                if kept is None or (value.compiled and not kept[0]):
                    names[value.graph] = (value.compiled, f"{prefix}{name}")
                if "." in name and value.graph.compiled_as is None:
                    value.graph.refuse(value.graph.place, f"it is kept in {name}, where other functions may change it")
        if isinstance(returned, GraphValue):
            names.setdefault(returned.graph, (returned.compiled, prefix.rstrip(".") or str(returned.graph.place.line)))
        own = set(names)
        for graph in made:
            if graph not in names and graph.frame is not frame:
                names[graph] = (False, _name_where_made(graph))
        inside = {node.graph for graph in made for node in graph.nodes.values()}
        bounded = {graph.origin for graph in made if graph.frame is frame or graph in own}
        for graph in made:
            self._sites.add(graph.site)
            if graph in bounded or (graph in inside and graph not in own):
                continue
            yield names[graph][1] if graph in names else f"{prefix}{graph.place.line}", graph

    def _checked(self, name: str, graph: FoundGraph, path: Path) -> CheckedGraph:
        proof = prove(graph)
        verdict, findings = _verdict(proof, partial=graph.compiled_as is None and graph.owner.name != "")
        kept = [finding for finding, places in findings if not self._silenced([graph.place, *places])]
        shown = f"{path}:{name}"
        return CheckedGraph(shown, graph.place.file, graph.place.line, verdict, tuple(kept))

    def _silenced(self, places: Sequence[Place]) -> bool:
        return any(
            line in self.project.open(place.file).ignored
            for place in places
            for line in range(place.line, place.last + 1)
        )


def _verdict(proof: Proof, partial: bool) -> tuple[Verdict, list[tuple[Finding, list[Place]]]]:
    if proof.problem:
        place, why = proof.problem
        message = f"not read: {why}. --import reads it exactly"
        return "not read", [(Finding("graph-not-read", place.file, place.line, message), [place])]
    if proof.lost and not partial:
        found = [
            (Finding("unreachable-node", place.file, place.line, f"no path from the start reaches {node!r}"), [place])
            for node, place in proof.lost
        ]
        return "unreachable", found
    cycles = [(cycle_finding(cycle.nodes, cycle.place.file, cycle.place.line), [cycle.place]) for cycle in proof.cycles]
    return ("unbounded" if cycles else "bounded"), cycles


def cycle_finding(cycle: tuple[str, ...], file: Path, line: int) -> Finding:
    """The finding for a cycle that crosses no bound."""
    message = f"cycle without a bound: {' -> '.join((*cycle, cycle[0]))}"
    return Finding("unbounded-cycle", file, line, message, cycle, suggested_loop(cycle))


def _name_where_made(graph: FoundGraph) -> str:
    """The name of a graph in the function that made it."""
    frame: Frame = graph.frame
    names = [name for name, value in frame.names.items() if isinstance(value, GraphValue) and value.graph is graph]
    return f"{frame.name}.{names[-1] if names else graph.place.line}"
