"""``loopwright assistant``: ask a conference."""

from __future__ import annotations

import json
import logging
import sys
import uuid
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopwright.cli.words import AsJson, ConfigFile, shown_count, typed, visible
from loopwright.engine.events.reasons import stops_said
from loopwright.errors import InputError

if TYPE_CHECKING:
    from loopwright.workflows.assistant.events import Done, PipelineSummary
    from loopwright.workflows.assistant.schemas import UserContext
    from loopwright.workflows.assistant.services import Services

app = typer.Typer(
    help="Ask a conference what to see, when, where, and whom to meet; it thinks again when it finds too little.",
    no_args_is_help=True,
)
Store = Annotated[
    str | None,
    typer.Option(
        "--store", "-s", show_default=False,
        help="Where the conference lies: sqlite:FILE or postgres://...; by default assistant.store.",
    ),
]  # fmt: skip
Now = Annotated[
    str | None,
    typer.Option(
        "--now", help="The moment of asking, as 2025-02-01T14:00:00+01:00; by default now.", show_default=False
    ),
]
User = Annotated[
    str | None, typer.Option("--user", help="Who asks: the profile of this name is used and kept.", show_default=False)
]


@contextmanager
def conference(file: Path | None, store: str | None) -> Generator[Services]:
    """Services over the conference that is configured, or over the sample where none was read yet."""
    from loopwright.workflows.assistant.workflow import AssistantWorkflow

    # Answers tell of reached bounds in words, unless all is to be logged.
    if all(handler.level > logging.INFO for handler in logging.getLogger().handlers):
        logging.getLogger("loopwright.loops").setLevel(logging.ERROR)
    with closing(AssistantWorkflow.open(file, {"assistant.store": store} if store else None)) as workflow:
        yield workflow.services


@app.command()
def ingest(
    schedule: Annotated[
        Path | None,
        typer.Argument(help="XML, iCal, CSV, JSON, JSONL, Markdown or HTML; also of pretalx and frab.", readable=False),
    ] = None,
    exhibitors: Annotated[
        Path | None, typer.Option(help="Stands and sponsors: the same formats without iCal.", readable=False)
    ] = None,
    attendees: Annotated[
        Path | None, typer.Option(help="Who comes and may be met: the same formats.", readable=False)
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(help="The zone of times without one, as Europe/Brussels, where the schedule names none."),
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Read a conference into the store; what has not changed is skipped, and what is gone is removed."""
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.assistant.config import AssistantConfig
    from loopwright.workflows.assistant.schemas import Table
    from loopwright.workflows.assistant.services import Services
    from loopwright.workflows.assistant.sources import ingesting
    from loopwright.workflows.assistant.sources.catalogue import current

    if schedule is None and exhibitors is None and attendees is None:
        raise InputError("nothing to read was named: give a schedule, --exhibitors or --attendees")
    settings = AssistantConfig.load(config, {"assistant.store": store} if store else None)
    shown = sys.stderr.isatty() and not as_json
    opened = open_store(settings.assistant.store, schema=Services.schema)
    with opened as knowledge, Services.of(settings, knowledge) as services:
        embedder = services.embedder
        report = ingesting.ingest(
            knowledge, schedule, exhibitors=exhibitors, attendees=attendees, time_zone=time_zone,
            progress=partial(print, file=sys.stderr) if shown else None,
        )  # fmt: skip
        counts = {table.value: len(current(knowledge).of_table(table)) for table in Table}
        if not as_json:
            print(
                f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.removed} "
                f"removed in {report.seconds:.1f} s"
            )
            held = ", ".join(f"{table} {count:,}" for table, count in counts.items() if count)
            print(f"now in {settings.assistant.store}: {held}")
        vectors = 0
        if embedder:
            with shown_count("vectors", shown) as on_progress:
                vectors = ingesting.embed_all(knowledge, embedder, on_progress=on_progress)
    if as_json:
        print(json.dumps({**asdict(report), "holds": counts, "vectors": vectors}, indent=2))
    for problem in report.problems:
        print(f"loopwright: {problem}", file=sys.stderr)
    if report.problems:
        raise typer.Exit(1)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    now: Now = None,
    user: User = None,
    conversation: Annotated[
        str | None,
        typer.Option(help="Go on with the conversation of this name; see assistant.memory.", show_default=False),
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question about the conference; without one that was read, about the sample conference."""
    from loopwright.workflows.assistant.events import brief
    from loopwright.workflows.assistant.workflow import chat as asked

    context = _context(now=now, user_id=user, conversation_id=conversation)
    with conference(config, store) as services:
        if as_json:
            result = asked(question, user_context=context, services=services)
            print(json.dumps(brief(result), indent=2, ensure_ascii=False))
            code = 1 if result.status == "failed" else 0
        else:
            code = services.background.call(_told, question, context, services)
    if code:
        raise typer.Exit(code)


@app.command()
def chat(now: Now = None, user: User = None, store: Store = None, config: ConfigFile = None) -> None:
    """Ask one question after another; each may refer to those before. End with Ctrl-D."""
    context = _context(now=now, user_id=user, conversation_id=uuid.uuid4().hex)
    with conference(config, store) as services:
        for question in typed():
            services.background.call(_told, question, context, services)


def _context(**given: str | None) -> UserContext:
    return {key: value for key, value in given.items() if value is not None}


async def _told(question: str, context: UserContext, services: Services) -> int:
    """Ask, and show what happens as it happens, the answer alone on standard output; give the exit code."""
    from rich.console import Console

    from loopwright.workflows.assistant import events as told
    from loopwright.workflows.assistant.constants import GENERATE_RESPONSE
    from loopwright.workflows.assistant.workflow import astream_chat

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    summary: PipelineSummary | None = None
    midway, code = False, 0

    def aside(text: str) -> None:
        console.print(visible(text), style="dim", markup=False)

    async for event in astream_chat(question, user_context=context, services=services):
        if isinstance(event, told.Acknowledgment):
            aside(event.message)
        elif isinstance(event, told.Thinking):
            aside(f"({event.strategy or 'nothing left to try'}) {event.message}")
        elif isinstance(event, told.Chunk):
            midway = True
            print(visible(event.text), end="", flush=True)
        elif isinstance(event, told.NodeEnd) and event.node == GENERATE_RESPONSE and midway:
            midway = False
            print()
            if "response_text" not in event.output:  # its model failed half-way
                aside("(that broke off, and the answer begins anew)")
        elif isinstance(event, told.PipelineSummary):
            summary = event
        elif isinstance(event, told.Done) and summary:
            aside("; ".join(_end_of(event, summary)))
        elif isinstance(event, told.Failed):
            code = 2 if event.error_type == InputError.__name__ else 1
            print(f"loopwright: {' '.join(event.error.split())}", file=sys.stderr)
    return code


def _end_of(done: Done, summary: PipelineSummary) -> list[str]:
    """How a run ended: how honestly, at which bound, and what it took."""
    parts = [done.status.replace("_", " "), *stops_said(done.stop_reason)]
    if summary.retry_count:
        parts.append(f"searched again{f' {summary.retry_count} times' if summary.retry_count > 1 else ''}")
    if summary.model_calls:
        cost = "" if summary.cost is None else f", ${summary.cost:.4f}"
        parts.append(f"{summary.model_calls} model call(s), {summary.tokens} tokens{cost}")
    return [*parts, f"{summary.duration_ms:.0f} ms"]
