"""Answering one question in one way, and measuring what the answer cites."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from langchain_core.messages import HumanMessage

from loopwright.engine import BoundedGraph, arun
from loopwright.engine.nodes.policy import cause_of
from loopwright.errors import NodeFailed
from loopwright.models import UsageRecorder
from loopwright.workflows.assistant.comparing.ways import Variant, Way
from loopwright.workflows.assistant.comparing.wide import wide_plan
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.constants import PLAN_QUERIES
from loopwright.workflows.assistant.graph import build_graph
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.schemas import ChatResult, RetryMode, UserContext
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, ChatInput
from loopwright.workflows.assistant.workflow import achat, result_of
from loopwright.workflows.evaluation.scores import PLACES, ndcg_at, recall_at
from loopwright.workflows.runtime import prices, usage_of_the_run


async def prepare(services: Services) -> None:
    """Ask once what is not measured: what every question needs is made at the first one, and is not its own time.

    Beside the calls of a chat model that is little, and nothing is asked.

    Args:
        services: The conference and the models.
    """
    if not any(services.chat(node) for node in AssistantConfig.model_nodes):
        await answered("Which talks are about music?", services, "none")


async def answered(question: str, services: Services, mode: RetryMode, now: datetime | None = None) -> Variant:
    """Answer a question in a retry mode.

    Args:
        question: The question.
        services: The conference and the models.
        mode: What follows a poor search.
        now: The moment of asking, if it matters.

    Returns:
        What came of it, not measured yet; failed if a node failed for good.

    Raises:
        InputError: If the question is empty or no text.
    """
    try:
        return _variant(mode, await achat(question, services=services, mode=mode, user_context=_context(now)))
    except NodeFailed as error:
        return _failed(mode, error)


async def answered_widely(question: str, services: Services, count: int, now: datetime | None = None) -> Variant:
    """Answer a question by one wide search without any retry; see `wide_plan`.

    Args:
        question: The question.
        services: The conference and the models.
        count: How many queries there may be.
        now: The moment of asking, if it matters.

    Returns:
        As `answered`.
    """

    async def planned(state: AssistantState) -> dict[str, Any]:
        update = await NODES[PLAN_QUERIES].work(state, services)
        plan = wide_plan(update["planned_queries"], count, services.search.vocabulary)
        return {**update, "planned_queries": plan}

    graph = build_graph(services=services.in_mode("none"), nodes={PLAN_QUERIES: planned})
    try:
        return _variant("wide", await _run(graph, question, now))
    except NodeFailed as error:
        return _failed("wide", error)


def measured(variant: Variant, relevant: Sequence[str], tables: Collection[str]) -> Variant:
    """A variant with its measures.

    Args:
        variant: What came of a question.
        relevant: The ids that are relevant.
        tables: The tables in which records were judged; what is cited of others takes no place.
    """
    ranked = [cited for cited in variant.cited if cited.partition(":")[0] in tables]
    return variant.model_copy(
        update={"recall": recall_at(ranked, relevant, PLACES), "ndcg": ndcg_at(ranked, relevant, PLACES)}
    )


async def _run(graph: BoundedGraph, question: str, now: datetime | None) -> ChatResult:
    usage = UsageRecorder(prices())
    token = usage_of_the_run.set(usage)
    try:
        run = await arun(graph, ChatInput(messages=[HumanMessage(question)], user_context=_context(now)))
    finally:
        usage_of_the_run.reset(token)
    return result_of(uuid.uuid4().hex, question, run, usage.total(), usage.cost())


def _context(now: datetime | None) -> UserContext:
    return {"now": now.isoformat()} if now else {}


def _variant(way: Way, result: ChatResult) -> Variant:
    return Variant(
        way=way,
        status=result.status,
        text=result.answer,
        cited=result.referenced_ids,
        passes=result.retry_count + 1,
        queries=len(result.queries),
        seconds=result.seconds,
        model_calls=result.model_calls,
        tokens=result.tokens,
        cost=result.cost,
        error=result.error,
    )


def _failed(way: Way, error: NodeFailed) -> Variant:
    # Without the node's input, which is long, and the same for every way.
    cause = cause_of(error)
    return Variant(way=way, status="failed", error=f"node {error.node!r}: {type(cause).__name__}: {cause}")
