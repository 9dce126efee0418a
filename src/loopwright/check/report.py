"""The report of a check: text for people, JSON for programs."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopwright.check.findings import CheckedGraph
from loopwright.check.found import Place
from loopwright.check.proving import Finding
from loopwright.check.targets import Outcome

VERSION = 1
"""The version of the JSON report's form; it rises when a key changes its meaning or goes away."""


def lines(outcome: Outcome) -> Iterator[str]:
    """Every graph with its verdict, what is wrong with it, and a `Loop` ready to paste."""
    for graph in outcome.graphs:
        yield from _lines_of(graph)
    yield from (f"no graph found in {place}" for place in outcome.empty)
    if outcome.files > 1 and outcome.graphs:
        counts = Counter(graph.verdict for graph in outcome.graphs)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"{len(outcome.graphs)} graphs in {outcome.files} files: {verdicts}"


def _lines_of(graph: CheckedGraph) -> Iterator[str]:
    after = ""
    if graph.verdict in ("unbounded", "not proven"):
        # What LangGraph allows a graph that is not bounded: its default, which this variable changes.
        steps = graph.steps or int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
        after = f": up to {steps:,} steps, then LangGraph stops it"
    elif graph.bounds:
        after = f": by {', '.join(graph.bounds)}"
    yield f"{graph.verdict} {graph.name}{after}"
    for finding in graph.findings:
        if finding.cycle:
            yield f"  cycle  {finding.way}"
        if not finding.cycle or finding.rule == "unproven-cycle":
            yield f"  why    {finding.why}"
        yield f"  at     {finding.place}"
        yield from (f"  bound  {suggestion}" for suggestion in (finding.suggestion or "").splitlines())
    yield from (f"  note   {note}" for note in graph.notes)
    if graph.verdict != "bounded" and not graph.findings:
        yield "  silenced by a comment"
    if graph.certificate is not None:
        from loopwright.engine.proof.certificate import FIGURES  # with LangGraph, which only an imported graph needs

        for field, label in FIGURES.items():
            value = getattr(graph.certificate, field)
            if field != "max_tokens":  # which nothing but a budget bounds
                yield f"  {'not known' if value is None else f'at most {value:,}':<16}  {label}"
    for assumption in (*graph.assumptions, *(graph.certificate.assumptions if graph.certificate else ())):
        yield f"  rests on: {assumption}"


def as_json(outcome: Outcome) -> str:
    """One object: the form's version, every graph with its verdict and cycles, and the errors."""
    graphs = [_graph(graph) for graph in outcome.graphs]
    return json.dumps({"version": VERSION, "graphs": graphs, "errors": outcome.errors}, indent=2, ensure_ascii=False)


def _graph(graph: CheckedGraph) -> dict[str, Any]:
    certificate, cycles = graph.certificate, [found for found in graph.findings if found.cycle]
    return {
        "name": graph.name,
        **_place(graph.place),
        "verdict": graph.verdict,
        "bounds": [*graph.bounds],
        "notes": [*graph.notes],
        "assumptions": [*graph.assumptions],
        "steps": graph.steps,
        "cycles": [{"nodes": [*found.cycle], **_problem(found), "suggestion": found.suggestion} for found in cycles],
        "problems": [_problem(found) for found in graph.findings if not found.cycle],
        "certificate": None if certificate is None else certificate.model_dump(mode="json"),
    }


def _problem(finding: Finding) -> dict[str, Any]:
    return {"rule": finding.rule, **_place(finding.place), "message": finding.message}


def _place(place: Place) -> dict[str, Any]:
    path = place.file
    with suppress(ValueError):  # on another drive
        path = Path(os.path.relpath(path))
    return {"file": path.as_posix(), "line": place.line, "cell": place.cell}
