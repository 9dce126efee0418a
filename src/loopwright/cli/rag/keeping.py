"""``loopwright rag ingest``, ``sources`` and ``delete``."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from loopwright.cli.rag.options import AsJson, ConfigFile, Store, Tags, filter_of, load_config, opened, printable
from loopwright.errors import InputError

_PROBLEMS_SHOWN = 20


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: md, txt, html, pdf, docx, csv, json, jsonl.")],
    store: Store = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for these documents.")] = None,
    extractor: Annotated[
        Literal["rules", "model"], typer.Option(help="Who finds facts: rules, or the chat model of 'extraction'.")
    ] = "rules",
    renew: Annotated[
        bool, typer.Option("--renew", help="Also what has not changed, say after another --tag or --extractor.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Delete what is gone from these folders.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Read documents into the store; what has not changed is skipped, and an interrupted run goes on."""
    from loopwright.cli.rag.progress import shown_progress
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.rag.ingestion import ingest as ingest_documents
    from loopwright.workflows.rag.services import Services

    settings = load_config(config, store)
    with open_store(settings.rag.store) as knowledge, Services.of(settings, knowledge) as services:
        chat = services.chat("extraction") if extractor == "model" else None
        if extractor == "model" and chat is None:
            raise InputError("--extractor model needs a chat model: set models.extraction in the configuration")
        with shown_progress(sys.stderr.isatty() and not as_json) as on_progress, _interruptible():
            report = ingest_documents(
                paths, knowledge, tags=tag or (), extractor=chat or "rules", embedder=services.embedder,
                size=settings.rag.ingest.passage_words, batch=settings.rag.ingest.batch, prune=prune, renew=renew,
                repairs=settings.rag.repairs, concurrency=settings.rag.grading_concurrency, usage=services.usage,
                on_progress=on_progress,
            )  # fmt: skip
        stats = knowledge.stats()
    done = report.progress
    if as_json:
        print(json.dumps({**asdict(report), "store": asdict(stats)}, indent=2, ensure_ascii=False))
    else:
        print(
            f"{done.stored} stored, {done.skipped} unchanged, {done.deleted} deleted, {done.failed} failed "
            f"in {done.seconds:.1f} s"
        )
        if not done.documents and not done.failed:
            print("nothing to read was found there: md, txt, html, pdf, docx, csv, json and jsonl are read")
        print(
            f"{settings.rag.store} now holds {stats.documents} documents, {stats.passages} passages, "
            f"{stats.entities} entities, {stats.facts} facts, {stats.vectors} vectors"
        )
        for source, message in report.problems[:_PROBLEMS_SHOWN]:
            print(f"loopwright: {source}: {message}", file=sys.stderr)
        if len(report.problems) > _PROBLEMS_SHOWN:
            print(f"loopwright: and {len(report.problems) - _PROBLEMS_SHOWN} more; see --json", file=sys.stderr)
    if done.failed or report.problems:
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Generator[None, None, None]:
    try:
        yield
    except KeyboardInterrupt:
        print("loopwright: stopped; what was stored stays, and the same command goes on from here", file=sys.stderr)
        raise typer.Exit(130) from None


def sources(store: Store = None, tag: Tags = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the documents."""
    with opened(load_config(config, store)) as knowledge:
        documents = knowledge.documents(filter_of(None, tag))
    if as_json:
        print(json.dumps([_plain(document) for document in documents], indent=2, ensure_ascii=False))
        return
    for document in documents:
        date = document.date.date().isoformat() if document.date else "-"
        labels = "".join(f"  #{tag}" for tag in document.tags)
        print(printable(f"{date}  {document.title}  {document.id}{labels}"))


def delete(
    documents: Annotated[list[str], typer.Argument(help="Files, folders or document ids.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Delete documents, with all that only they brought."""
    with opened(load_config(config, store)) as knowledge:
        found = {named: knowledge.documents(filter_of([named])) for named in documents}
        for named, its in found.items():
            if not its:
                raise InputError(
                    f"there is no document {named!r}, and nothing was deleted; see `loopwright rag sources`"
                )
        for named, its in found.items():
            count = knowledge.delete([document.id for document in its])
            print(f"{named}: {count} document(s) deleted")


def _plain(document: Any) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "date": document.date.isoformat() if document.date else None,
        "tags": list(document.tags),
        "media_type": document.media_type,
        "digest": document.digest,
    }
