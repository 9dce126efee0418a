"""``loopwright iqa assess``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.words import printable
from loopwright.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.engine import RunEvent, RunResult

DEFAULT_QUERY = "What is the quality of this image, and what is wrong with it?"


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
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole final state as one JSON object.")] = False,
) -> None:
    """Assess one image and say why."""
    # Pillow warns of large and of damaged files in several lines; what matters of it is an error of the loader.
    warnings.filterwarnings("ignore", module="PIL")
    from pydantic_core import to_jsonable_python

    from loopwright.workflows.iqa import IQAConfig, Services, trace_pipeline

    services = Services.of(IQAConfig.load(config))
    result = trace_pipeline(
        query, image, reference_path=reference, max_replan_iterations=max_replan, services=services,
        sample_id=sample_id, resume=resume, force=force, region=_box(region),
    )  # fmt: skip
    if as_json:
        print(printable(json.dumps(to_jsonable_python(result.state), indent=2, ensure_ascii=False)))
    else:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True)
        _print_answer(console, result)
        if services.usage.total().calls:
            console.print(f"  models: {services.usage.total()}", style="dim", markup=False)


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
    from loopwright.engine.gate import is_engine_node

    steps: list[str] = []
    for event in events:
        if isinstance(event, NodeStarted) and not is_engine_node(event.node):
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
    if stop := state.get("stop_reason"):
        console.print(
            f"  stopped: {stop['loop']} {stop['outcome']} after {stop['spent']} of {stop['limit']}", style="yellow"
        )
    if state.get("error"):
        console.print(f"  error: {state['error']}", style="red", markup=False)
        raise typer.Exit(1)
