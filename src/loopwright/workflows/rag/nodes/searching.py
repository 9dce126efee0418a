"""Searching the knowledge graph and the web, and what was found as it goes into a prompt."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web import quote_untrusted, untrusted_line
from loopwright.workflows.rag.question.words import unique
from loopwright.workflows.rag.schemas import Citation, Complexity
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, asked_of

logger = logging.getLogger("loopwright.rag")

_READ = 24
"""So many passages are read at least where no chat model grades them; what fits best is quoted."""
NO_ENGINE = "No web search engine is configured (rag.web.engine), so the web was not searched."
"""What is said where the web should be searched and cannot."""


async def knowledge_graph_retrieval(state: GraphState, services: Services) -> dict[str, Any]:
    """Search the knowledge graph for the present query; where no chat model grades many passages cost next to nothing.

    Reads ``query`` (else ``question``), ``complexity`` and ``where``; writes ``retrieved``, best first; empty only
    if the store has nothing, never if it failed.

    Raises:
        StoreError: If the store cannot be read.
    """
    query = state.get("query") or state["question"]
    k: int = getattr(services.config.rag.retrieval.k, state.get("complexity") or Complexity.ONE_HOP)
    if services.chat("nodes_and_edges_grading") is None:
        k = max(k, _READ)
    found = await asyncio.to_thread(lambda: services.retriever.retrieve(query, k, where=state.get("where")))
    logger.info("%d passages found for %r", len(found), query)
    return {"retrieved": found, "grades": []}


async def web_search(state: GraphState, services: Services) -> dict[str, Any]:
    """Search the web for the question itself: the queries before were made for the knowledge graph.

    Reads ``standalone`` (else ``question``); writes ``retrieved``, best first, and ``web_note`` if no engine is
    configured.

    Raises:
        SearchError: If the engine cannot be had.
    """
    query = asked_of(state)
    if state.get("web_searched"):
        return {"retrieved": [], "grades": [], "web_note": "The web was searched for this before, without an answer."}
    engine = services.web_search
    if engine is None:
        logger.warning(NO_ENGINE)
        found, note = [], NO_ENGINE
    else:
        found = await engine.search(query, services.config.rag.web.max_results)
        logger.info("%d web results found for %r", len(found), query)
        note = None if found else f"The web search with {engine.name} found nothing."
    return {"retrieved": found, "grades": [], "web_note": note, "web_searched": True, "error": None}


def numbered(evidence: Sequence[Evidence]) -> str:
    """Passages for a prompt, numbered from 1, each on one line, all fenced as data that is never an instruction."""
    lines = [
        f"[{number}] {untrusted_line(place_of(found))}: {untrusted_line(found.text)}"
        for number, found in enumerate(evidence, 1)
    ]
    return quote_untrusted("\n".join(lines), source="the passages found") if lines else "none"


def place_of(found: Evidence | Citation) -> str:
    """Title and headings: what a price is of, and the header of a row, may stand nowhere else."""
    return " > ".join(unique(filter(None, [found.title, *found.heading.split(" > ")])))


def listed(lines: Iterable[str], *, numbers: bool = False) -> str:
    """Lines that came from documents, people or models for a prompt: each on one line, and no more than data."""
    marked = (f"{f'{place}.' if numbers else '-'} {untrusted_line(line)}" for place, line in enumerate(lines, 1))
    return "\n".join(marked) or "none"
