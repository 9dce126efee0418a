"""What comes out of a question: the answer, how honest it is, and how it was come by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopwright.engine import RunResult, Usage
from loopwright.engine.events import NodeFinished
from loopwright.workflows.assistant.constants import EXECUTE_QUERIES
from loopwright.workflows.assistant.schemas import Found, Frozen, PlannedQuery, Status, ThinkingUpdate


class ChatResult(Frozen):
    """The outcome of one question."""

    run_id: str
    """Names the run."""
    message: str
    """The question as asked."""
    answer: str
    """The answer as Markdown, a cited record's id in brackets."""
    referenced_ids: tuple[str, ...]
    """The records that the answer cites, in its order."""
    status: Status
    """How honest an end it is."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""
    acknowledgment: str
    """What the person was told before the search."""
    thinking_updates: tuple[ThinkingUpdate, ...]
    """What the person was told of each retry, in order."""
    path: tuple[str, ...]
    """The nodes in the order in which they ran."""
    original_planned_queries: tuple[PlannedQuery, ...]
    """The first plan."""
    queries: tuple[PlannedQuery, ...]
    """Everything that was searched, in order."""
    results: dict[str, tuple[Found, ...]]
    """Table -> what was found over all plans, best first."""
    first_results: dict[str, tuple[Found, ...]]
    """Table -> what the first plan found, best first."""
    retry_count: int
    """Retries of the search."""
    scores: dict[str, float]
    """``quality``, ``confidence`` and ``faithfulness`` of the answer, from 0 to 1; empty if it was not judged."""
    model_calls: int
    """Calls of chat models."""
    tokens: int
    """Tokens of these calls, in and out."""
    cost: float | None
    """Their price in US dollars; None if it is not known."""
    seconds: float
    """Wall time."""
    error: str | None
    """What failed on the way, or None."""
    error_node: str | None
    """Where it failed, or None."""


def result_of(run_id: str, message: str, run: RunResult, usage: Usage, cost: float | None) -> ChatResult:
    """Read the outcome from a run.

    Args:
        run_id: Names the run.
        message: The question as asked.
        run: The run.
        usage: What its chat models used.
        cost: Their price in US dollars, if it is known.
    """
    state = run.state
    first = next(
        (event.update for event in run.events if isinstance(event, NodeFinished) and event.node == EXECUTE_QUERIES), {}
    )
    scores = {name: state.get(f"{name}_score") for name in ("quality", "confidence", "faithfulness")}
    return ChatResult(
        run_id=run_id,
        message=message,
        answer=state.get("response_text") or "",
        referenced_ids=tuple(state.get("referenced_ids") or ()),
        status=state.get("status") or "failed",
        stop_reason=state.get("stop_reason"),
        acknowledgment=state.get("acknowledgment") or "",
        thinking_updates=tuple(state.get("thinking_updates") or ()),
        path=tuple(run.path),
        original_planned_queries=tuple(state.get("original_planned_queries") or ()),
        queries=tuple(query for plan in state.get("attempts") or () for query in plan),
        results=_by_table(state.get("query_results")),
        first_results=_by_table(first.get("query_results")),
        retry_count=state.get("retry_count", 0),
        scores={name: score for name, score in scores.items() if score is not None},
        model_calls=usage.calls,
        tokens=usage.total_tokens,
        cost=cost,
        seconds=run.seconds,
        error=state.get("error"),
        error_node=state.get("error_node"),
    )


def _by_table(results: Mapping[str, list[Found]] | None) -> dict[str, tuple[Found, ...]]:
    return {table: tuple(found) for table, found in (results or {}).items()}
