"""The report for people."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from loopwright.check.findings import CheckedGraph
from loopwright.check.targets import Outcome

_FIGURES = {
    "max_supersteps": "supersteps", "max_node_runs": "node runs", "max_model_calls": "model calls",
    "max_seconds": "seconds",
}  # fmt: skip


def lines(outcome: Outcome) -> Iterator[str]:
    """Every graph with its verdict, what is wrong with it, and a `Loop` ready to paste."""
    for graph in outcome.graphs:
        yield from _graph(graph)
    yield from (f"no graph found in {place}" for place in outcome.empty)
    if outcome.files > 1 and outcome.graphs:
        counts = Counter(graph.verdict for graph in outcome.graphs)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        yield f"{len(outcome.graphs)} graphs in {outcome.files} files: {verdicts}"


def _graph(graph: CheckedGraph) -> Iterator[str]:
    after = ""
    if graph.verdict in ("unbounded", "not proven"):
        # What LangGraph allows a graph that is not bounded: its default, which this variable changes.
        steps = graph.steps or int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
        after = f": up to {steps:,} steps, then an error"
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
        for key, label in _FIGURES.items():
            value = getattr(graph.certificate, key)
            yield f"  {'not known' if value is None else f'at most {value:,}':<16}  {label}"
    for assumption in (*graph.assumptions, *(graph.certificate.assumptions if graph.certificate else ())):
        yield f"  rests on: {assumption}"
