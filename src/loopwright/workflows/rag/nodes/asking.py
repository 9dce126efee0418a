"""What is asked: reading the question, asking in other words, and the next hop."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from loopwright.engine import normalised
from loopwright.workflows.rag.constants import LogMessages
from loopwright.workflows.rag.nodes.searching import listed
from loopwright.workflows.rag.question.rewriting import widened
from loopwright.workflows.rag.question.routing import direct_answer as answer_directly
from loopwright.workflows.rag.question.routing import route_of, web_query
from loopwright.workflows.rag.question.standalone import standalone_question
from loopwright.workflows.rag.question.words import complexity_of
from loopwright.workflows.rag.schemas import Answer, Complexity, Route, Sentence
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, asked_of, gathered, retry_limit, why_transformed

logger = logging.getLogger("loopwright.rag")


class Reading(BaseModel):
    """How a chat model reads a question."""

    standalone: str = Field(min_length=1)
    """The question as it stands without the chat before it."""
    route: Literal["knowledge_graph_retrieval", "web_search"]
    """The documents, or the web if the question itself asks for the web."""
    complexity: Complexity
    """How many steps it needs."""


async def route_question(state: GraphState, services: Services) -> dict[str, Any]:
    """Read the question: make it stand alone, decide where it goes first and how many steps it needs.

    Greetings and questions about the assistant are told by rules also where there is a chat model.

    Reads ``question``, ``history`` and ``max_retry_count``; writes ``standalone``, ``route``, ``complexity``,
    ``query``, ``retry_limit``, and everything that a run gathers, empty.
    """
    question, asked, told = state["question"], state.get("standalone"), state.get("generation")
    history = state.get("history") or ([asked, told.text] if asked and told else [])  # the turn before on a thread
    standalone = standalone_question(question, history)
    route: Route = route_of(question, history)
    complexity = complexity_of(standalone)
    if services.chat("route_question") and route != "direct_answer":
        reading = await services.reply("route_question", Reading, question, history=listed(history[-6:]))
        standalone, route, complexity = reading.standalone, reading.route, reading.complexity
    if route == "web_search" and not (services.given_search or services.config.rag.web.engine):
        route = "knowledge_graph_retrieval"
    # "Search the web for" is no part of what the answer is judged by.
    standalone = web_query(standalone) or standalone
    given = state.get("max_retry_count")
    wanted = services.config.rag.limits.transformations.of(complexity) if given is None else given
    return {
        "standalone": standalone,
        "route": route,
        "complexity": complexity,
        "query": standalone,
        "queries": [standalone],
        "retry_count": 0,
        "retry_limit": min(wanted, services.config.langgraph.max_iterations),
        **{key: [] for key in ("failures", "retrieved", "grades", "documents", "earlier_documents")},
        **{key: None for key in ("next_query", "web_note", "generation", "answer_grade", "status", "error")},
        "web_searched": False,
    }


async def direct_answer(state: GraphState, services: Services) -> dict[str, Any]:
    """Answer what needs no documents.

    Reads ``question``; writes ``generation`` and ``status``.
    """
    text = answer_directly(state["question"])
    return {"generation": Answer(text=text, short=text, sentences=(Sentence(text=text),)), "status": "answered"}


class Rewriting(BaseModel):
    """How a chat model asks in other words."""

    query: str = Field(min_length=1)
    """The next query."""


async def query_transformation(state: GraphState, services: Services | None = None) -> dict[str, Any]:
    """Ask in other words, and count it.

    A chat model that repeats a query that was tried already gives way to the rules; where these have nothing new
    either, the same query comes again, and the loop notices that. Read are ``question``, ``queries``, ``failures`` and
    ``retry_count``; without services rules alone ask.

    Returns:
        ``query``, ``queries``, ``retry_count`` plus one, and why it was wanted in ``failures``. What was found so far
        moves from ``documents`` to ``earlier_documents``.
    """
    services = services or Services()
    spent, limit = state.get("retry_count", 0), retry_limit(state)
    logger.warning(LogMessages.RETRY_COUNT_INFO.format(spent + 1, limit))
    question = asked_of(state)
    tried = state.get("queries") or [question]
    failures = [*(state.get("failures") or []), why_transformed(state)]
    query, step = "", "a chat model's words"
    if services.chat("query_transformation"):
        shown = listed(f"{query!r}: {why}" for query, why in zip(tried[-len(failures) :], failures, strict=False))
        reply = await services.reply("query_transformation", Rewriting, question, failures=shown)
        query = " ".join(reply.query.split())
    if not query or normalised(query) in map(normalised, tried):
        # Where no way to ask is left the query comes again, and the loop ends as stalled.
        found = await asyncio.to_thread(_widened, state, question, tried, services)
        step, query = found or ("none", tried[-1])
    logger.info("asked in other words (%s): %r", step, query)
    return {
        "query": query,
        "queries": [*tried, query],
        "failures": failures,
        "retry_count": spent + 1,
        "documents": [],
        "earlier_documents": gathered(state),
        "next_query": None,
        "error": None,
        "web_note": None,
    }


def _widened(state: GraphState, question: str, tried: Sequence[str], services: Services) -> tuple[str, str] | None:
    # Outside of a run there is no store to ask for its words.
    lexicon = services.retriever.lexicon if state.get("queries") else None
    return widened(question, tried, lexicon=lexicon, nearest=state.get("retrieved") or [])


async def next_hop(state: GraphState, services: Services) -> dict[str, Any]:
    """Search next what the last search led to.

    Reads ``next_query`` and ``queries``; writes ``query`` and ``queries``.
    """
    query = state.get("next_query") or state.get("query") or state["question"]
    return {"query": query, "queries": [*(state.get("queries") or []), query], "next_query": None}
