"""Thinking again after a poor search: the new plan alone, the search itself is another node's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from loopwright.workflows.assistant.constants import REFLECT_AND_REPLAN
from loopwright.workflows.assistant.reasons import asked_of, question_of
from loopwright.workflows.assistant.reflecting.reflection import reflect, shown_search
from loopwright.workflows.assistant.reflecting.replies import ReflectionReply, reflection_of
from loopwright.workflows.assistant.schemas import Reflection, ThinkingUpdate
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState


async def reflect_and_replan(state: AssistantState, services: Services) -> dict[str, Any]:
    """Look at what was searched and found, and plan what to search next.

    Args:
        state: Reads ``question``, ``planned_queries``, ``outcomes``, ``attempts`` and ``retry_count``.
        services: The conference, and the chat model if any.

    Returns:
        ``planned_queries`` (none equals an earlier one; empty if nothing is left to try), ``reflection_reasoning``,
        ``reflection_strategy``, ``thinking_updates`` with one more, ``retry_count`` one higher, and
        ``original_planned_queries`` where that is not set yet.
    """
    own = _by_rules(state, services)
    if services.chat(REFLECT_AND_REPLAN) is not None:
        question, attempts = asked_of(state), state.get("attempts") or []
        reply = await services.reply(
            REFLECT_AND_REPLAN,
            ReflectionReply,
            question=question_of(state),
            **shown_search(question, state.get("outcomes") or [], attempts, services.search),
        )
        own = reflection_of(reply, question, attempts, own, services.config.assistant)
    return _replanned(state, own)


def reflected_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model."""
    return _replanned(state, _by_rules(state, services))


def _by_rules(state: AssistantState, services: Services) -> Reflection:
    outcomes, attempts = state.get("outcomes") or [], state.get("attempts") or []
    return reflect(asked_of(state), outcomes, attempts, services.search, services.config.assistant)


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
