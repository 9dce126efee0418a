"""``loopwright graph``: the picture of a graph and its certificate."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from loopwright.errors import InputError
from loopwright.workflows import registry

app = typer.Typer(help="Show a graph: its diagram, its loops, its certificate.", no_args_is_help=True)


@app.command()
def show(
    graph: Annotated[
        str, typer.Argument(metavar="WORKFLOW|MODULE:GRAPH|FILE", help="An installed workflow, or any LangGraph graph.")
    ],
    format: Annotated[
        Literal["text", "mermaid", "svg", "png", "json"], typer.Option("--format", "-f", help="How to show it.")
    ] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; by default standard output.")
    ] = None,
) -> None:
    """Show a graph's diagram with its loops and their limits, and what a run costs at most."""
    if out is not None and format == "text":
        raise InputError("--out goes with a picture or JSON: give --format")
    from loopwright.check.loading import load_graphs
    from loopwright.cli.serve import is_configured, own_graphs
    from loopwright.diagram import mermaid, png, svg
    from loopwright.diagram.shown import shown_graph
    from loopwright.engine import verify
    from loopwright.engine.proof.read import read_topology

    with redirect_stdout(sys.stderr):  # what the imported code prints is no part of the picture
        configured = {each.title: each.given for each in own_graphs(graph, set())} if is_configured(graph) else None
        graphs = configured or load_graphs(registry.place_of(graph))
    if len(graphs) > 1 and (out is not None or format == "json"):
        raise InputError(f"{graph} holds {len(graphs)} graphs, and one goes into a file; name it: {', '.join(graphs)}")
    for name, found in graphs.items():
        topology = read_topology(found)
        if format == "text":
            _describe(name if len(graphs) > 1 else topology.name, topology, verify(found))
        elif format == "json":
            _write(shown_graph(found).model_dump_json(indent=2), out)
        else:
            _write({"mermaid": mermaid, "svg": svg, "png": png}[format](topology), out)


def _describe(name: str, topology: Any, certificate: Any) -> None:
    from loopwright.diagram import shown_nodes

    typer.echo(typer.style(name, bold=True))
    _start, *nodes, _end = shown_nodes(topology)
    typer.echo(f"  nodes        {', '.join(nodes)}")
    for loop in topology.loops:
        back = ", ".join("the end" if route == "__end__" else route for route in loop.fallbacks)
        typer.echo(
            f"  loop {loop.name:<7} {', '.join(loop.sources)} -> {loop.target}, limit {loop.limit_text}; then {back}"
        )
    if certificate.bounded:
        typer.echo(f"  supersteps   at most {certificate.max_supersteps:,}")
        if certificate.max_model_calls is not None:
            typer.echo(f"  model calls  at most {certificate.max_model_calls:,}, retries and repairs included")
        if certificate.max_seconds is not None:
            typer.echo(f"  seconds      at most {certificate.max_seconds:,.0f}, retries and waits included")
    else:
        for cycle in certificate.unbounded_cycles:
            typer.echo(typer.style(f"  unbounded    {' -> '.join((*cycle, cycle[0]))}", "red"))


def _write(shown: str | bytes, out: Path | None) -> None:
    if out is None:
        if isinstance(shown, str):
            print(shown.rstrip("\n"))
        elif sys.stdout.isatty():
            raise typer.BadParameter("a picture does not fit the terminal; give a file with --out", param_hint="--out")
        else:
            sys.stdout.buffer.write(shown)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(shown.encode() if isinstance(shown, str) else shown)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}; name another file with --out") from error
    print(f"wrote {out}", file=sys.stderr)
