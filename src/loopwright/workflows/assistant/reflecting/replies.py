"""What a chat model replies when it reflects, and how that becomes a plan that can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.plans import untried
from loopwright.workflows.assistant.schemas import PlannedQuery, Question, Reflection, Strategy, Table

LOWEST_THRESHOLD = 0.2
"""A model may not count as a result what scores less: below, anything resembles anything."""
_MOST = 300
"""Characters of a message to the person, and of a query."""


class ReflectionQuery(BaseModel):
    """One search that a chat model proposes; it names no filters, so that it cannot invent rooms or times."""

    table: Table
    """Where to look."""
    query_text: str = ""
    """What to look for, in a few words."""
    keep_filters: bool = True
    """Whether what was asked of time, place and track still holds; persons, languages and exclusions always do."""
    score_threshold: float | None = None
    """The least score of a result; null for the usual one."""


class ReflectionReply(BaseModel):
    """How a chat model reflects on a poor search.

    How the plan differs from earlier ones is told from the searches themselves: small models name it wrongly.
    """

    reasoning: str
    """What was seen and what follows, for developers."""
    message: str
    """One friendly sentence to the person, without jargon."""
    queries: list[ReflectionQuery]
    """What to search next."""


def reflection_of(
    reply: ReflectionReply,
    question: Question,
    attempts: Sequence[Sequence[PlannedQuery]],
    own: Reflection,
    config: AssistantSection,
) -> Reflection:
    """Turn a chat model's reply into a plan, and refuse what was searched before or searches for nothing.

    Args:
        reply: The reply.
        question: What is asked for; its filters are the only ones.
        attempts: Every plan so far.
        own: The reflection by rules, which stands where nothing of the reply is left.
        config: The usual threshold and limit.

    Returns:
        The plan; `own` with that in its reasoning if none of the queries could be taken.
    """
    planned = [_planned(proposed, question, config) for proposed in reply.queries]
    queries = untried((each for each in planned if each.query_text or not each.filters.empty), attempts)
    refused = len(planned) - len(queries)
    noted = f" Of the model's {len(planned)} searches {refused} were refused: searched before, or for nothing."
    if not queries:
        return own.model_copy(update={"reasoning": f"{own.reasoning}{noted}"})
    sought = " and ".join(dict.fromkeys(f'"{query.query_text}"' for query in queries if query.query_text))
    return Reflection(
        reasoning=f"{_line(reply.reasoning, 2000)}{noted if refused else ''}",
        strategy=_strategy(queries[0], attempts),
        message=_line(reply.message, _MOST) or f"There is too little so far, so I look for {sought or 'more'}.",
        queries=queries,
    )


def _planned(proposed: ReflectionQuery, question: Question, config: AssistantSection) -> PlannedQuery:
    asked, usual = question.filters, config.search.score_threshold
    filters = (
        asked if proposed.keep_filters else asked.but("day", "start", "end", "on", "minutes", "room", "track", "type")
    )
    wanted = usual if proposed.score_threshold is None else proposed.score_threshold
    return PlannedQuery(
        table=proposed.table,
        query_text=_line(proposed.query_text, _MOST),
        filters=filters,
        limit=config.search.limit,
        score_threshold=min(1.0, max(wanted, min(LOWEST_THRESHOLD, usual))),
    )


def _strategy(query: PlannedQuery, attempts: Sequence[Sequence[PlannedQuery]]) -> Strategy:
    """How the most promising search of a plan differs from what was searched."""
    tried = [each for plan in attempts for each in plan]
    text = fold(query.query_text)
    if any(each.table is query.table and fold(each.query_text) == text for each in tried):
        return "relax"
    return "pivot" if tried and query.table not in {each.table for each in tried} else "rewrite"


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]
