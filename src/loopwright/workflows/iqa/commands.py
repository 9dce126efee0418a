"""``loopwright iqa``: assess images."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loopwright.cli.words import ConfigFile
from loopwright.engine.events.reasons import stops_said
from loopwright.engine.events.schema import holding
from loopwright.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.engine import RunEvent, RunResult
    from loopwright.workflows.iqa.batch import Progress
    from loopwright.workflows.iqa.comparing import Comparison, Side

app = typer.Typer(help="Assess image quality: planner, executor, summarizer, replanning.", no_args_is_help=True)

DEFAULT_QUERY = "What is the quality of this image, and what is wrong with it?"
_EVERY_S = 10.0
"""Seconds between two lines of progress where there is no terminal."""


@app.command()
def assess(
    # What cannot be read is told by the loader in one line, not by Typer in four.
    image: Annotated[Path, typer.Argument(help="The image.", show_default=False, readable=False)],
    reference: Annotated[
        Path | None, typer.Option("--reference", "-r", help="The pristine image.", readable=False)
    ] = None,
    query: Annotated[str, typer.Option("--query", "-q", help="The question.")] = DEFAULT_QUERY,
    region: Annotated[str | None, typer.Option(help="left,top,width,height in pixels.")] = None,
    max_replan: Annotated[int | None, typer.Option("--max-replan", min=0, help="Replans that are allowed.")] = None,
    sample_id: Annotated[
        str | None, typer.Option(help="Names the run's checkpoint; see pipeline.checkpoint.enable.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the sample's checkpoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Resume also if another version's graph began it.")] = False,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole final state as one JSON object.")] = False,
) -> None:
    """Assess one image and say why."""
    # Pillow warns of large and of damaged files in several lines; what matters of it is an error of the loader.
    warnings.filterwarnings("ignore", module="PIL")
    from pydantic_core import to_jsonable_python

    from loopwright.models.usage import UsageRecorder, usage_of_the_run
    from loopwright.workflows.iqa import IQAConfig, trace_pipeline

    usage = UsageRecorder()
    with holding(usage_of_the_run, usage):
        result = trace_pipeline(
            query, image, reference_path=reference, max_replan_iterations=max_replan, config=IQAConfig.load(config),
            sample_id=sample_id, resume=resume, force=force, region=_box(region),
        )  # fmt: skip
    if as_json:
        print(json.dumps(to_jsonable_python(result.state), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True)
        _print_answer(console, result)
        if usage.total().calls:
            console.print(f"  models: {usage.total()}", style="dim", markup=False)


def _box(text: str | None) -> tuple[int, int, int, int] | None:
    if text is None:
        return None
    try:
        left, top, width, height = (int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--region is {text!r}: give left,top,width,height in pixels, for example 10,20,200,150"
        ) from None
    return left, top, width, height


def path_taken(events: Sequence[RunEvent]) -> str:
    """The nodes that ran, in order, with the passes of the loop marked."""
    from loopwright.engine.events.schema import LoopDecided, NodeStarted

    steps: list[str] = []
    for event in events:
        if isinstance(event, NodeStarted):
            steps.append(event.node)
        elif isinstance(event, LoopDecided):
            shown = f"{event.spent}/{event.limit}" if event.decision == "granted" else event.decision
            steps.append(f"({event.loop} {shown})")
    return " > ".join(steps)


def _print_answer(console: Console, run: RunResult) -> None:
    from rich.markup import escape

    state = run.state
    result = state.get("summarizer_result")
    if result is None:
        said = state.get("error") or "the run ended before the summarizer"
        console.print(f"[red]no answer[/]: {escape(said)}")
        raise typer.Exit(1)
    score = f"{result.quality_score:.1f} of 5" if result.quality_score else ""
    score = f"  ({score})" if score and score not in result.final_answer else ""
    console.print(f"[bold]{escape(result.final_answer)}[/]{score}")
    console.print(result.quality_reasoning, markup=False)
    evidence = state.get("executor_evidence")
    if evidence:
        several = len({log.region for log in evidence.tool_logs}) > 1
        for log in evidence.tool_logs:
            raw = "" if log.raw is None else f" (raw {log.raw:.4g})"
            shown = log.error if log.score is None else f"{log.score:.1f} of 5{raw}"
            where = f"  {log.region}" if several else ""
            console.print(f"  {log.tool:<10} {shown}  {log.seconds * 1000:.0f} ms{where}", style="dim", markup=False)
    console.print(f"  path: {path_taken(run.events)}  {run.seconds:.2f} s", style="dim", markup=False)
    for said in stops_said(state.get("stop_reason")):
        console.print(f"  stopped: {said}", style="yellow")
    if state.get("error"):
        console.print(f"  error: {state['error']}", style="red", markup=False)
        raise typer.Exit(1)


@app.command()
def batch(
    source: Annotated[
        Path, typer.Argument(help="A folder of images, or a manifest.jsonl.", show_default=False, readable=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The table: .csv, .jsonl or .parquet.", show_default=False)],
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="The question, where the manifest has none.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report too, worst images first.")] = None,
    worst: Annotated[int | None, typer.Option(min=1, help="Rows of the report; by default the worst 200.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one for each processor.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Processes of this machine, or a Ray cluster (loopwright\\[ray]).")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster: 'auto', HOST:PORT; without it, one is started here.")
    ] = None,
    shard: Annotated[str | None, typer.Option(help="Do only part i of n: i/n.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on: finished rows stay, failed ones run again.")] = False,
    config: ConfigFile = None,
) -> None:
    """Assess a folder of images, or the rows of a manifest, into a table."""
    from loopwright.workflows.iqa import IQAConfig
    from loopwright.workflows.iqa.batch.running import WORST, run_batch
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
    if result.failed:
        raise typer.Exit(1)


def _tell(done: Progress) -> None:
    print(
        f"{done.assessed:,} assessed, {done.failed:,} failed, {done.unchanged:,} unchanged "
        f"of {done.total:,} in {done.seconds:.1f} s"
    )
    for sample, error in done.failures:
        print(f"loopwright: {sample}: {error}", file=sys.stderr)
    if more := done.failed - len(done.failures):
        print(f"loopwright: and {more} more; see the column 'error'", file=sys.stderr)


def shown_progress() -> Callable[[Progress], None]:
    """Tells on standard error how far a batch has come: a line that changes on a terminal, else one now and then."""
    terminal = sys.stderr.isatty()
    every, last = 0.2 if terminal else _EVERY_S, 0.0 if terminal else time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        ended = progress.done == progress.total
        if ended or time.monotonic() - last >= every:
            last = time.monotonic()
            left = progress.seconds_left
            remaining = "" if left is None else f", {timedelta(seconds=round(left))} left"
            pace = f"{progress.rate:.1f}/s, {progress.failed:,} failed{remaining}"
            line = f"{progress.done:,} of {progress.total:,}, {pace}"
            # What was longer before is overwritten with spaces.
            end = "\r" if terminal and not ended else "\n"
            print(f"{line:<60}" if terminal else line, file=sys.stderr, end=end, flush=True)

    return say


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="An image.", show_default=False, readable=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False, readable=False)],
    reference: Annotated[
        Path | None, typer.Option("--reference", "-r", help="The pristine image of both.", readable=False)
    ] = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say which of two images is better, by how much and how sure that is."""
    warnings.filterwarnings("ignore", module="PIL")
    from loopwright.workflows.iqa.comparing import compare as measured
    from loopwright.workflows.iqa.config import IQAConfig

    result = measured(a, b, reference, config=IQAConfig.load(config))
    if as_json:
        # Not in pydantic's JSON mode, which refuses file names that are not UTF-8.
        print(json.dumps(result.model_dump(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _show(result)


def _show(result: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(result.verdict, style="bold", soft_wrap=True)
    if result.warning:
        console.print(f"warning: {result.warning}", style="yellow", soft_wrap=True)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for place, heading in enumerate(("", "A", "B", "B - A", "error")):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for tool in result.tools:
        name = f"{tool.tool} *" if tool.primary else tool.tool
        table.add_row(name, f"{tool.a:.2f}", f"{tool.b:.2f}", f"{tool.difference:+.2f}", f"{tool.error:.2f}")
    console.print(table)
    for log in (*result.a.evidence.tool_logs, *result.b.evidence.tool_logs):
        if log.error:
            console.print(f"{log.tool} failed: {log.error}", style="yellow", soft_wrap=True)
    for letter, side in (("A", result.a), ("B", result.b)):
        _show_side(console, letter, side)


def _show_side(console: Console, letter: str, side: Side) -> None:
    file = side.evidence.file or {}
    rate = 8 * file["bytes"] / (file["width"] * file["height"])
    size = f"{file['width']} x {file['height']}, {file['bytes']:,} bytes, {rate:.2f} bits per pixel"
    console.print(f"{letter}: {side.path}: {size}", soft_wrap=True)
    findings = [item.explanation for items in side.evidence.distortion_analysis.values() for item in items]
    for said in (side.wrong, *findings, *side.evidence.notes):
        console.print(f"   {said}", style="dim", soft_wrap=True)


@app.command()
def tools() -> None:
    """List the quality tools."""
    from rich.console import Console
    from rich.table import Table

    from loopwright.workflows.iqa.tools.registry import all_tools

    table = Table(box=None, padding=(0, 2))
    for heading in ("tool", "needs", "better", "about ms", "strong at"):
        table.add_column(heading)
    for tool in all_tools():
        table.add_row(
            f"{tool.name} (primary)" if tool.primary else tool.name,
            "a reference" if tool.reference.value == "Full-Reference" else "the image",
            "higher" if tool.higher_is_better else "lower",
            f"{tool.cost_ms:g}",
            ", ".join(sorted(kind.value for kind in tool.strengths)),
        )
    Console(highlight=False, soft_wrap=True).print(table)
