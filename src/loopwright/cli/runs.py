"""``loopwright runs``: the kept runs, without a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.serve import DATA, Data, Runs
from loopwright.cli.words import AsJson
from loopwright.cli.words import visible as printable
from loopwright.errors import InputError

if TYPE_CHECKING:
    from loopwright.runs.schemas import RunRecord, RunSummary
    from loopwright.runs.store.history import RunStore

app = typer.Typer(help="Look at kept runs, and forget old ones.", no_args_is_help=True)

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)]


@app.command("list")
def list_runs(
    workflow: Annotated[str | None, typer.Option(help="Only of this workflow.", show_default=False)] = None,
    status: Annotated[str | None, typer.Option(help="Only runs that ended so, for example failed.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only runs that are called so.", show_default=False)] = None,
    text: Annotated[
        str | None, typer.Option(help="Only runs with these words in title, input or answer.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
    data: Data = DATA,
    runs: Runs = None,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    from pydantic import ValidationError

    from loopwright.runs.schemas import RunFilter

    try:
        wanted = RunFilter.model_validate({"workflow": workflow, "status": status, "text": text, "tag": tag})
    except ValidationError as error:
        raise InputError(f"--status is {status!r}: {error.errors()[0]['msg']}") from None
    with opened_runs(data, runs) as store:
        page = store.list(wanted, limit)
    if as_json:
        print(page.model_dump_json(indent=2))
        return
    for run in page.runs:
        print(_line(run))
    if len(page.runs) < page.total:
        print(f"and {page.total - len(page.runs)} more; see --limit", file=sys.stderr)


@app.command()
def show(run_id: RunId, data: Data = DATA, runs: Runs = None, as_json: AsJson = False) -> None:
    """Show a run: its way, its loops and its outcome."""
    with opened_runs(data, runs) as store:
        run = _known(store, run_id)
    if as_json:
        print(run.model_dump_json(indent=2))
        return
    print(_line(run))
    print(f"  input: {json.dumps(run.input, ensure_ascii=False)[:500]}")
    print(f"  path: {' -> '.join(run.path) or 'none'}")
    for loop in run.loops:
        refused = f", then {loop.refused}" if loop.refused else ""
        of = "" if loop.limit is None else f" of {loop.limit}"
        print(f"  loop {loop.loop}: {loop.passes}{of} passes{refused}")
    if run.model_calls:
        cost = "" if run.cost is None else f", ${run.cost:.4f}"
        print(f"  models: {run.model_calls} call(s), {run.tokens} tokens{cost}")
    if run.error:
        print(f"  error: {printable(run.error)}")
    if run.outcome and run.outcome.answer:
        print(printable(run.outcome.answer))


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


def _known(store: RunStore, run_id: str) -> RunRecord:
    run = store.get(run_id)
    if run is None:
        raise InputError(f"there is no run {run_id!r}; `loopwright runs list` lists them")
    return run


def _line(run: RunSummary) -> str:
    seconds = "" if run.seconds is None else f"  {run.seconds:.2f} s"
    stopped = f" ({run.stop_reason})" if run.stop_reason else ""
    began = run.started_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return printable(f"{run.id}  {began}  {run.workflow}  {run.status}{stopped}{seconds}  {run.title}")
