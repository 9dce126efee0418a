"""``loopwright iqa compare``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.words import printable
from loopwright.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from loopwright.workflows.iqa.comparing import FolderComparison, ImageComparison
    from loopwright.workflows.iqa.comparing.results import ImageSide, Interval

_LEFT_OUT_SHOWN = 5


def compare(
    a: Annotated[Path, typer.Argument(help="An image, or a folder of images.", show_default=False, readable=False)],
    b: Annotated[Path, typer.Argument(help="The other.", show_default=False, readable=False)],
    reference: Annotated[
        Path | None,
        typer.Option("--reference", "-r", help="The pristine image, or a folder of them.", readable=False),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report too.")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; by default one for each processor.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="What the intervals' chance begins with.")] = 0,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A YAML file.", readable=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Say which of two images, folders or codecs is better, and how sure that is."""
    warnings.filterwarnings("ignore", module="PIL")
    for path in (a, b, *([] if reference is None else [reference])):
        if not path.exists():
            raise InputError(f"there is no {str(path)!r}; check the spelling and the working folder")
        if path.is_dir() != a.is_dir():
            kinds = [f"{str(one)!r} is a {'folder' if one.is_dir() else 'file'}" for one in (a, path)]
            raise InputError(f"{', '.join(kinds)}; give either images alone or folders alone")
    from loopwright.workflows.iqa.commands.table import shown_progress
    from loopwright.workflows.iqa.comparing import compare_folders, compare_images
    from loopwright.workflows.iqa.config import IQAConfig

    settings = IQAConfig.load(config)
    result: ImageComparison | FolderComparison
    if a.is_dir():
        with shown_progress() as on_progress:
            result = compare_folders(
                a, b, reference, workers=workers, seed=seed, config=settings, on_progress=on_progress
            )
    else:
        result = compare_images(a, b, reference, config=settings)
    if report is not None:
        from loopwright.workflows.iqa.comparing.report import write_comparison_report

        write_comparison_report(result, report)
    if as_json:
        # Not in pydantic's JSON mode, which refuses file names that are not UTF-8.
        print(printable(json.dumps(result.model_dump(), indent=2, ensure_ascii=False, allow_nan=False)))
    else:
        _show(result)
        if report is not None:
            print(printable(str(report)))
    if result.kind == "folders" and any(item.bad for item in result.left_out):
        raise typer.Exit(1)


def _show(result: ImageComparison | FolderComparison) -> None:
    from rich.console import Console

    console = Console(highlight=False, emoji=False, markup=False)
    console.print(result.verdict.text, style="bold", soft_wrap=True)
    if result.warning:
        console.print(printable(f"warning: {result.warning}"), style="yellow", soft_wrap=True)
    if result.kind == "images":
        _show_images(console, result)
    else:
        _show_folders(console, result)


def _show_images(console: Console, result: ImageComparison) -> None:
    table = _table("", "A", "B", "B - A", "error", "A raw", "B raw")
    for tool in result.tools:
        if tool.failed:
            table.add_row(tool.tool, "failed")
            continue
        table.add_row(
            _name(tool.tool, tool.primary), _number(tool.score_a), _number(tool.score_b),
            _number(tool.difference, "+.2f"), _number(tool.error), _number(tool.raw_a, ".4g"),
            _number(tool.raw_b, ".4g"),
        )  # fmt: skip
    console.print(table)
    for tool in result.tools:
        if tool.failed:
            console.print(f"{tool.tool} failed: {tool.failed}", style="red", soft_wrap=True)
    for letter, side in (("A", result.a), ("B", result.b)):
        _show_side(console, letter, side)


def _show_side(console: Console, letter: str, side: ImageSide) -> None:
    from loopwright.workflows.iqa.distortions import in_words

    image = side.image
    size = f"{image.width} x {image.height}, {image.bytes:,} bytes, {side.bits_per_pixel:.2f} bits per pixel"
    console.print(printable(f"{letter}: {image.path}: {size}"), soft_wrap=True)
    for item in side.distortions:
        said = f"   {item.severity.value} {in_words(item.type)} ({item.confidence:.0%} sure): {item.explanation}"
        console.print(said, style="dim", soft_wrap=True)
    if side.abstained:
        console.print(f"   {side.abstained}", style="dim", soft_wrap=True)
    elif not side.distortions:
        console.print("   no distortion found", style="dim")
    for note in image.notes:
        console.print(f"   note: {note}", style="dim", soft_wrap=True)


def _show_folders(console: Console, result: FolderComparison) -> None:
    if result.codecs:
        table = _table("curves", "BD-rate", "95 %", "BD-quality", "95 %", "raw", "refs")
        for item in result.codecs:
            table.add_row(
                _name(item.tool, item.primary), _number(item.bd_rate, "+.1%"), _range(item.bd_rate_interval, "+.1%"),
                _number(item.bd_quality, "+.2f"), _range(item.bd_quality_interval, "+.2f"),
                _number(item.bd_rate_raw, "+.1%"), f"{item.references}/{item.references + item.left_out}",
            )  # fmt: skip
        console.print(table)
    # Beside curves, files of one name are of one rate only by chance; the JSON and the page have them.
    if result.tools and not result.by_curves:
        table = _table("pairs", "A", "B", "B - A", "95 %", "A wins", "B wins", "p")
        for item in result.tools:
            table.add_row(
                _name(item.tool, item.primary), _number(item.mean_a), _number(item.mean_b),
                _number(item.difference, "+.2f"), _range(item.interval, "+.2f"), f"{item.share_a:.0%}",
                f"{item.share_b:.0%}", _number(item.wilcoxon_p, ".2g"),
            )  # fmt: skip
        console.print(table)
    if result.rates is not None and not result.by_curves:
        rates = result.rates
        console.print(
            f"{len(result.pairs):,} pairs; bits per pixel: A {rates.bits_per_pixel_a:.3f}, "
            f"B {rates.bits_per_pixel_b:.3f} ({rates.change:+.1%})"
        )
    for item in result.failures:
        said = f"{item.tool} gave no score of {item.images:,} images; the first: {item.example}"
        console.print(said, style="yellow", soft_wrap=True)
    for item in result.left_out[:_LEFT_OUT_SHOWN]:
        said = printable(f"left out: {item.side} {item.path}: {item.why}")
        console.print(said, style="yellow", soft_wrap=True)
    if len(result.left_out) > _LEFT_OUT_SHOWN:
        more = len(result.left_out) - _LEFT_OUT_SHOWN
        console.print(f"and {more:,} more left out; --json lists them all", style="yellow")


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    return table


def _name(tool: str, primary: bool) -> str:
    return f"{tool} *" if primary else tool


def _number(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def _range(interval: Interval | None, form: str) -> str:
    return "-" if interval is None else f"{interval.low:{form}} {interval.high:{form}}"
