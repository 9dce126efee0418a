"""``loopwright check``: is every cycle of a graph bounded?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.engine import Certificate


def check(
    graph: Annotated[str, typer.Argument(metavar="MODULE:GRAPH|FILE", help="A graph, or a file with graphs in it.")],
) -> None:
    """Prove that every cycle of a graph is bounded, or name the cycles that are not (exit code 1)."""
    from rich.console import Console

    from loopwright.cli.loading import load_graphs
    from loopwright.engine import verify

    console = Console(soft_wrap=True)
    unbounded = False
    for name, found in load_graphs(graph).items():
        certificate = verify(found)
        unbounded |= not certificate.bounded
        _report(console, name, certificate, found)
    if unbounded:
        raise typer.Exit(1)


def _report(console: Console, name: str, certificate: Certificate, graph: Any) -> None:
    from loopwright.engine.certificate import suggested_loop

    if not certificate.bounded:
        console.print(
            f"[bold red]unbounded[/] {name}: up to {_default_steps():,} steps, then an error", highlight=False
        )
        for cycle in certificate.unbounded_cycles:
            console.print(f"  cycle  {' -> '.join((*cycle, cycle[0]))}", highlight=False, markup=False)
            console.print(f"  bound  {suggested_loop(cycle)}", highlight=False, markup=False)
        return
    console.print(f"[bold green]bounded[/] {name}", highlight=False)
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    for label, value in (
        ("supersteps", certificate.max_supersteps),
        ("node runs", certificate.max_node_runs),
        ("model calls", certificate.max_model_calls),
        ("seconds", certificate.max_seconds),
    ):
        table.add_row("", f"at most {value:,}" if value is not None else "not known", label)
    console.print(table)
    for assumption in certificate.assumptions:
        console.print(f"  rests on: {assumption}", highlight=False, markup=False, style="dim")


def _default_steps() -> int:
    """What LangGraph allows a graph that is not bounded: its default, which this variable changes."""
    return int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
