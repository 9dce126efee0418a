"""The exact proof of graphs that are imported."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from loopwright.check.findings import CheckedGraph
from loopwright.check.found import Place
from loopwright.check.loading import load_graphs
from loopwright.check.project import SourceFile
from loopwright.check.proving import WHOLE, Finding, cycle_finding, handlers_in, suggested
from loopwright.engine.proof.choice import choose
from loopwright.engine.proof.read import builder_of, read_topology
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError


def check_imported(target: str, allow_empty: bool = False) -> list[CheckedGraph]:
    """Import what a target names and prove its graphs.

    Args:
        target: As for `load_graphs`.
        allow_empty: Whether a file whose import makes no graph is no error.

    Raises:
        GraphError: If it cannot be imported or holds no such graph.
    """
    # What the imported code prints must not get into the report.
    with redirect_stdout(sys.stderr):
        graphs = load_graphs(target, allow_empty=allow_empty)
        return [_checked(name, graph) for name, graph in graphs.items()]


def _checked(name: str, graph: Any) -> CheckedGraph:
    place = _place_of(name)
    try:
        certificate = verify(graph)
    except GraphError as error:
        finding = Finding("unreachable-node", place, " ".join(str(error).split()))
        return CheckedGraph(name, place, "unreachable", _not_silenced([finding]))
    if certificate.bounded:
        return CheckedGraph(name, place, "bounded", certificate=certificate)
    bounds = suggestions(graph, certificate.unbounded_cycles)
    found = [cycle_finding(cycle, place, bounds.get(cycle)) for cycle in certificate.unbounded_cycles]
    steps = (getattr(graph, "config", None) or {}).get("recursion_limit")
    return CheckedGraph(name, place, "unbounded", _not_silenced(found), steps=steps)


def suggestions(graph: Any, cycles: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Cycle -> what would bound it, said once for all cycles that it bounds."""
    name = getattr(graph, "name", None)
    topology = read_topology(builder_of(graph), name)
    follow = topology.ways()
    own = [cycle for cycle in cycles if all(node in follow for node in cycle)]
    inside = [cycle for cycle in cycles if cycle not in own]
    return suggested(choose(follow), own, name, {}, handlers_in(topology.edges)) | dict.fromkeys(inside[:1], WHOLE)


def _place_of(target: str) -> Place:
    """Where a module gives a graph its name, or defines the function that makes it."""
    place, _, name = target.partition(":")
    module = sys.modules.get(place)
    file = Path(place) if place.endswith(".py") else Path(getattr(module, "__file__", None) or place)
    line, path = 1, file.resolve()
    if file.is_file():
        line = max((node.lineno for node in SourceFile(path).tree.body if _names_it(node, name)), default=1)
    return Place(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else file, line, line)


def _names_it(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name


def _not_silenced(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    place = findings[0].place
    return () if place.file.is_file() and place.line in SourceFile(place.file).ignored else tuple(findings)
