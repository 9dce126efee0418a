"""``loopwright iqa compare``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.words import printable

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.workflows.iqa.comparing import Comparison, Side

_LEFT_OUT_SHOWN = 5


def compare(
    a: Annotated[Path, typer.Argument(help="An image, or a folder of images.", show_default=False, readable=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False, readable=False)],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", "-r", help="The pristine image, or a folder of them.", readable=False),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one for each processor.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say which of two images, or of two folders of the same names, is better, by how much and how sure that is."""
    warnings.filterwarnings("ignore", module="PIL")
    from loopwright.workflows.iqa.commands.table import shown_progress
    from loopwright.workflows.iqa.comparing import compare as measured
    from loopwright.workflows.iqa.config import IQAConfig

    settings = IQAConfig.load(config)
    if a.is_dir():
        with shown_progress() as on_progress:
            result = measured(a, b, reference, workers=workers, config=settings, on_progress=on_progress)
    else:
        result = measured(a, b, reference, config=settings)
    if as_json:
        # Not in pydantic's JSON mode, which refuses file names that are not UTF-8.
        print(printable(json.dumps(result.model_dump(), indent=2, ensure_ascii=False, allow_nan=False)))
    else:
        _show(result)
    if any(item.bad for item in result.left_out):
        raise typer.Exit(1)


def _show(result: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(result.verdict, style="bold", soft_wrap=True)
    if result.warning:
        console.print(printable(f"warning: {result.warning}"), style="yellow", soft_wrap=True)
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for place, heading in enumerate(("", "A", "B", "B - A", "95 %", "error", "A wins", "B wins", "pairs")):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for tool in result.tools:
        low_high = "-" if tool.interval is None else f"{tool.interval[0]:+.2f} {tool.interval[1]:+.2f}"
        table.add_row(
            f"{tool.tool} *" if tool.primary else tool.tool, f"{tool.mean_a:.2f}", f"{tool.mean_b:.2f}",
            f"{tool.difference:+.2f}", low_high, f"{tool.error:.2f}", f"{tool.share_a:.0%}", f"{tool.share_b:.0%}",
            str(tool.pairs),
        )  # fmt: skip
    console.print(table)
    failed = {tool: why for pair in result.pairs for side in (pair.a, pair.b) for tool, why in side.failed.items()}
    for tool, why in failed.items():
        console.print(f"{tool} failed: {why}", style="yellow", soft_wrap=True)
    if not Path(result.a).is_dir():
        for letter, side in (("A", result.pairs[0].a), ("B", result.pairs[0].b)):
            _show_side(console, letter, side)
    for item in result.left_out[:_LEFT_OUT_SHOWN]:
        said = printable(f"left out: {item.side} {item.path}: {item.why}")
        console.print(said, style="yellow", soft_wrap=True)
    if len(result.left_out) > _LEFT_OUT_SHOWN:
        more = len(result.left_out) - _LEFT_OUT_SHOWN
        console.print(f"and {more:,} more left out; --json lists them all", style="yellow")


def _show_side(console: Console, letter: str, side: Side) -> None:
    from loopwright.workflows.iqa.distortions import in_words

    rate = 8 * side.bytes / (side.width * side.height)
    size = f"{side.width} x {side.height}, {side.bytes:,} bytes, {rate:.2f} bits per pixel"
    console.print(printable(f"{letter}: {side.path}: {size}"), soft_wrap=True)
    for item in side.distortions:
        said = f"   {item.severity.value} {in_words(item.type)} ({item.confidence:.0%} sure): {item.explanation}"
        console.print(said, style="dim", soft_wrap=True)
    if side.abstained or not side.distortions:
        console.print(f"   {side.abstained or 'no distortion found'}", style="dim", soft_wrap=True)
    for note in side.notes:
        console.print(f"   note: {note}", style="dim", soft_wrap=True)
