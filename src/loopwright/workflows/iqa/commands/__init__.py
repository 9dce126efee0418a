"""``loopwright iqa``: assess images."""

from __future__ import annotations

import typer

from loopwright.workflows.iqa.commands import assess, listing, table, versus
from loopwright.workflows.iqa.commands.assess import path_taken

__all__ = ["app", "path_taken"]

app = typer.Typer(help="Assess image quality: planner, executor, summarizer, replanning.", no_args_is_help=True)
app.command()(assess.assess)
app.command()(table.batch)
app.command()(versus.compare)
app.command()(listing.tools)
