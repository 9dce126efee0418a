"""``loopwright assistant ingest``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.assistant.options import Store, load_config
from loopwright.cli.rag.options import AsJson, ConfigFile
from loopwright.cli.rag.progress import shown_count
from loopwright.errors import InputError


def ingest(
    schedule: Annotated[
        Path | None,
        typer.Argument(help="Pentabarf or frab XML, pretalx JSON, iCal, CSV, JSON, JSONL or Markdown.", readable=False),
    ] = None,
    exhibitors: Annotated[
        Path | None, typer.Option(help="Stands and sponsors: CSV, JSON, JSONL or Markdown.", readable=False)
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
    from loopwright.workflows.assistant.conference.catalogue import current
    from loopwright.workflows.assistant.conference.ingesting import embed_all
    from loopwright.workflows.assistant.conference.ingesting import ingest as read_into
    from loopwright.workflows.assistant.schemas import Table
    from loopwright.workflows.assistant.services import Services

    if schedule is None and exhibitors is None and attendees is None:
        raise InputError("nothing to read was named: give a schedule, --exhibitors or --attendees")
    settings = load_config(config, {"assistant.store": store})
    shown = sys.stderr.isatty() and not as_json
    with open_store(settings.assistant.store) as knowledge, Services.of(settings, knowledge) as services:
        embedder = services.embedder
        report = read_into(
            knowledge, schedule, exhibitors=exhibitors, attendees=attendees, time_zone=time_zone,
            progress=_told if shown else None,
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
                vectors = embed_all(knowledge, embedder, progress=on_progress)
    if as_json:
        print(json.dumps({**asdict(report), "holds": counts, "vectors": vectors}, indent=2))
    for problem in report.problems:
        print(f"loopwright: {problem}", file=sys.stderr)
    if report.problems:
        raise typer.Exit(1)


def _told(what: str) -> None:
    print(what, file=sys.stderr)
