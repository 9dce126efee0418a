"""The report for people."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopwright.check.findings import CheckedGraph
from loopwright.check.targets import Outcome

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    "bounded": "bold green", "unbounded": "bold red", "unreachable": "bold red", "not read": "bold yellow",
    "not proven": "bold yellow",
}  # fmt: skip

_FIGURES = {
    "max_supersteps": "supersteps", "max_node_runs": "node runs", "max_model_calls": "model calls",
    "max_seconds": "seconds",
}  # fmt: skip


def show(outcome: Outcome) -> None:
    """Print every graph with its verdict, what is wrong with it, and a `Loop` ready to paste."""
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for graph in outcome.graphs:
        _show(console, graph)
    for place in outcome.empty:
        console.print(f"no graph found in {place}", markup=False)
    if outcome.files > 1 and outcome.graphs:
        counts = Counter(graph.verdict for graph in outcome.graphs)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        console.print(f"{len(outcome.graphs)} graphs in {outcome.files} files: {verdicts}", markup=False)


def _show(console: Console, graph: CheckedGraph) -> None:
    from rich.text import Text

    line = Text(graph.verdict, _STYLES[graph.verdict]).append(f" {graph.name}", "not bold default")
    if graph.verdict in ("unbounded", "not proven"):
        line.append(f": up to {graph.steps or _default_steps():,} steps, then an error", "not bold default")
    elif graph.bounds:
        line.append(f": by {', '.join(graph.bounds)}", "not bold default")
    console.print(line)
    for finding in graph.findings:
        if finding.cycle:
            console.print(f"  cycle  {' -> '.join((*finding.cycle, finding.cycle[0]))}", markup=False)
        if not finding.cycle or finding.rule == "unproven-cycle":
            console.print(f"  why    {finding.message.removesuffix(_way(finding.cycle))}", markup=False)
        console.print(f"  at     {finding.place}", markup=False)
        for suggestion in (finding.suggestion or "").splitlines():
            console.print(f"  bound  {suggestion}", markup=False)
    for note in graph.notes:
        console.print(f"  note   {note}", markup=False)
    for assumption in graph.assumptions:
        console.print(f"  rests on: {assumption}", markup=False, style="dim")
    if graph.verdict != "bounded" and not graph.findings:
        console.print("  silenced by a comment", style="dim")
    if graph.certificate is not None:
        _show_figures(console, graph)


def _way(cycle: Sequence[str]) -> str:
    return f": {' -> '.join((*cycle, cycle[0]))}" if cycle else ""


def _show_figures(console: Console, graph: CheckedGraph) -> None:
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    for key, label in _FIGURES.items():
        value = getattr(graph.certificate, key)
        table.add_row("", f"at most {value:,}" if value is not None else "not known", label)
    console.print(table)
    for assumption in graph.certificate.assumptions:
        console.print(f"  rests on: {assumption}", markup=False, style="dim")


def _default_steps() -> int:
    """What LangGraph allows a graph that is not bounded: its default, which this variable changes."""
    return int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
