"""Grading passages: does each help to answer the question?"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from loopwright.engine import normalised
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.web import quote_untrusted
from loopwright.workflows.rag.answer.verdict import grade_passage, relevance, relevance_from_logit
from loopwright.workflows.rag.nodes.searching import listed, numbered, place_of
from loopwright.workflows.rag.question.forms import lexicon_of
from loopwright.workflows.rag.schemas import Complexity, Grade
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, asked_of, unique

logger = logging.getLogger("loopwright.rag")


class Relevance(BaseModel):
    """A chat model's verdict on one passage."""

    relevant: bool
    """Whether the passage states something that helps to answer the question, if only a part of it."""


class Hop(BaseModel):
    """What a chat model says of the next search."""

    complete: bool
    """Whether the passages answer the whole question."""
    query: str = ""
    """What to search next; empty if nothing is missing."""


async def nodes_and_edges_grading(state: GraphState, services: Services) -> dict[str, Any]:
    """Grade what the knowledge graph gave by the question, and say what another hop would look for.

    Reads ``retrieved``, ``standalone``, ``complexity``, ``documents`` and ``queries``; writes ``grades``,
    ``documents`` with what is relevant now and was before, and ``next_query``.

    Raises:
        Exception: What the grader raised, if it failed on every passage: then there is no verdict at all.
    """
    update = await _graded(state, services, "nodes_and_edges_grading")
    update["next_query"] = await _next_query(state, update["documents"], services)
    return update


async def web_grading(state: GraphState, services: Services) -> dict[str, Any]:
    """Grade web results by the question, like those of the knowledge graph.

    Reads ``retrieved``, ``standalone`` and ``documents``; writes ``grades``, and ``documents`` with what is
    relevant now and was before.

    Raises:
        Exception: What the grader raised, if it failed on every result.
    """
    return await _graded(state, services, "web_grading")


async def _graded(state: GraphState, services: Services, node: str) -> dict[str, Any]:
    question, found = asked_of(state), state.get("retrieved") or []
    hop = state.get("query") if state.get("complexity") is Complexity.MULTI_HOP else None
    if services.chat(node):
        grades = await _grades_by_model(question, found, services, node)
    else:
        grades = await asyncio.to_thread(_grades_without_model, question, hop, found, services)
    # What the grader could not judge is kept, behind what it found relevant.
    judged = [each for each in zip(grades, found, strict=True) if each[0].verdict != "irrelevant"]
    kept = [evidence for _, evidence in sorted(judged, key=lambda each: each[0].verdict != "relevant")]
    logger.info("%d of %d passages are relevant", sum(grade.verdict == "relevant" for grade in grades), len(grades))
    return {"grades": grades, "documents": unique([*(state.get("documents") or []), *kept])}


def _grades_without_model(question: str, hop: str | None, found: Sequence[Evidence], services: Services) -> list[Grade]:
    lexicon = services.retriever.lexicon if any(each.origin == "graph" for each in found) else lexicon_of(found)
    shared = [grade_passage(question, evidence, query=hop, lexicon=lexicon) for evidence in found]
    if services.reranker is None:
        return shared
    logits = relevance(services.reranker, question, found, lexicon)
    grades = [relevance_from_logit(logit, evidence.id) for logit, evidence in zip(logits, found, strict=True)]
    # A reranker that reads English only is no judge of another language, nor of a part of a question; shared words are.
    return [other if own.verdict == "irrelevant" else own for own, other in zip(grades, shared, strict=True)]


async def _grades_by_model(question: str, found: Sequence[Evidence], services: Services, node: str) -> list[Grade]:
    turn = asyncio.Semaphore(services.config.rag.grading_concurrency)
    raised: list[Exception] = []

    async def grade(evidence: Evidence) -> Grade:
        async with turn:
            try:
                passage = quote_untrusted(evidence.text, source=place_of(evidence))
                reply = await services.reply(node, Relevance, question, "passage_grading", passage=passage)
            except GraphBubbleUp:
                raise
            except Exception as error:
                logger.warning("the grader failed on passage %s: %s", evidence.id, error)
                raised.append(error)
                return Grade(id=evidence.id, verdict="failed", reason=str(error))
        return Grade(id=evidence.id, verdict="relevant" if reply.relevant else "irrelevant")

    grades = list(await asyncio.gather(*map(grade, found)))
    if found and len(raised) == len(found):
        raise raised[0]
    return grades


async def _next_query(state: GraphState, documents: Sequence[Evidence], services: Services) -> str | None:
    # What leads on takes understanding: rules for it found what the question did not need, and cost its passes.
    if not services.chat("next_hop") or state.get("complexity") is not Complexity.MULTI_HOP or not documents:
        return None
    question, tried = asked_of(state), state.get("queries") or []
    hop = await services.reply("next_hop", Hop, question, passages=numbered(documents), tried=listed(tried))
    query = " ".join(hop.query.split())
    return None if hop.complete or normalised(query) in {"", *map(normalised, tried)} else query
