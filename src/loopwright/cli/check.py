"""``loopwright check``: is every cycle of every graph bounded?"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How findings are reported."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def check(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="MODULE:GRAPH, FILE.py:GRAPH, FILE.py or a folder.")
    ],
    format: Annotated[Format, typer.Option("--format", "-f", help="How to report.")] = Format.TEXT,
    import_them: Annotated[
        bool | None,
        typer.Option("--import/--no-import", help="Import files for an exact proof; by default they are only read."),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="A file without graphs is no error, for hooks on changed files.")
    ] = False,
) -> None:
    """Prove that every cycle of a graph is bounded, or name the cycles that are not.

    Exit code 0: all bounded; 1: findings; 2: something could not be checked. Files and folders are read without running
    their code. The comment "# loopwright: ignore" on the line of a graph or edge silences what is found there.
    """
    from loopwright.cli.checking import machine, text
    from loopwright.cli.checking.targets import check_targets

    outcome = check_targets(targets, import_them, allow_empty)
    if format is Format.TEXT:
        text.show(outcome)
    else:
        reports = {Format.JSON: machine.as_json, Format.SARIF: machine.as_sarif, Format.GITHUB: machine.as_github}
        if report := reports[format](outcome):
            print(report)
    for error in outcome.errors:
        print(f"loopwright: {error}", file=sys.stderr)
    raise typer.Exit(outcome.exit_code)
