"""Searching the conference, judging what was found, and the retries: planned anew, or the mechanical one."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from loopwright.workflows.assistant import reflecting
from loopwright.workflows.assistant.constants import MAX_LIMIT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.schemas import PlannedQuery, Reflection, SearchOutcome, ThinkingUpdate
from loopwright.workflows.assistant.searching.search import merge
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, asked_of, question_of


async def execute_queries(state: AssistantState, services: Services) -> dict[str, Any]:
    """Search what is planned; what earlier plans found is kept.

    Reads ``planned_queries``, ``attempts`` and ``query_results``; gives these two anew, ``outcomes`` and
    ``near_misses``.
    """
    return await _searched(state, services, state.get("planned_queries") or [])


async def check_results(state: AssistantState, services: Services) -> dict[str, Any]:
    """Judge what was found: not only whether it is something, but whether it is enough and near enough.

    Reads ``question``, ``outcomes``, ``query_results``, ``planned_queries`` and ``retry_count``; gives ``retry_wanted``
    (the wish alone), ``needs_retry`` (the wish where a retry is left), and ``zero_result_tables``.
    """
    section, results = services.config.assistant, state.get("query_results") or {}
    # An empty plan says that nothing is left to try.
    planned = state.get("planned_queries")
    wish = reflecting.wish_after(asked_of(state), state.get("outcomes") or [], results, section) if planned else None
    asked = dict.fromkeys(query.table.value for plan in state.get("attempts") or [] for query in plan)
    return {
        "retry_wanted": wish,
        "needs_retry": wish is not None and state.get("retry_count", 0) < section.max_retry_count,
        "zero_result_tables": [table for table in asked if not results.get(table)],
    }


async def relax_and_retry(state: AssistantState, services: Services) -> dict[str, Any]:
    """The mechanical retry: search again what brought too few, with half the threshold and twice the limit.

    All of the last plan if each brought enough, since then they were too weak.

    Reads ``planned_queries``, ``outcomes``, ``attempts``, ``query_results`` and ``retry_count``; gives
    ``planned_queries`` (none equals an earlier one; empty if nothing is left to try), ``retry_count`` one higher,
    ``reflection_strategy``, and what `execute_queries` gives.
    """
    planned, attempts = state.get("planned_queries") or [], state.get("attempts") or []
    least = max(1, services.config.assistant.search.enough)
    pairs = zip(planned, state.get("outcomes") or [], strict=False)
    poor = [query for query, outcome in pairs if len(outcome.hits) < least] or planned
    wider = (reflecting.lowered(query, limit=min(MAX_LIMIT, query.limit * 2)) for query in poor)
    queries = list(reflecting.untried(wider, attempts))
    return {
        "planned_queries": queries,
        "retry_count": state.get("retry_count", 0) + 1,
        "reflection_strategy": "relax",
        **await _searched(state, services, queries),
    }


async def _searched(state: AssistantState, services: Services, queries: Sequence[PlannedQuery]) -> dict[str, Any]:
    outcomes: list[SearchOutcome] = []
    for query in queries:
        outcomes.append(services.search.run(query))
        await asyncio.sleep(0)  # for other chats, and for the time limit
    near = [each.model_copy(update={"hits": each.near_misses}) for each in outcomes]
    return {
        "outcomes": outcomes,
        "query_results": merge(state.get("query_results") or {}, outcomes),
        "near_misses": merge(state.get("near_misses") or {}, near),
        "attempts": [*(state.get("attempts") or []), list(queries)],
    }


async def reflect_and_replan(state: AssistantState, services: Services) -> dict[str, Any]:
    """Look at what was searched and found, and plan what to search next.

    Reads ``question``, ``planned_queries``, ``outcomes``, ``attempts`` and ``retry_count``; gives ``planned_queries``
    (none equals an earlier one; empty if nothing is left to try), ``reflection_reasoning``, ``reflection_strategy``,
    ``thinking_updates`` with one more, ``retry_count`` one higher, and ``original_planned_queries`` if not set yet.
    """
    own = _by_rules(state, services)
    if services.chat(REFLECT_AND_REPLAN) is not None:
        question, attempts = asked_of(state), state.get("attempts") or []
        reply = await services.reply(
            REFLECT_AND_REPLAN,
            reflecting.ReflectionReply,
            question=question_of(state),
            **reflecting.shown_search(question, state.get("outcomes") or [], attempts, services.search),
        )
        own = reflecting.reflection_of(reply, question, attempts, own, services.config.assistant)
    return _replanned(state, own)


def reflected_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model."""
    return _replanned(state, _by_rules(state, services))


def _by_rules(state: AssistantState, services: Services) -> Reflection:
    outcomes, attempts = state.get("outcomes") or [], state.get("attempts") or []
    return reflecting.reflect(asked_of(state), outcomes, attempts, services.search, services.config.assistant)


def _replanned(state: AssistantState, reflection: Reflection) -> dict[str, Any]:
    count = state.get("retry_count", 0) + 1
    update = ThinkingUpdate(
        message=reflection.message, strategy=reflection.strategy, retry_count=count, ts=datetime.now(UTC)
    )
    return {
        "planned_queries": list(reflection.queries),
        "original_planned_queries": state.get("original_planned_queries") or state.get("planned_queries") or [],
        "reflection_reasoning": reflection.reasoning,
        "reflection_strategy": reflection.strategy,
        "thinking_updates": [*(state.get("thinking_updates") or []), update],
        "retry_count": count,
    }
