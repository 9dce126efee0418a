"""The exact proof of graphs that are imported, with the best known line for each finding."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

from loopwright.check.findings import CheckedGraph, Finding, cycle_finding
from loopwright.check.loading import load_graphs
from loopwright.check.project import SourceFile
from loopwright.check.proving import WHOLE, handlers_in, suggested
from loopwright.engine.proof.reach import functions_of
from loopwright.engine.proof.read import builder_of, read_topology, subgraphs
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError

Line = tuple[Path, int]


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
    line = _line_of_graph(name)
    try:
        certificate = verify(graph)
    except GraphError as error:
        finding = Finding("unreachable-node", *line, " ".join(str(error).split()))
        return CheckedGraph(name, *line, "unreachable", _not_silenced([finding], line))
    if certificate.bounded:
        return CheckedGraph(name, *line, "bounded", certificate=certificate)
    bounds = suggestions(graph, certificate.unbounded_cycles)
    found = [
        cycle_finding(cycle, *_line_of_cycle(graph, cycle, line), bounds.get(cycle), None)
        for cycle in certificate.unbounded_cycles
    ]
    steps = (getattr(graph, "config", None) or {}).get("recursion_limit")
    return CheckedGraph(name, *line, "unbounded", _not_silenced(found, line), steps=steps)


def suggestions(graph: Any, cycles: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Cycle -> what would bound it, said once for all cycles that it bounds."""
    name = getattr(graph, "name", None)
    topology = read_topology(builder_of(graph), name)
    follow = topology.ways()
    own = [cycle for cycle in cycles if all(node in follow for node in cycle)]
    inside = [cycle for cycle in cycles if cycle not in own]
    return suggested(follow, own, name, {}, handlers_in(topology.edges)) | dict.fromkeys(inside[:1], WHOLE)


def _line_of_graph(target: str) -> Line:
    """Where a module gives a graph its name, or defines the function that makes it."""
    place, _, name = target.partition(":")
    module = sys.modules.get(place)
    file = Path(place) if place.endswith(".py") else Path(getattr(module, "__file__", None) or place)
    line = 1
    if file.is_file():
        for node in _source(file.resolve()).tree.body:
            if _names_it(node, name):
                line = node.lineno
    return _near(file), line


_source = lru_cache(maxsize=64)(SourceFile)
"""A file, parsed once for all findings in it."""


def _names_it(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name


def _line_of_cycle(graph: Any, cycle: Sequence[str], otherwise: Line) -> Line:
    """The function of the node whose edge closes a cycle, or of the nearest before it that the user wrote."""
    for node in reversed(cycle):
        builder = builder_of(graph)
        *around, name = node.split("/")
        for outer in around:
            builder = builder_of(subgraphs(builder)[outer])
        for function in functions_of(builder.nodes[name].runnable):
            code = getattr(inspect.unwrap(function), "__code__", None)
            if code is not None and "site-packages" not in code.co_filename and Path(code.co_filename).is_file():
                return _near(Path(code.co_filename)), code.co_firstlineno
    return otherwise


def _near(file: Path) -> Path:
    """The path from here, if the file is below."""
    path = file.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else file


def _not_silenced(findings: Sequence[Finding], graph: Line) -> tuple[Finding, ...]:
    return tuple(
        finding
        for finding in findings
        if not any(
            line in _source(file.resolve()).ignored
            for file, line in (graph, (finding.file, finding.line))
            if file.is_file()
        )
    )
