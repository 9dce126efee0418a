"""What a forked run took over from the run that it was forked from: it ran once, and counts for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.engine.events import ModelCalled, NodeStarted, RunEvent, RunStarted, StateSaved
from loopwright.engine.gate import is_engine_node
from loopwright.runs.schemas import RunRecord


@dataclass(frozen=True, slots=True)
class Shared:
    """The part of a run before one of its checkpoints."""

    path: tuple[str, ...] = ()
    """The nodes in the order in which they ran, gates left out."""
    seconds: float = 0.0
    """Wall time, without the time between an end and a resume."""
    tokens: int = 0
    """Tokens, in and out."""
    cost: float | None = 0.0
    """The price in US dollars; None if that of a call is not known."""
    model_calls: int = 0
    """Calls of chat models."""


NOTHING = Shared()
"""Of a run that is not forked from the other one."""


def nodes_of(events: Sequence[RunEvent]) -> tuple[str, ...]:
    """The nodes in the order in which they ran, gates left out; a visit that a resume repeats is one.

    Args:
        events: A run's events.
    """
    visits: dict[str, str] = {}
    for event in events:
        if isinstance(event, NodeStarted) and not is_engine_node(event.node):
            visits.setdefault(event.task_id, event.node)
    return tuple(visits.values())


def shared_part(parent: RunRecord, parent_events: Sequence[RunEvent], child: RunRecord) -> Shared | None:
    """What a run took over from another one.

    Args:
        parent: The run that it may have been forked from.
        parent_events: That run's events.
        child: The run.

    Returns:
        The part before the checkpoint; `NOTHING` if the run is no fork, and None if it is one, but what came before is
        not known from the other run.
    """
    if child.parent is None:
        return NOTHING
    if child.parent.run_id != parent.id:
        return None
    checkpoint = child.parent.checkpoint_id
    for number, event in enumerate(parent_events):
        if isinstance(event, StateSaved) and event.checkpoint_id == checkpoint:
            return _part(parent_events[: number + 1])
    return None


def _part(events: Sequence[RunEvent]) -> Shared:
    calls = [event for event in events if isinstance(event, ModelCalled)]
    costs = [call.cost for call in calls]
    begun = [number for number, event in enumerate(events) if isinstance(event, RunStarted)]
    spans = zip(begun, [*begun[1:], len(events)], strict=True)
    return Shared(
        path=nodes_of(events),
        seconds=sum((events[end - 1].at - events[start].at).total_seconds() for start, end in spans),
        tokens=sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in calls),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        model_calls=len(calls),
    )
