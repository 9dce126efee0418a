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


def compare(
    a: Annotated[Path, typer.Argument(help="An image.", show_default=False, readable=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False, readable=False)],
    reference: Annotated[
        Path | None, typer.Option("--reference", "-r", help="The pristine image of both.", readable=False)
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say which of two images is better, by how much and how sure that is."""
    warnings.filterwarnings("ignore", module="PIL")
    from loopwright.workflows.iqa.comparing import compare as measured
    from loopwright.workflows.iqa.config import IQAConfig

    result = measured(a, b, reference, config=IQAConfig.load(config))
    if as_json:
        # Not in pydantic's JSON mode, which refuses file names that are not UTF-8.
        print(printable(json.dumps(result.model_dump(), indent=2, ensure_ascii=False, allow_nan=False)))
    else:
        _show(result)


def _show(result: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(result.verdict, style="bold", soft_wrap=True)
    if result.warning:
        console.print(printable(f"warning: {result.warning}"), style="yellow", soft_wrap=True)
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
    console.print(printable(f"{letter}: {side.path}: {size}"), soft_wrap=True)
    findings = [item.explanation for items in side.evidence.distortion_analysis.values() for item in items]
    for said in (side.wrong, *findings, *side.evidence.notes):
        console.print(f"   {said}", style="dim", soft_wrap=True)
