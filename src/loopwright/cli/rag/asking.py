"""``loopwright rag ask`` and ``chat``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.cli.rag.options import (
    After,
    AsJson,
    Before,
    ConfigFile,
    Sources,
    Store,
    Tags,
    check_filter,
    filter_of,
    load_config,
    printable,
)
from loopwright.errors import LoopwrightError

if TYPE_CHECKING:
    from rich.console import Console

    from loopwright.workflows.rag import Citation, RagResult, Services

_QUOTE_SHOWN = 160


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
    from loopwright.workflows.rag import Services

    settings, where = load_config(config, store), filter_of(source, tag, after, before)
    options: dict[str, Any] = {
        "where": where,
        "max_retry_count": max_retry,
        "run_id": run_id,
        "resume": resume,
        "force": force,
    }
    with Services.of(settings) as services:
        check_filter(services.store, where)
        streams = _streams(services) and not as_json
        result, draft = services.background.call(_asked, question, services, options, streams=streams)
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        _print(_console(), result, draft)
    if result.status == "failed" or (result.error and result.status != "answered"):
        raise typer.Exit(1)


def chat(
    store: Store = None,
    source: Sources = None,
    tag: Tags = None,
    after: After = None,
    before: Before = None,
    config: ConfigFile = None,
) -> None:
    """Ask one question after another; each may refer to those before. End with Ctrl-D."""
    from loopwright.workflows.rag import Services

    where = filter_of(source, tag, after, before)
    history: list[str] = []
    with Services.of(load_config(config, store)) as services:
        check_filter(services.store, where)
        while (question := _read()) not in (None, "exit", "quit", "/exit", "/quit"):
            if not question:
                continue
            try:
                options = {"history": list(history), "where": where}
                streams = _streams(services)
                result, draft = services.background.call(_asked, question, services, options, streams=streams)
            except LoopwrightError as error:
                from loopwright.cli.words import one_line

                print(f"loopwright: {one_line(error)}", file=sys.stderr)
                continue
            _print(_console(), result, draft)
            history += [question, result.answer.text]


def _read() -> str | None:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


def _streams(services: Services) -> bool:
    """Whether to show the answer as it is written: to a person, and where it takes a chat model time to write."""
    return sys.stdout.isatty() and services.chat("answer_generation") is not None


async def _asked(question: str, services: Services, options: dict[str, Any], *, streams: bool) -> tuple[RagResult, str]:
    """Ask, and show the answer as it is written; give the result and the last draft that was shown."""
    from loopwright.engine.events import ModelFellBack, NodeFinished, NodeRetried, TextStreamed
    from loopwright.workflows.rag import RagResult, astream_ask

    result, shown = None, ""
    drafts: list[str] = []
    async for event in astream_ask(question, services=services, **options):
        if isinstance(event, RagResult):
            result = event
        elif streams and isinstance(event, TextStreamed):
            shown += event.text
            print(printable(event.text), end="", flush=True)
        elif shown and isinstance(event, NodeFinished | NodeRetried | ModelFellBack):
            # The draft ends here; what a further attempt writes begins on a new line.
            print()
            drafts, shown = [*drafts, shown], ""
    if result is None:
        raise RuntimeError("the run ended without a result")
    return result, drafts[-1] if drafts else ""


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _print(console: Console, result: RagResult, draft: str) -> None:
    # In the answer, the citations that do not hold are gone from the draft.
    if draft.strip() != result.answer.text.strip():
        print(printable(result.answer.text))
    for citation in result.answer.citations:
        console.print(f"  [{citation.number}] {printable(place_of(citation))}", style="dim", markup=False)
        quote = " ".join(printable(citation.quote).split())
        shown = quote if len(quote) <= _QUOTE_SHOWN else f"{quote[:_QUOTE_SHOWN]}..."
        console.print(f'      "{shown}"', style="dim", markup=False)
    if result.answer.removed_citations:
        console.print(f"  {result.answer.removed_citations} citation(s) did not hold and were removed", style="yellow")
    spent = f"  {result.model_calls} model call(s), {result.tokens} tokens" if result.model_calls else ""
    cost = f", ${result.cost:.4f}" if result.model_calls and result.cost is not None else ""
    console.print(f"  {_status(result)}{spent}{cost}  {result.seconds:.2f} s", style="dim", markup=False)
    if result.error:
        console.print(f"  error: {result.error}", style="red", markup=False)


def _status(result: RagResult) -> str:
    words = {
        "answered": "answered", "best_effort": "best effort", "abstained": "no answer in the documents",
        "failed": "failed",
    }  # fmt: skip
    stops = result.stop_reason if isinstance(result.stop_reason, list) else [result.stop_reason]
    stopped = [f"{stop['loop']} {stop['outcome']} after {stop['spent']} of {stop['limit']}" for stop in stops if stop]
    return "; ".join([words[result.status], *stopped])


def place_of(citation: Citation) -> str:
    """Where a citation stands, in words: title, heading, page and file.

    Args:
        citation: The citation.
    """
    headings = [part for part in citation.heading.split(" > ") if part and part != citation.title]
    heading = "".join(f" > {part}" for part in headings)
    page = f", page {citation.page}" if citation.page else ""
    return f"{citation.title}{heading}{page}  {citation.document_id or citation.evidence_id}"
