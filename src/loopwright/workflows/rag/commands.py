"""``loopwright rag``: ask your own documents."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.cli.words import AsJson, ConfigFile, one_line, shown_count, typed, visible
from loopwright.engine.events.reasons import stops_said
from loopwright.errors import InputError, LoopwrightError
from loopwright.workflows.files.source import document_id, file_and_key

if TYPE_CHECKING:
    from loopwright.retrieval.records import Filter
    from loopwright.retrieval.stores.store import KnowledgeStore
    from loopwright.workflows.rag import RAGConfig, RagResult, Services
    from loopwright.workflows.rag.sources import IngestReport

app = typer.Typer(
    help='Ask your own documents: cited answers, bounded retries, and an honest "I don\'t know".', no_args_is_help=True
)
_QUOTE_SHOWN = 160
_PROBLEMS_SHOWN = 20

Store = Annotated[
    str | None,
    typer.Option(
        "--store", "-s", help="Where the knowledge lies: sqlite:FILE or postgres://...; by default rag.store.",
        show_default=False,
    ),
]  # fmt: skip
Sources = Annotated[
    list[str] | None, typer.Option("--source", help="Only these documents: files, folders or ids.", show_default=False)
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only documents with one of these tags.")]
After = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="Only documents of that day or later, as 2024-12-31."),
]
Before = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="Only documents from before that day.")
]


def _config(file: Path | None, store: str | None) -> RAGConfig:
    """The configuration, with the command line's store over it."""
    from loopwright.workflows.rag import RAGConfig

    return RAGConfig.load(file, {"rag.store": store} if store else {})


def _opened(file: Path | None, store: str | None) -> KnowledgeStore:
    """The store, which must be there."""
    from loopwright.retrieval.stores import open_store

    return open_store(_config(file, store).rag.store, create=False)


def _filter(
    sources: list[str] | None,
    tags: list[str] | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
) -> Filter | None:
    """What restricts a search, or None if nothing does."""
    from loopwright.retrieval.records import Filter

    if not (sources or tags or after or before):
        return None
    return Filter(
        documents=tuple(document for source in sources or () for document in _documents_named(source)),
        tags=tuple(tags or ()),
        after=after and after.replace(tzinfo=UTC),
        before=before and before.replace(tzinfo=UTC),
    )


def _documents_named(source: str) -> tuple[str, ...]:
    """The document ids, and the beginnings of ids, that a file, a folder or an id stands for."""
    if not source.strip():
        raise InputError("a document's name is empty; `loopwright rag sources` lists them")
    if "://" in source:
        return (source,)
    path = document_id(Path(source).expanduser().resolve())
    records = f"{path}#"
    # Beside a folder "C" may lie a folder "C#".
    return (source, path, f"{path}/", *([records] if file_and_key(records)[0] == path else ()))


@contextmanager
def _services(file: Path | None, store: str | None, where: Filter | None) -> Generator[Services]:
    """The services; a filter that lets nothing through is refused: every answer would be that nothing is known."""
    from loopwright.workflows.rag import Services

    with Services.of(_config(file, store)) as services:
        if where is not None and not services.store.documents(where, limit=1):
            raise InputError("no document matches the filter; `loopwright rag sources` lists what there is")
        yield services


@app.command()
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders: text, Markdown, HTML, PDF, Office, EPUB, e-mails, CSV, JSON.")
    ],
    store: Store = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag for these documents.")] = None,
    renew: Annotated[bool, typer.Option("--renew", help="Also what has not changed, say after another --tag.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Delete what is gone from these folders.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Read documents into the store; what has not changed is skipped, and an interrupted run goes on."""
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.rag.services import Services
    from loopwright.workflows.rag.sources import ingest as ingest_documents
    from loopwright.workflows.rag.sources.reading.source import FORMATS

    settings = _config(config, store)
    with open_store(settings.rag.store) as knowledge, Services.of(settings, knowledge) as services:
        try:
            with shown_count("reading", sys.stderr.isatty() and not as_json) as draw:
                done = ingest_documents(
                    paths, knowledge, tags=tag or (), embedder=services.embedder, prune=prune, renew=renew,
                    size=settings.rag.ingest.passage_words, on_progress=partial(_drawn, draw=draw),
                )  # fmt: skip
        except KeyboardInterrupt:
            print("loopwright: stopped; what was stored stays, and the same command goes on from here", file=sys.stderr)
            raise typer.Exit(130) from None
        stats = knowledge.stats()
    if as_json:
        print(json.dumps({**asdict(done), "store": asdict(stats)}, indent=2, ensure_ascii=False))
    else:
        print(
            f"{done.stored} stored, {done.skipped} unchanged, {done.deleted} deleted, {done.failed} failed "
            f"in {done.seconds:.1f} s"
        )
        if not done.documents and not done.failed:
            print(f"nothing to read was found there: files are read that end in {', '.join(sorted(FORMATS))}")
        print(
            f"{settings.rag.store} now holds {stats.documents} documents, {stats.passages} passages, "
            f"{stats.entities} entities, {stats.vectors} vectors"
        )
        for each in done.problems[:_PROBLEMS_SHOWN]:
            print(f"loopwright: {each.name}: {each.problem}", file=sys.stderr)
        if (more := len(done.problems) - _PROBLEMS_SHOWN) > 0:
            print(f"loopwright: and {more} more; see --json", file=sys.stderr)
    if done.failed:
        raise typer.Exit(1)


@app.command()
def sample(folder: Annotated[Path, typer.Argument(help="The folder to make.", show_default=False)]) -> None:
    """Write the documents of a made-up town into a new folder, to try things out."""
    from loopwright.workflows.rag.sources.sample import sample_folder

    if folder.exists():
        raise InputError(f"{str(folder)!r} is there already, and nothing was written: name a new folder")
    shutil.copytree(sample_folder(), folder)
    print(f"{len([*folder.iterdir()])} documents are in {folder}: loopwright rag ingest {folder}")


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    store: Store = None,
    source: Sources = None,
    tag: Tags = None,
    after: After = None,
    before: Before = None,
    max_retry: Annotated[
        int | None, typer.Option("--max-retry", min=0, help="Query transformations that are allowed.")
    ] = None,
    run_id: Annotated[str | None, typer.Option(help="Names the run's checkpoint; see pipeline.checkpoint.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the run's checkpoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Resume also if another version's graph began it.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from the documents, with verified citations, or say that they do not answer it."""
    where = _filter(source, tag, after, before)
    kept: dict[str, Any] = {"run_id": run_id, "resume": resume, "force": force}
    with _services(config, store, where) as services:
        result, draft = _asked(question, services, not as_json, where=where, max_retry_count=max_retry, **kept)
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        _print(result, draft)
    if result.status == "failed" or (result.error and result.status != "answered"):
        raise typer.Exit(1)


@app.command()
def chat(
    store: Store = None,
    source: Sources = None,
    tag: Tags = None,
    after: After = None,
    before: Before = None,
    config: ConfigFile = None,
) -> None:
    """Ask one question after another; each may refer to those before. End with Ctrl-D."""
    where = _filter(source, tag, after, before)
    history: list[str] = []
    with _services(config, store, where) as services:
        for question in typed():
            try:
                result, draft = _asked(question, services, history=history, where=where)
            except LoopwrightError as error:
                print(f"loopwright: {one_line(error)}", file=sys.stderr)
                continue
            _print(result, draft)
            # No more turns are read, and long ones are refused.
            history = [*history[-12:], question, result.answer.text[:2000]]


def _asked(question: str, services: Services, shows: bool = True, **options: Any) -> tuple[RagResult, str]:
    """Ask, and show the answer as it is written; give the result and the last draft that was shown."""
    # To a person, and where it takes a chat model time to write.
    streams = shows and sys.stdout.isatty() and services.chat("answer_generation") is not None
    return services.background.call(_followed, question, services, streams, options)


async def _followed(question: str, services: Services, streams: bool, options: Any) -> tuple[RagResult, str]:
    from loopwright.engine.events.schema import ModelFellBack, NodeFinished, NodeRetried, TextStreamed
    from loopwright.workflows.rag import RagResult, astream_ask

    result: Any = None  # which comes last
    shown = draft = ""
    async for event in astream_ask(question, services=services, **options):
        if isinstance(event, RagResult):
            result = event
        elif streams and isinstance(event, TextStreamed):
            shown += event.text
            print(visible(event.text), end="", flush=True)
        elif shown and isinstance(event, NodeFinished | NodeRetried | ModelFellBack):
            # The draft ends here; what a further attempt writes begins on a new line.
            print()
            draft, shown = shown, ""
    return result, draft


def _print(result: RagResult, draft: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from loopwright.workflows.rag.nodes.searching import place_of

    def faintly(line: str, style: str = "dim") -> None:
        console.print(f"  {line}", style=style, markup=False)

    console = Console(highlight=False, soft_wrap=True)
    if result.queries and result.queries[0] != result.question:
        faintly(f"understood as: {visible(result.queries[0])}")
    # In the answer, the citations that do not hold are gone from the draft.
    answer = Text(visible(result.answer.text))
    if draft.strip() != result.answer.text.strip():
        # What decides is found at a glance in a longer quote.
        answer.highlight_words([visible(result.answer.short)] if result.answer.short else [], "bold")
        console.print(answer)
    for citation in result.answer.citations:
        page = f", page {citation.page}" if citation.page else ""
        place = f"{place_of(citation)}{page}  {citation.document_id or citation.evidence_id}".replace("\n", " ")
        faintly(f"[{citation.number}] {visible(place)}")
        if f"[{citation.number}]" not in answer.plain:  # else it has just been read
            quote = " ".join(visible(citation.quote).split())
            faintly(f'    "{quote[:_QUOTE_SHOWN]}{"..." * (len(quote) > _QUOTE_SHOWN)}"')
    if result.answer.removed_citations:
        faintly(f"{result.answer.removed_citations} citation(s) did not hold and were removed", "yellow")
    spent = f"  {result.model_calls} model call(s), {result.tokens} tokens" if result.model_calls else ""
    cost = f", ${result.cost:.4f}" if result.model_calls and result.cost is not None else ""
    faintly(f"{_status(result)}{spent}{cost}  {result.seconds:.2f} s")
    if result.error:
        faintly(f"error: {result.error}", "red")


def _status(result: RagResult) -> str:
    words = {"best_effort": "best effort", "abstained": "no answer in the documents"}
    return "; ".join([words.get(result.status, result.status), *stops_said(result.stop_reason)])


@app.command()
def sources(store: Store = None, tag: Tags = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the documents."""
    with _opened(config, store) as knowledge:
        documents = knowledge.documents(_filter(None, tag))
    if as_json:
        print(json.dumps([asdict(document) for document in documents], indent=2, ensure_ascii=False, default=str))
        return
    for document in documents:
        date = document.date.date().isoformat() if document.date else "-"
        labels = "".join(f"  #{tag}" for tag in document.tags)
        print(visible(f"{date}  {document.title}  {document.id}{labels}").replace("\n", " "))


@app.command()
def delete(
    documents: Annotated[list[str], typer.Argument(help="Files, folders or document ids.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Delete documents, with all that only they brought."""
    with _opened(config, store) as knowledge:
        found = {named: knowledge.documents(_filter([named])) for named in documents}
        if unknown := [named for named, its in found.items() if not its]:
            told = f"there is no document {unknown[0]!r}, and nothing was deleted; see `loopwright rag sources`"
            raise InputError(told)
        for named, its in found.items():
            count = knowledge.delete([document.id for document in its])
            print(f"{named}: {count} document(s) deleted")


def _drawn(progress: IngestReport, draw: Callable[..., None]) -> None:
    """Draw how far an ingest has come: its files, then the vectors."""
    rate = progress.passages / progress.seconds if progress.seconds else 0.0
    told = f"{progress.documents} documents, {progress.passages} passages, {rate:.0f}/s"
    if progress.vectors_total is None:
        draw(progress.bytes, progress.total_bytes, told)
    else:
        told = f"{told}; {progress.vectors} of {progress.vectors_total} vectors"
        draw(progress.vectors, progress.vectors_total, told)
