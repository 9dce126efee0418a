"""``loopwright iqa evaluate``, ``calibrate`` and ``mcq``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from loopwright.errors import InputError

_EVERY_S = 5.0
"""Seconds between two lines of progress."""

Manifest = Annotated[
    Path, typer.Argument(help="Rows with the truth: .jsonl or .csv.", show_default=False, readable=False)
]
Scale = Annotated[str | None, typer.Option(help="The range of people's scores: low,high.")]
LowerIsBetter = Annotated[bool, typer.Option("--lower-is-better", help="A low score means good quality (DMOS).")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one a processor.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)]
Tools = Annotated[str | None, typer.Option(help="Names of the tools, with commas; by default all.")]


def evaluate(
    manifest: Manifest,
    scale: Scale = None,
    lower_is_better: LowerIsBetter = False,
    tools: Tools = None,
    by: Annotated[str, typer.Option(help="Tell apart by distortion, group, level, split; with commas.")] = "distortion",
    resample: Annotated[
        str | None, typer.Option(help="What is drawn as a whole: reference, group or row.", show_default=False)
    ] = None,
    boot: Annotated[int, typer.Option(min=0, help="Resamples for the intervals.")] = 1000,
    against: Annotated[
        Path | None, typer.Option(help="Another YAML file, whose answers to questions are compared.", readable=False)
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: .html or .md.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    workers: Workers = None,
    config: Config = None,
) -> None:
    """Measure how well the tools and the answers agree with people's scores, known distortions and known answers."""
    from loopwright.workflows.iqa import IQAConfig
    from loopwright.workflows.iqa.batch.processes import processors
    from loopwright.workflows.iqa.evaluating.agreement import PARTS, UNITS
    from loopwright.workflows.iqa.evaluating.evaluation import evaluate as measure
    from loopwright.workflows.iqa.evaluating.rendering import to_html, to_markdown

    if report is not None and report.suffix.lower() not in (".html", ".md"):
        raise InputError(f"cannot write a report as {report.name!r}; its name ends in .html or .md")
    found = measure(
        manifest, IQAConfig.load(config), against=IQAConfig.load(against) if against else None, scale=scale,
        lower_is_better=lower_is_better, tools=_tools(tools), by=_known("--by", by, PARTS),
        unit=_known("--resample", resample, UNITS)[0] if resample else None, resamples=boot,
        workers=workers or processors(), on_progress=_progress(),
    )  # fmt: skip
    if report is not None:
        report.write_text(to_html(found) if report.suffix.lower() == ".html" else to_markdown(found), encoding="utf-8")
    print(json.dumps(found.as_json(), indent=2, ensure_ascii=False) if as_json else to_markdown(found), end="")
    if as_json:
        print()
    if found.failed:
        print(f"loopwright: {found.failed:,} of {found.rows:,} rows could not be measured", file=sys.stderr)
        raise typer.Exit(1)


def calibrate(
    manifest: Manifest,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of curves: .json.", show_default=False)],
    scale: Scale = None,
    lower_is_better: LowerIsBetter = False,
    tools: Tools = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts that are left out in turn for the error.")] = 12,
    resample: Annotated[
        str | None, typer.Option(help="What is left out as a whole: reference, group or row.", show_default=False)
    ] = None,
    workers: Workers = None,
    config: Config = None,
) -> None:
    """Fit each tool's curve to people's scores of your own; iqa.tools.calibration makes every command use the file."""
    from loopwright.workflows.iqa import IQAConfig
    from loopwright.workflows.iqa.batch.processes import processors
    from loopwright.workflows.iqa.evaluating.agreement import UNITS
    from loopwright.workflows.iqa.evaluating.calibrating import calibrate as fit
    from loopwright.workflows.iqa.evaluating.calibrating import write_curves
    from loopwright.workflows.iqa.evaluating.rendering import curves_to_markdown

    if out.suffix.lower() != ".json":
        raise InputError(f"cannot write curves as {out.name!r}; its name ends in .json")
    found = fit(
        manifest, IQAConfig.load(config), scale=scale, lower_is_better=lower_is_better, tools=_tools(tools),
        folds=folds, unit=_known("--resample", resample, UNITS)[0] if resample else None,
        workers=workers or processors(), on_progress=_progress(),
    )  # fmt: skip
    write_curves(found, out, manifest.name)
    print(curves_to_markdown(found), end="")
    for line, name, said in found.problems:
        print(f"loopwright: line {line}, {name}: {said}", file=sys.stderr)
    print(out)


mcq = typer.Typer(help="Questions with known answers about distorted images.", no_args_is_help=True)


@mcq.command()
def make(
    folder: Annotated[Path, typer.Argument(help="Pristine images.", show_default=False, readable=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the questions.", show_default=False)],
    count: Annotated[int, typer.Option(help="How many questions, as many of each kind.")] = 80,
    seed: Annotated[int, typer.Option(help="The same seed makes the same questions.")] = 0,
) -> None:
    """Make multiple-choice questions; `loopwright iqa evaluate` scores the manifest."""
    from loopwright.workflows.iqa.evaluating.questions.making import make_questions

    print(make_questions(folder, out, count=count, seed=seed))


def _known(option: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    held = list(known)
    for name in names:
        if name not in held:
            raise InputError(f"{option} is {name!r}; known: {', '.join(held)}")
    return tuple(names)


def _tools(names: str | None) -> tuple[str, ...] | None:
    from loopwright.workflows.iqa.tools.registry import get_tool

    return None if names is None else tuple(get_tool(name.strip()).name for name in names.split(",") if name.strip())


def _progress() -> Callable[[int, int], None]:
    """Say on standard error how far it has come."""
    began = last = time.monotonic()

    def say(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _EVERY_S or done == total:
            last = now
            rate = done / max(now - began, 1e-9)
            print(
                f"{done:,} of {total:,}, {rate:.1f}/s, {(total - done) / rate:.0f} s left", file=sys.stderr, flush=True
            )

    return say
