"""``loopwright rag facts`` and ``graph``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from loopwright.cli.rag.options import AsJson, ConfigFile, Store, load_config, opened, printable
from loopwright.errors import InputError


def facts(
    entity: Annotated[str, typer.Argument(help="The entity; without one, the surest facts of all.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="The most facts.")] = 50,
    store: Store = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what the documents say of an entity, and where they say it."""
    from loopwright.retrieval.mentions import entity_key

    with opened(load_config(config, store)) as knowledge:
        found = knowledge.facts(entity=entity_key(entity) if entity else None, limit=limit)
        if entity and not found:
            found = knowledge.facts(text=entity, limit=limit)
        places = {passage.id: passage for passage in knowledge.passages([fact.passage_id for fact in found])}
    if as_json:
        print(json.dumps([asdict(fact) for fact in found], indent=2, ensure_ascii=False, default=str))
        return
    for fact in found:
        passage = places.get(fact.passage_id)
        stated = printable(f"{fact.subject} | {fact.relation} | {fact.object}")
        print(f"{stated}  ({fact.confidence:.2f}, {fact.extractor})")
        if passage:
            print(f"    {passage.document_id}: {printable(' '.join(passage.text[fact.start : fact.end].split()))}")
    if not found:
        print("no facts" + (f" about {entity!r}" if entity else ""))


def graph(
    question: Annotated[str, typer.Argument(help="A question, or with --entity an entity's name.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("graph.html"),
    entity: Annotated[bool, typer.Option("--entity", help="The name is an entity's, not a question.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="The most nodes.")] = 60,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Write an interactive page of the knowledge around an answer, or around an entity."""
    from loopwright.retrieval.mentions import entity_key
    from loopwright.workflows.rag import Services, ask
    from loopwright.workflows.rag.export import neighbourhood, neighbourhood_of_answer, save_html

    with Services.of(load_config(config, store)) as services:
        knowledge = services.store
        if entity:
            shown = neighbourhood(knowledge, entities=[entity_key(question)], limit=limit)
        else:
            result = ask(question, services=services)
            print(result.answer.text)
            shown = neighbourhood_of_answer(knowledge, result.answer, limit=limit)
        if not shown.nodes:
            raise InputError(f"the store has nothing around {question!r}")
        try:
            save_html(shown, out, title=question)
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror}; name another file with --out") from error
    print(f"wrote {out}", file=sys.stderr)
