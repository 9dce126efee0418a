"""A question answered in every way: by the first search alone, mechanically, by reflection, and by one wide search."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice, zip_longest
from typing import Any, Literal

from langchain_core.messages import HumanMessage

from loopwright.engine import arun
from loopwright.errors import NodeFailed
from loopwright.models.usage import Usage
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.constants import PLAN_QUERIES
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.schemas import ChatResult, PlannedQuery
from loopwright.workflows.assistant.searching.vocabulary import Vocabulary
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, ChatInput
from loopwright.workflows.assistant.workflow import chat, result_of
from loopwright.workflows.evaluation.scores import PLACES, ndcg_at, recall_at

Way = Literal["none", "mechanical", "reflection", "wide"]
"""A retry mode, or one wide search with as many queries as the reflection took, all planned before any is searched."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What one way of answering brings."""

    status: str
    cited: Sequence[str] = ()
    recall: float | None = None
    ndcg: float | None = None
    passes: int = 0
    error: str | None = None


def opened(config: AssistantConfig, store: KnowledgeStore) -> dict[Way, Services]:
    """The services of each way over one conference."""
    changes: dict[Way, dict[str, Any]] = {
        "none": {"max_retry_count": 0},
        "mechanical": {"reflection_enabled": False},
        "reflection": {},
    }
    sections = {way: config.assistant.model_copy(update=change) for way, change in changes.items()}
    return {
        way: Services.of(config.model_copy(update={"assistant": section}), store) for way, section in sections.items()
    }


def compare(
    question: str,
    services: Mapping[Way, Services],
    relevant: Sequence[str],
    tables: Collection[str],
    now: datetime | None,
) -> dict[Way, Variant]:
    """Answer a question in every way, and measure what is cited of the tables that were judged."""
    context = {"now": now.isoformat()} if now else {}
    results: dict[Way, ChatResult | NodeFailed] = {}
    for way, own in services.items():
        try:
            results[way] = chat(question, services=own, user_context=context)
        except NodeFailed as error:
            results[way] = error
    reflected = results["reflection"]
    count = len(reflected.queries) if isinstance(reflected, ChatResult) else 1
    try:
        results["wide"] = asyncio.run(_widely(question, services["none"], count, context))
    except NodeFailed as error:
        results["wide"] = error
    return {way: _measured(result, relevant, tables) for way, result in results.items()}


def _measured(result: ChatResult | NodeFailed, relevant: Sequence[str], tables: Collection[str]) -> Variant:
    if isinstance(result, NodeFailed):
        return Variant(status="failed", error=f"node {result.node!r}", recall=0.0 if relevant else None)
    ranked = [cited for cited in result.referenced_ids if cited.partition(":")[0] in tables]
    return Variant(
        status=result.status,
        cited=ranked,
        recall=recall_at(ranked, relevant, PLACES),
        ndcg=ndcg_at(ranked, relevant, PLACES),
        passes=result.retry_count + 1,
        error=result.error,
    )


async def _widely(question: str, services: Services, count: int, context: dict[str, Any]) -> ChatResult:
    async def planned(state: AssistantState) -> dict[str, Any]:
        update = await NODES[PLAN_QUERIES].work(state, services)
        return {
            **update,
            "planned_queries": wide_plan(update["planned_queries"], count, services.search.vocabulary),
        }

    graph = build_graph(services=services, nodes={PLAN_QUERIES: planned})
    run = await arun(graph, ChatInput(messages=[HumanMessage(question)], user_context=context))
    return result_of("wide", question, run, Usage(), None)


def wide_plan(first: Sequence[PlannedQuery], count: int, vocabulary: Vocabulary) -> list[PlannedQuery]:
    """The first plan, then for each query in turn the same more loosely, in other words, and by meaning.

    Filters stay: dropped unseen, what they keep out would push what is asked for off the answer.
    """
    variants = [list(_variants(query, vocabulary)) for query in first if query.query_text]
    in_turn = (query for queries in zip_longest(*variants) for query in queries if query is not None)
    return list(islice(dict.fromkeys(chain(first, in_turn)), max(count, len(first))))


def _variants(query: PlannedQuery, vocabulary: Vocabulary) -> Iterator[PlannedQuery]:
    loose = query.model_copy(update={"score_threshold": query.score_threshold / 2, "limit": min(query.limit * 2, 200)})
    yield loose
    words = query.query_text.split()
    for place, word in enumerate(words):
        for other in vocabulary.others(word):
            yield query.model_copy(update={"query_text": " ".join([*words[:place], other, *words[place + 1 :]])})
    yield loose.model_copy(update={"by_meaning": True})
