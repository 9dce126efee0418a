"""The report for programs: JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from loopwright.check.findings import CheckedGraph
from loopwright.check.found import Place
from loopwright.check.proving import Finding
from loopwright.check.targets import Outcome

VERSION = 1
"""The version of the JSON report's form; it rises when a key changes its meaning or goes away."""


def as_json(outcome: Outcome) -> str:
    """One object: the form's version, every graph with its verdict and cycles, and the errors."""
    graphs = [_graph(graph) for graph in outcome.graphs]
    return json.dumps({"version": VERSION, "graphs": graphs, "errors": outcome.errors}, indent=2, ensure_ascii=False)


def _graph(graph: CheckedGraph) -> dict[str, Any]:
    certificate = graph.certificate
    return {
        "name": graph.name,
        **_place(graph.place),
        "verdict": graph.verdict,
        "bounds": [*graph.bounds],
        "notes": [*graph.notes],
        "assumptions": [*graph.assumptions],
        "steps": graph.steps,
        "cycles": [
            {"nodes": [*found.cycle], **_problem(found), "suggestion": found.suggestion}
            for found in graph.findings
            if found.cycle
        ],
        "problems": [_problem(found) for found in graph.findings if not found.cycle],
        "certificate": None if certificate is None else certificate.model_dump(mode="json"),
    }


def _problem(finding: Finding) -> dict[str, Any]:
    return {"rule": finding.rule, **_place(finding.place), "message": finding.message}


def _place(place: Place) -> dict[str, Any]:
    return {"file": path_from_here(place.file), "line": place.line, "cell": place.cell}


def path_from_here(path: Path) -> str:
    """A path relative to the working directory, with slashes."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()
