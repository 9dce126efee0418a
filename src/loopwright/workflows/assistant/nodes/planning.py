"""What the question asks for, and where to look."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.conference.catalogue import Catalogue, current
from loopwright.workflows.assistant.constants import PLAN_QUERIES
from loopwright.workflows.assistant.nodes.asking import ask_model
from loopwright.workflows.assistant.reasons import asked_at, question_of
from loopwright.workflows.assistant.schemas import PlannedQuery, QueryMode, Table, Turn, Understanding
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState
from loopwright.workflows.assistant.understanding import plan, understand


class PlanReply(BaseModel):
    """A chat model's reading of a question; times, places and persons are read by rules, from the schedule itself."""

    standalone: str
    """The question as it stands without the conversation before it."""
    intent: str
    """What is wanted, in a few words."""
    query_mode: QueryMode = "specific"
    """Whether the question, the person's profile, or both decide."""
    tables: list[Table]
    """Where to look, the most important first."""
    topic: str = ""
    """What it is about, in words that the programme may use; empty if it is about no topic."""


async def plan_queries(state: AssistantState, services: Services) -> dict[str, Any]:
    """Read the question and plan the searches.

    Args:
        state: Reads ``messages``, ``user_context``, ``profile`` and ``history``.
        services: The conference, and the chat model if any.

    Returns:
        ``understanding``, ``intent``, ``query_mode``, ``planned_queries``, and ``original_planned_queries``, a snapshot
        that is set once.
    """
    catalogue = current(services.store)
    understanding = _understood(state, catalogue)
    if services.chat(PLAN_QUERIES) is not None and not understanding.smalltalk:
        reply = await ask_model(
            services,
            PLAN_QUERIES,
            PlanReply,
            question=question_of(state),
            history=_shown(state.get("history") or []),
            tables=", ".join(table for table in Table if catalogue.of_table(table)),
        )
        # What the model makes of the conversation is read by the rules again: for names, times and places.
        reread = _understood(state, catalogue, reply.standalone or None)
        understanding = reread.model_copy(
            update={
                "intent": reply.intent or reread.intent,
                "query_mode": reply.query_mode,
                "tables": tuple(dict.fromkeys(reply.tables)) or reread.tables,
                "topic": reply.topic or reread.topic,
            }
        )
    return _planned(understanding, state, services)


def planned_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model.

    Args:
        state: As for `plan_queries`.
        services: The conference.
    """
    return _planned(_understood(state, current(services.store)), state, services)


def _understood(state: AssistantState, catalogue: Catalogue, question: str | None = None) -> Understanding:
    return understand(
        question or question_of(state),
        catalogue,
        now=asked_at(state),
        history=state.get("history") or (),
        profile=state.get("profile"),
    )


def _planned(understanding: Understanding, state: AssistantState, services: Services) -> dict[str, Any]:
    queries: list[PlannedQuery] = plan(understanding, services.config.assistant, state.get("profile"))
    return {
        "understanding": understanding,
        "intent": understanding.intent,
        "query_mode": understanding.query_mode,
        "planned_queries": queries,
        "original_planned_queries": queries,
    }


def _shown(history: list[Turn]) -> str:
    return "\n".join(f"- {turn.role}: {untrusted_line(turn.text[:500])}" for turn in history) or "none"
