"""The report for programs: JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from loopwright.check.findings import CheckedGraph
from loopwright.check.targets import Outcome

VERSION = 1
"""The version of the JSON report's form; it rises when a key changes its meaning or goes away."""


def as_json(outcome: Outcome) -> str:
    """One object: the form's version, every graph with its verdict and cycles, and the errors."""
    graphs = [_graph(graph) for graph in outcome.graphs]
    return json.dumps({"version": VERSION, "graphs": graphs, "errors": outcome.errors}, indent=2, ensure_ascii=False)


def _graph(graph: CheckedGraph) -> dict[str, Any]:
    cycles = [
        {"nodes": [*finding.cycle], "file": path_from_here(finding.file), "line": finding.line,
         "cell": finding.cell, "rule": finding.rule, "message": finding.message, "suggestion": finding.suggestion}
        for finding in graph.findings
        if finding.cycle
    ]  # fmt: skip
    problems = [
        {"rule": finding.rule, "file": path_from_here(finding.file), "line": finding.line,
         "cell": finding.cell, "message": finding.message}
        for finding in graph.findings
        if not finding.cycle
    ]  # fmt: skip
    certificate = graph.certificate
    return {
        "name": graph.name,
        "file": path_from_here(graph.file),
        "line": graph.line,
        "cell": graph.cell,
        "verdict": graph.verdict,
        "bounds": [*graph.bounds],
        "notes": [*graph.notes],
        "assumptions": [*graph.assumptions],
        "steps": graph.steps,
        "cycles": cycles,
        "problems": problems,
        "certificate": None if certificate is None else certificate.model_dump(mode="json"),
    }


def path_from_here(path: Path) -> str:
    """A path relative to the working directory, with slashes."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()
