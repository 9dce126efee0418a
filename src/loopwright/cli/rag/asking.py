"""``loopwright rag ask`` and ``chat``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopwright.cli.rag.options import After, AsJson, Before, ConfigFile, Sources, Store, Tags, filter_of, load_config
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

    settings = load_config(config, store)
    options: dict[str, Any] = {
        "where": filter_of(source, tag, after, before),
        "max_retry_count": max_retry,
        "run_id": run_id,
        "resume": resume,
        "force": force,
    }
    with Services.of(settings) as services:
        result = services.background.call(_asked, question, services, options, streams=not as_json)
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        _print_sources(_console(), result)
    if result.error:
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
        _ = services.store  # if there is none, say so now and not after the first question
        while (question := _read()) is not None:
            if not question:
                continue
            try:
                options = {"history": list(history), "where": where}
                result = services.background.call(_asked, question, services, options, streams=True)
            except LoopwrightError as error:
                from loopwright.cli.words import one_line

                print(f"loopwright: {one_line(error)}", file=sys.stderr)
                continue
            _print_sources(_console(), result)
            history += [question, result.answer.text]


def _read() -> str | None:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


async def _asked(question: str, services: Services, options: dict[str, Any], *, streams: bool) -> RagResult:
    """Ask, and show the answer as it is written; a later attempt begins on a new line."""
    from loopwright.engine.events import NodeStarted, TextStreamed
    from loopwright.workflows.rag import RagResult, astream_ask

    result, shown = None, ""
    async for event in astream_ask(question, services=services, **options):
        if isinstance(event, RagResult):
            result = event
        elif streams and isinstance(event, TextStreamed):
            shown += event.text
            print(event.text, end="", flush=True)
        elif streams and isinstance(event, NodeStarted) and event.node == "answer_generation" and shown:
            print()
            shown = ""
    if result is None:
        raise RuntimeError("the run ended without a result")
    if streams:
        if shown:
            print()
        # The draft is what was written; in the answer the citations that do not hold are gone.
        if shown.strip() != result.answer.text.strip():
            print(result.answer.text)
    return result


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _print_sources(console: Console, result: RagResult) -> None:
    for citation in result.answer.citations:
        console.print(f"  [{citation.number}] {place_of(citation)}", style="dim", markup=False)
        quote = " ".join(citation.quote.split())
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
    words = {"answered": "answered", "best_effort": "best effort", "abstained": "no answer in the documents"}
    stops = result.stop_reason if isinstance(result.stop_reason, list) else [result.stop_reason]
    stopped = [f"{stop['loop']} {stop['outcome']} after {stop['spent']} of {stop['limit']}" for stop in stops if stop]
    return "; ".join([words[result.status], *stopped])


def place_of(citation: Citation) -> str:
    """Where a citation stands, in words: title, heading, page and file.

    Args:
        citation: The citation.
    """
    heading = f" > {citation.heading}" if citation.heading else ""
    page = f", page {citation.page}" if citation.page else ""
    return f"{citation.title}{heading}{page}  {citation.document_id or citation.evidence_id}"
