"""``loopwright assistant``: ask a conference."""

from __future__ import annotations

import typer

from loopwright.cli.assistant import asking, keeping, measuring, serving

app = typer.Typer(
    help="Ask a conference what to see, when, where, and whom to meet; it thinks again when it finds too little.",
    no_args_is_help=True,
)
app.command()(keeping.ingest)
app.command()(asking.ask)
app.command()(asking.chat)
app.command()(measuring.compare)
app.command()(measuring.evaluate)
app.command()(serving.serve)
