"""What the question asks for, and where to look."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel

from loopwright.retrieval.web import untrusted_line
from loopwright.workflows.assistant.constants import PLAN_QUERIES
from loopwright.workflows.assistant.nodes.asking import ask_model
from loopwright.workflows.assistant.question.plan import plan
from loopwright.workflows.assistant.question.understanding import understand
from loopwright.workflows.assistant.reasons import asked_at, question_of
from loopwright.workflows.assistant.schemas import Operation, PlannedQuery, QueryMode, Question, Table, Turn
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState


class PlanReply(BaseModel):
    """A chat model's reading of a question; times, places and persons are read by rules, from the schedule itself."""

    standalone: str
    """The question as it stands without the conversation before it."""
    operation: Operation | None = None
    """What is to be done with what fits; null leaves it to the rules."""
    query_mode: QueryMode | None = None
    """Whether the question, the person's profile, or both decide; null leaves it to the rules."""
    tables: list[Table] = []
    """Where to look, the most important first."""
    topic: str = ""
    """What it is about, in words that the programme may use; empty if it is about no topic."""
    without: list[str] = []
    """Topics that are not wanted."""

    def over(self, rules: Question, present: Collection[Table]) -> Question:
        """What was understood, where the model's reading goes before that of the rules.

        Where the rules see no topic, every word of the question asks for a time, a place or a kind of record, which
        they know for certain; small models would search for those words, and in other tables. What the rules exclude
        stays excluded.

        Args:
            rules: The rules' reading.
            present: The tables that the conference has.
        """
        said: dict[str, Any] = {"query_mode": self.query_mode or rules.query_mode}
        if self.operation is not None and rules.operation == "find":
            said["operation"] = self.operation
        if rules.topic and not rules.parts:
            tables = tuple(dict.fromkeys(table for table in self.tables if table in present))
            # To look everywhere is to say nothing.
            chosen = tables if 0 < len(tables) < len(present) else rules.tables
            without = tuple(dict.fromkeys([*rules.filters.without, *(" ".join(each.split()) for each in self.without)]))
            said |= {
                "tables": chosen,
                "topic": " ".join(self.topic.split()) or rules.topic,
                "filters": rules.filters.model_copy(update={"without": tuple(filter(None, without))}),
            }
        return rules.model_copy(update=said)


async def plan_queries(state: AssistantState, services: Services) -> dict[str, Any]:
    """Read the question and plan the searches.

    Args:
        state: Reads ``messages``, ``user_context``, ``profile`` and ``history``.
        services: The conference, and the chat model if any.

    Returns:
        ``question``, ``intent``, ``query_mode``, ``planned_queries``, and ``original_planned_queries``, a snapshot
        that is set once.
    """
    question = _read(state, services)
    present = [table for table in Table if services.search.catalogue.of_table(table)]
    # Smalltalk asks for no search, and what is asked of the conference itself is answered from its own data.
    asks = question.searches and (question.topic or question.operation in ("find", "recommend"))
    if services.chat(PLAN_QUERIES) is not None and asks:
        reply = await ask_model(
            services,
            PLAN_QUERIES,
            PlanReply,
            question=question_of(state),
            history=_shown(state.get("history") or []),
            tables=", ".join(present),
        )
        # What the model makes of the conversation is read by the rules again: for names, times and places. Without a
        # conversation the question stands alone as it is.
        if state.get("history") and reply.standalone.strip():
            question = _read(state, services, reply.standalone)
        if question.searches:
            question = reply.over(question, present)
    return _planned(question, state, services)


def planned_by_rules(state: AssistantState, services: Services) -> dict[str, Any]:
    """The same without a model.

    Args:
        state: As for `plan_queries`.
        services: The conference.
    """
    return _planned(_read(state, services), state, services)


def _read(state: AssistantState, services: Services, standalone: str | None = None) -> Question:
    return understand(
        standalone or question_of(state),
        services.search,
        now=asked_at(state),
        history=() if standalone else state.get("history") or (),
        profile=state.get("profile"),
    )


def _planned(question: Question, state: AssistantState, services: Services) -> dict[str, Any]:
    queries: list[PlannedQuery] = plan(question, services.config.assistant, state.get("profile"))
    return {
        "question": question,
        "intent": question.operation,
        "query_mode": question.query_mode,
        "planned_queries": queries,
        "original_planned_queries": queries,
    }


def _shown(history: list[Turn]) -> str:
    return "\n".join(f"- {turn.role}: {untrusted_line(turn.text[:500])}" for turn in history) or "none"
