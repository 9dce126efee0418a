"""The reports for programs: JSON and SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from loopwright import __version__
from loopwright.check.findings import CheckedGraph, Finding
from loopwright.check.targets import Outcome

VERSION = 1
"""The version of the JSON report's form; it rises when a key changes its meaning or goes away."""

LEVELS = {"unbounded-cycle": "error", "unreachable-node": "error", "graph-not-read": "warning",
          "unproven-cycle": "warning"}  # fmt: skip
"""Rule -> how bad a finding is."""

RULES = {
    "unbounded-cycle": "A cycle crosses no bound, so a run may go round it until LangGraph's step limit.",
    "unreachable-node": "No path from the start reaches a node.",
    "graph-not-read": "A graph cannot be read without importing it, so nothing is known of its cycles.",
    "unproven-cycle": "A cycle may be bounded by a counter in the program's own code, which nothing proves.",
}
"""Rule -> what it says."""

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


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


def as_sarif(outcome: Outcome) -> str:
    """A SARIF 2.1.0 log with one run."""
    rules = [
        {"id": rule, "shortDescription": {"text": text}, "defaultConfiguration": {"level": LEVELS[rule]}}
        for rule, text in RULES.items()
    ]
    notifications = [{"level": "error", "message": {"text": error}} for error in outcome.errors]
    invocation = {"executionSuccessful": not outcome.errors, "toolExecutionNotifications": notifications}
    run = {
        "tool": {"driver": {"name": "loopwright", "version": __version__, "rules": rules}},
        "invocations": [invocation],
        "results": [_result(graph, finding) for graph in outcome.graphs for finding in graph.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _result(graph: CheckedGraph, finding: Finding) -> dict[str, Any]:
    region = (
        {} if finding.cell else {"region": {"startLine": finding.line}}
    )  # a notebook's lines are those of its cells
    place = {"uri": quote(path_from_here(finding.file)), "uriBaseId": "%SRCROOT%"}
    return {
        "ruleId": finding.rule,
        "ruleIndex": [*RULES].index(finding.rule),
        "level": LEVELS[finding.rule],
        "message": {"text": f"{graph.name}: {_words(finding)}"},
        "locations": [{"physicalLocation": {"artifactLocation": place, **region}}],
    }


def _words(finding: Finding) -> str:
    place = f"cell {finding.cell}, line {finding.line}: " if finding.cell else ""
    return "\n".join(filter(None, (f"{place}{finding.message}", finding.suggestion)))


def path_from_here(path: Path) -> str:
    """A path relative to the working directory, with slashes, as every report wants it."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.as_posix()
