"""``loopwright iqa``: assess images."""

from __future__ import annotations

import typer

from loopwright.cli.iqa import asking, batching, comparing, looking, measuring
from loopwright.cli.iqa.asking import path_taken

__all__ = ["app", "path_taken"]

app = typer.Typer(help="Assess image quality: planner, executor, summarizer, replanning.", no_args_is_help=True)
app.command()(asking.assess)
app.command()(batching.batch)
app.command()(batching.merge)
app.command()(comparing.compare)
app.command()(measuring.evaluate)
app.command()(measuring.calibrate)
app.add_typer(measuring.mcq, name="mcq")
app.command()(looking.tools)
