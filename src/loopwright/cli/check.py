"""``loopwright check``: is every cycle of every graph bounded?"""

import gc
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from loopwright.workflows import registry

_COLOURS = {"bounded": "green", "unbounded": "red", "unreachable": "red", "not read": "yellow", "not proven": "yellow"}


def check(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="MODULE:GRAPH, FILE.py[:GRAPH], FILE.ipynb, a folder or a workflow."),
    ],
    format: Annotated[Literal["text", "json"], typer.Option("--format", "-f", help="How to report.")] = "text",
    import_them: Annotated[
        bool | None,
        typer.Option("--import/--no-import", help="Import files for an exact proof; by default they are only read."),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A file without graphs is no error, for hooks on changed files.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", help="Import the graph and compare it with the one reviewed."),
    ] = None,
    write_certificate: Annotated[
        Path | None,
        typer.Option("--write-certificate", metavar="FILE", help="Import the graph and write its certificate."),
    ] = None,
) -> None:
    """Prove that every cycle of a graph is bounded, or name the cycles that are not.

    Exit code 0: all bounded; 1: findings; 2: something could not be checked. Files and folders are read without running
    their code. The comment "# loopwright: ignore" on the line of a graph or edge silences what is found there.
    """
    # A workflow's name stands for its class; what is a file or folder here is that.
    known = registry.names()
    targets = [registry.place_of(each) if each in known and not Path(each).exists() else each for each in targets]
    if certificate or write_certificate:
        raise typer.Exit(_reviewed(targets, format, certificate, write_certificate))
    from loopwright.check.report import as_json, lines
    from loopwright.check.targets import check_targets

    gc.set_threshold(100_000)  # hardly anything that is read is garbage
    outcome = check_targets(targets, import_them, allow_empty)
    if format == "text":
        for line in lines(outcome):
            verdict = next((each for each in _COLOURS if line.startswith(f"{each} ")), "")
            typer.echo(typer.style(verdict, _COLOURS.get(verdict), bold=True) + line.removeprefix(verdict))
    else:
        print(as_json(outcome))
    for error in outcome.errors:
        print(f"loopwright: {error}", file=sys.stderr)
    raise typer.Exit(outcome.exit_code)


def _reviewed(targets: list[str], format: str, certificate: Path | None, write_to: Path | None) -> int:
    """Compare a graph with the certificate that was reviewed, and write its own."""
    from loopwright.check.reviewed import check_reviewed, write_certificate
    from loopwright.errors import GraphError

    if len(targets) != 1:
        raise GraphError(f"a certificate is of one graph, and there are {len(targets)} targets")
    if format == "json":
        raise GraphError("a certificate is compared in text alone: leave --format away")
    # What was reviewed is read first: the new one may go into the same file.
    worse = [] if certificate is None else check_reviewed(targets[0], certificate)
    if write_to is not None:
        written = write_certificate(targets[0], write_to)
        print(f"{write_to}: at most {written.max_supersteps:,} supersteps")
    for change in worse:
        print(f"changed since the review: {change}")
    if certificate is not None and not worse:
        print(f"{targets[0]}: nothing is worse than in {certificate}")
    return int(bool(worse))
