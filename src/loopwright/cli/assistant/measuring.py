"""``loopwright assistant compare`` and ``evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.assistant.options import Mode, Now, Store, conference, load_config, moment_of, quiet_loops
from loopwright.cli.rag.options import AsJson, ConfigFile
from loopwright.cli.rag.progress import shown_count


def compare(
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    relevant: Annotated[
        list[str] | None,
        typer.Option(
            help="Id of a record that answers it, as 6196 or stand:TITLE; by default what the answer after the "
            "reflection cites.",
            show_default=False,
        ),
    ] = None,
    now: Now = None,
    store: Store = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question without a retry, with the mechanical one, with the reflection, and by one wide search."""
    from loopwright.workflows.assistant.comparing import compare as compared
    from loopwright.workflows.assistant.comparing import record_id

    with conference(config, store) as services:
        known = [record_id(name) for name in relevant] if relevant else None
        found = compared(question, services, relevant=known, now=moment_of(now))
    print(found.model_dump_json(indent=2) if as_json else found.table())


def evaluate(
    labels: Annotated[Path, typer.Argument(help="JSONL: id, question, relevant, kind, now.", readable=False)],
    schedule: Annotated[Path, typer.Option(help="The schedule that the questions are about.", readable=False)],
    stands: Annotated[Path | None, typer.Option(help="Its exhibitors.", readable=False)] = None,
    mode: Annotated[Mode, typer.Option(help="What follows a poor search.")] = "reflection",
    embedding: Annotated[
        str | None, typer.Option(help="An embedding model by name or folder; by default as configured.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure what the answers cite, on questions whose relevant records are known."""
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.assistant.comparing import evaluate as measured
    from loopwright.workflows.assistant.comparing import read_labels
    from loopwright.workflows.assistant.conference.catalogue import current
    from loopwright.workflows.assistant.conference.ingesting import embed_all, ingest
    from loopwright.workflows.assistant.services import Services

    settings = load_config(config, {"assistant.search.embedding": embedding})
    quiet_loops()
    shown = sys.stderr.isatty() and not as_json
    with open_store("memory") as store, Services.of(settings, store) as services:
        ingest(store, schedule, exhibitors=stands)
        questions = read_labels(labels, current(store).records)
        if embedder := services.embedder:
            with shown_count("vectors", shown) as on_progress:
                embed_all(store, embedder, progress=on_progress)
        with shown_count("questions", shown) as on_progress:
            found = measured(questions, services, mode, on_progress=on_progress)
    print(found.as_json() if as_json else found.table())
