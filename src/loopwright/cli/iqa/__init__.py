"""``loopwright iqa``: assess images."""

from __future__ import annotations

import typer

from loopwright.cli.iqa import asking, batching, looking
from loopwright.cli.iqa.asking import path_taken

__all__ = ["app", "path_taken"]

app = typer.Typer(help="Assess image quality: planner, executor, summarizer, replanning.", no_args_is_help=True)
app.command()(asking.assess)
app.command()(batching.batch)
app.command()(batching.merge)
app.command()(looking.tools)
