"""What comes out of a question: the answer, how honest it is, and what the loops cost and brought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from loopwright.engine import RunEvent, RunResult, Usage
from loopwright.engine.events import LoopDecided, NodeFinished, NodeRetried
from loopwright.workflows.rag.policies import BACKEND
from loopwright.workflows.rag.schemas import Answer, Frozen, Status

KINDS = {"nodes_and_edges_grading": "nothing_relevant", "generation_grading": "not_useful"}
"""The source of a query transformation -> the kind of failure that it was wanted for."""


class LoopMetrics(Frozen):
    """What one loop did in a run."""

    passes: int = Field(default=0, ge=0)
    """Passes that were granted."""
    refused: int = Field(default=0, ge=0)
    """Requests that were refused."""
    seconds: float = Field(default=0.0, ge=0)
    """Wall time from each granted pass to the next decision of any loop, or to the end."""
    gained: int = Field(default=0, ge=0)
    """Relevant passages that were found during its passes and had not been found before."""


class RetryMetrics(Frozen):
    """How often a run tried again, and why."""

    nothing_relevant: int = Field(default=0, ge=0)
    """Query transformations because nothing relevant was found."""
    not_useful: int = Field(default=0, ge=0)
    """Query transformations because the answer did not answer the question."""
    not_supported: int = Field(default=0, ge=0)
    """Further attempts at the answer because its sources did not support it."""
    backend_error: int = Field(default=0, ge=0)
    """Further attempts of a node because the store or the search engine failed."""
    loops: dict[str, LoopMetrics] = Field(default_factory=dict[str, LoopMetrics])
    """Loop -> what it did."""


class RagResult(BaseModel):
    """The outcome of one question; of a resumed run, what is counted begins with the resume."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    """The question as asked."""
    answer: Answer
    """The answer with its verified citations."""
    status: Status
    """Whether it is answered, a best effort, or an honest "I don't know"."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""
    queries: tuple[str, ...]
    """Everything that was searched, in order."""
    path: tuple[str, ...]
    """The nodes in the order in which they ran."""
    retries: RetryMetrics
    """How often it tried again, and why."""
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


def result_of(question: str, run: RunResult, usage: Usage, cost: float | None) -> RagResult:
    """Read the outcome from a run.

    Args:
        question: The question as asked.
        run: The run.
        usage: What its chat models used.
        cost: Their price in US dollars, if it is known.
    """
    state = run.state
    return RagResult(
        question=question,
        answer=state.get("generation") or Answer(text="No answer was written.", abstained=True),
        status=state.get("status") or _status(state),
        stop_reason=state.get("stop_reason"),
        queries=tuple(state.get("queries") or ()),
        path=tuple(run.path),
        retries=retries_of(run.events),
        model_calls=usage.calls,
        tokens=usage.total_tokens,
        cost=cost,
        seconds=run.seconds,
        error=state.get("error"),
    )


def _status(state: dict[str, Any]) -> Status:
    """Where a budget or a step limit ended the run before the answer was judged."""
    if state.get("error"):
        return "failed"
    return "best_effort" if state.get("generation") else "abstained"


def retries_of(events: Sequence[RunEvent]) -> RetryMetrics:
    """Count what was tried again, and what it cost and brought.

    Args:
        events: The events of one run, in order.
    """
    counts: dict[str, int] = {}
    loops: dict[str, dict[str, float]] = {}
    current: str | None = None
    since = None
    known: set[str] = set()
    for event in events:
        if isinstance(event, LoopDecided):
            book = loops.setdefault(event.loop, {"passes": 0, "refused": 0, "seconds": 0.0, "gained": 0})
            _close(loops, current, since, event)
            granted = event.decision == "granted"
            book["passes" if granted else "refused"] += 1
            current, since = (event.loop, event.at) if granted else (None, None)
            for kind in _kinds(event) if granted else ():
                counts[kind] = counts.get(kind, 0) + 1
        elif isinstance(event, NodeRetried) and event.rule == BACKEND:
            counts["backend_error"] = counts.get("backend_error", 0) + 1
        elif isinstance(event, NodeFinished) and "documents" in event.update and event.update.get("grades"):
            found = {each.id for each in event.update["documents"]}
            if current:
                loops[current]["gained"] += len(found - known)
            known |= found
    if events:
        _close(loops, current, since, events[-1])
    return RetryMetrics(**counts, loops={name: LoopMetrics(**book) for name, book in loops.items()})  # type: ignore[arg-type]


def _kinds(event: LoopDecided) -> list[str]:
    if event.loop == "regenerate":
        return ["not_supported"]
    return [KINDS[source] for source in event.sources] if event.loop == "transform" else []


def _close(loops: dict[str, dict[str, float]], current: str | None, since: Any, event: RunEvent) -> None:
    if current is not None:
        loops[current]["seconds"] += (event.at - since).total_seconds()
