"""``loopwright runs``: the kept runs, without a server."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.serve import DATA, Data, Runs
from loopwright.errors import InputError

if TYPE_CHECKING:
    from loopwright.runs.store.history import RunStore

app = typer.Typer(help="Forget old runs; the page and GET /v1/runs list and show them.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Forget old runs; the page and GET /v1/runs list and show them."""


@app.command()
def prune(
    keep: Annotated[int | None, typer.Option(min=1, help="Keep so many runs of each workflow.")] = None,
    keep_days: Annotated[float | None, typer.Option(min=0, help="Keep runs for so many days.")] = None,
    data: Data = DATA,
    runs: Runs = None,
) -> None:
    """Forget old runs that have ended, with their checkpoints; those that ship with the package stay."""
    from loopwright.checkpoints.opening import forget
    from loopwright.runs.checkpoints import place

    if keep is None and keep_days is None:
        raise InputError("say what may go: --keep N (runs of each workflow) or --keep-days N")
    oldest = None if keep_days is None else datetime.now(UTC) - timedelta(days=keep_days)
    with opened_runs(data, runs) as store:
        gone = store.prune(older_than=oldest, keep=keep)
    if gone and (runs or (data / "checkpoints.db").is_file()):
        forget(place(data, runs), gone)
    print(f"{len(gone)} runs forgotten")


@contextmanager
def opened_runs(data: Path, runs: str | None, *, create: bool = False) -> Generator[RunStore]:
    """The kept runs of a data folder, or of an address.

    Args:
        data: The folder.
        runs: The address; None for the file in the folder.
        create: Whether they are made where there are none.

    Raises:
        InputError: If there are none.
    """
    from loopwright.runs.store import open_runs

    file = data / "runs.db"
    if runs is None and not create and not file.is_file():
        raise InputError(
            f"no runs are kept in {data}: `loopwright serve` keeps them there, or name the folder by --data"
        )
    with closing(open_runs(runs or f"sqlite:{file}", create=create)) as store:
        yield store
