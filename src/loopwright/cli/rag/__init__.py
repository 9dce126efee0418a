"""``loopwright rag``: ask your own documents."""

from __future__ import annotations

import typer

from loopwright.cli.rag import asking, keeping, looking, measuring

app = typer.Typer(
    help='Ask your own documents: cited answers, bounded retries, and an honest "I don\'t know".', no_args_is_help=True
)
app.command()(keeping.ingest)
app.command()(asking.ask)
app.command()(asking.chat)
app.command()(looking.facts)
app.command()(looking.graph)
app.command()(keeping.sources)
app.command()(keeping.delete)
app.command()(measuring.evaluate)
