"""What a run's own log tells of its states."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from pydantic import ValidationError

import loopwright
from loopwright.config import Frozen
from loopwright.engine.events.schema import RunEvent, StateSaved, run_event
from loopwright.errors import StoreError, UnknownNameError
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


def logged(store: RunStore, run_id: str, *kinds: str) -> Iterator[RunEvent]:
    """The events of a run's log in order; blocks.

    Raises:
        StoreError: If one is none that this version of Loopwright knows.
    """
    for kept in store.log(run_id):
        if not kinds or kept.name in kinds:
            try:
                yield run_event.validate_json(kept.data)
            except ValidationError as error:
                raise StoreError(
                    f"event {kept.seq} ({kept.name[:50]}) of run {run_id[:80]} is damaged, or of another version of "
                    f"Loopwright than this one ({loopwright.__version__}): look at the run with the version that made "
                    "it, or delete it"
                ) from error


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
    known: list[str] = []
    for event, values in saved_states(logged(store, run_id, "state")):
        if event.checkpoint_id == checkpoint_id:
            return values
        known.append(event.checkpoint_id)
    raise UnknownNameError("checkpoint", checkpoint_id, known[-5:])


def saved_states(events: Iterable[RunEvent]) -> Iterator[tuple[StateSaved, dict[str, Any]]]:
    """Each checkpoint that events tell of, with the whole state at it."""
    values: dict[str, Any] = {}
    for event in events:
        if isinstance(event, StateSaved):
            values = {key: value for key, value in values.items() if key not in event.removed} | event.changed
            yield event, values
