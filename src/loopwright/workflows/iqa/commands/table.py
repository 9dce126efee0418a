"""``loopwright iqa batch``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from loopwright.workflows.iqa.batch import BatchResult, Progress

_FAILURES_SHOWN = 5
_EVERY_S = 10.0
"""Seconds between two lines of progress where there is no terminal."""

Table = Annotated[Path, typer.Option("--out", "-o", help="The table: .csv, .jsonl or .parquet.", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Write an HTML report too, worst images first.")]
Worst = Annotated[int | None, typer.Option(min=1, help="Rows of the report; by default the worst 200.")]


def batch(
    source: Annotated[
        Path, typer.Argument(help="A folder of images, or a manifest.jsonl.", show_default=False, readable=False)
    ],
    out: Table,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="The question, where the manifest has none.")
    ] = None,
    report: Report = None,
    worst: Worst = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one for each processor.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Processes of this machine, or a Ray cluster (loopwright[ray]).")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster: 'auto', HOST:PORT; without it, one is started here.")
    ] = None,
    shard: Annotated[str | None, typer.Option(help="Do only part i of n: i/n.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on: finished rows stay, failed ones run again.")] = False,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)] = None,
) -> None:
    """Assess a folder of images, or the rows of a manifest, into a table."""
    from loopwright.workflows.iqa import IQAConfig
    from loopwright.workflows.iqa.batch.reporting import WORST
    from loopwright.workflows.iqa.batch.running import DEFAULT_QUERY, run_batch
    from loopwright.workflows.iqa.batch.samples import Shard

    if address is not None and engine != "ray":
        raise typer.BadParameter("only a Ray cluster has one; give --engine ray, too", param_hint="--address")
    result = run_batch(
        source, out, query=query or DEFAULT_QUERY, config=IQAConfig.load(config), workers=workers,
        engine=engine, address=address,
        shard=Shard.parse(shard) if shard else None, resume=resume, report=report, worst=worst or WORST,
        on_progress=shown_progress(),
    )  # fmt: skip
    _tell(result)
    if result.interrupted:
        print("loopwright: stopped; the same command with --resume goes on from here", file=sys.stderr)
        raise typer.Exit(130)
    if report is not None:
        print(f"the report takes {report.stat().st_size / 1e6:.1f} MB")
        print(report)
    print(out)
    if result.progress.failed:
        raise typer.Exit(1)


def _tell(result: BatchResult) -> None:
    done = result.progress
    print(
        f"{done.assessed:,} assessed, {result.progress.failed:,} failed, {done.unchanged:,} unchanged "
        f"of {done.total:,} in {done.seconds:.1f} s"
    )
    for sample, error in done.failures[:_FAILURES_SHOWN]:
        print(f"loopwright: {sample}: {error}", file=sys.stderr)
    if result.progress.failed > _FAILURES_SHOWN:
        print(
            f"loopwright: and {result.progress.failed - _FAILURES_SHOWN} more; see the column 'error'", file=sys.stderr
        )


def shown_progress() -> Callable[[Progress], None]:
    """Tells on standard error how far a batch has come: a line that changes on a terminal, else one now and then."""
    terminal = sys.stderr.isatty()
    every, last = 0.2 if terminal else _EVERY_S, 0.0 if terminal else time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        ended = progress.done == progress.total
        if ended or time.monotonic() - last >= every:
            last = time.monotonic()
            line = f"{progress.done:,} of {progress.total:,}, {_pace(progress)}"
            # What was longer before is overwritten with spaces.
            end = "\r" if terminal and not ended else "\n"
            print(f"{line:<60}" if terminal else line, file=sys.stderr, end=end, flush=True)

    return say


def _pace(progress: Progress) -> str:
    left = progress.seconds_left
    remaining = "" if left is None else f", {timedelta(seconds=round(left))} left"
    return f"{progress.rate:.1f}/s, {progress.failed:,} failed{remaining}"
