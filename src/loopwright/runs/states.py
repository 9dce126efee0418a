"""What a run's own log tells of its states."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pydantic import ValidationError

import loopwright
from loopwright.config import Frozen
from loopwright.engine.events.schema import RunEvent, StateSaved, run_event
from loopwright.errors import StoreError, UnknownNameError
from loopwright.runs.store.entries import KeptEvent
from loopwright.runs.store.history import RunStore


class CheckpointView(Frozen):
    """A checkpoint of a run."""

    step: int
    """The superstep, -1 for the input."""
    checkpoint_id: str
    """Names it."""
    next: tuple[str, ...]
    """The nodes that run next; none at the end."""
    at: datetime
    """When it was made, UTC."""


def event_of(run_id: str, kept: KeptEvent) -> RunEvent:
    """An event of a run's log.

    Raises:
        StoreError: If it is none that this version of Loopwright knows.
    """
    try:
        return run_event.validate_json(kept.data)
    except ValidationError as error:
        raise StoreError(
            f"event {kept.seq} ({kept.name[:50]}) of run {run_id[:80]} is damaged, or of another version of Loopwright "
            f"than this one ({loopwright.__version__}): look at the run with the version that made it, or delete it"
        ) from error


def logged(store: RunStore, run_id: str, *kinds: str) -> Iterator[RunEvent]:
    """The events of a run's log in order; blocks."""
    return (event_of(run_id, kept) for kept in store.log(run_id) if not kinds or kept.name in kinds)


def checkpoints(store: RunStore, run_id: str) -> list[CheckpointView]:
    """The checkpoints of a run, oldest first; blocks."""
    return [
        CheckpointView(step=event.step, checkpoint_id=event.checkpoint_id, next=(*event.next,), at=event.at)
        for event in logged(store, run_id, "state")
        if isinstance(event, StateSaved)
    ]


def state_at(store: RunStore, run_id: str, checkpoint_id: str) -> dict[str, Any]:
    """The whole state at a checkpoint in plain JSON, put together from the differences before it; blocks.

    Raises:
        UnknownNameError: If the run has no such checkpoint.
    """
    values: dict[str, Any] = {}
    known: list[str] = []
    for event in logged(store, run_id, "state"):
        if isinstance(event, StateSaved):
            known.append(event.checkpoint_id)
            values = {key: value for key, value in values.items() if key not in event.removed} | event.changed
            if event.checkpoint_id == checkpoint_id:
                return values
    raise UnknownNameError("checkpoint", checkpoint_id, known[-5:])
