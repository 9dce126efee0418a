"""``loopwright iqa evaluate`` and ``calibrate``."""

from __future__ import annotations

import errno
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.words import printable
from loopwright.errors import InputError
from loopwright.workflows.iqa.commands.table import shown_progress

_PROBLEMS_SHOWN = 5

Manifest = Annotated[
    Path, typer.Argument(help="Rows with the truth: .jsonl or .csv.", show_default=False, readable=False)
]
Scale = Annotated[str | None, typer.Option(help="The range of people's scores: low,high.")]
LowerIsBetter = Annotated[bool, typer.Option("--lower-is-better", help="A low score means good quality (DMOS).")]
Workers = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one a processor.")]
Config = Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)]
Tools = Annotated[
    str | None, typer.Option(help="Names of the tools, with commas, pyiqa:NAME too; by default all but pyiqa's.")
]


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
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    workers: Workers = None,
    config: Config = None,
) -> None:
    """Measure how well the tools and the answers agree with people's scores and known distortions."""
    from loopwright.workflows.iqa import IQAConfig
    from loopwright.workflows.iqa.batch.processes import processors
    from loopwright.workflows.iqa.evaluating.agreement import PARTS, UNITS
    from loopwright.workflows.iqa.evaluating.evaluation import evaluate as measure
    from loopwright.workflows.iqa.evaluating.evaluation import to_markdown

    unit = None if resample is None else _one_of("--resample", resample, UNITS)
    with shown_progress() as on_progress:
        found = measure(
            manifest, IQAConfig.load(config), scale=scale,
            lower_is_better=lower_is_better, tools=_tools(tools), by=_known("--by", by, PARTS),
            unit=unit, resamples=boot, workers=workers or processors(),
            on_progress=on_progress,
        )  # fmt: skip
    shown = json.dumps(found.as_json(), indent=2, ensure_ascii=False) + "\n" if as_json else to_markdown(found)
    print(printable(shown), end="")
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
    from loopwright.workflows.iqa.evaluating.evaluation import curves_to_markdown

    if out.suffix.lower() != ".json":
        raise InputError(f"cannot write curves as {out.name!r}; its name ends in .json")
    unit = None if resample is None else _one_of("--resample", resample, UNITS)
    _check_writable(out)
    with shown_progress() as on_progress:
        found = fit(
            manifest, IQAConfig.load(config), scale=scale, lower_is_better=lower_is_better, tools=_tools(tools),
            folds=folds, unit=unit, workers=workers or processors(),
            on_progress=on_progress,
        )  # fmt: skip
    write_curves(found, out, manifest.name)
    print(printable(curves_to_markdown(found)), end="")
    for line, name, said in found.problems[:_PROBLEMS_SHOWN]:
        print(printable(f"loopwright: line {line}, {name}: {said}"), file=sys.stderr)
    if len(found.problems) > _PROBLEMS_SHOWN:
        print(f"loopwright: and {len(found.problems) - _PROBLEMS_SHOWN:,} more", file=sys.stderr)
    print(printable(str(out)))


def _known(option: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(_one_of(option, part.strip(), known) for part in text.split(",") if part.strip())


def _one_of(option: str, name: str, known: Iterable[str]) -> str:
    held = list(known)
    if name not in held:
        raise InputError(f"{option} is {name!r}; known: {', '.join(held)}")
    return name


def _tools(names: str | None) -> tuple[str, ...] | None:
    from loopwright.workflows.iqa.tools.registry import get_tool

    return None if names is None else tuple(get_tool(name.strip()).name for name in names.split(",") if name.strip())


def _check_writable(path: Path) -> None:
    """Notice before hours of work that their result could not be kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error
