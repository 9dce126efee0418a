"""What happens in a run, as one tagged union.

The engine's own nodes write these events to LangGraph's ``custom`` stream as plain dicts;
`loopwright.engine.runner.stream` adds the start and the end of every node from LangGraph's ``tasks`` stream and yields
them all in order, typed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from loopwright.engine.loops import Decision


def now() -> datetime:
    """The present time, in UTC."""
    return datetime.now(UTC)


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime = Field(default_factory=now)
    """When it happened, UTC."""


class RunStarted(_Event):
    """A run began or was resumed."""

    type: Literal["run_started"] = "run_started"
    """The tag."""
    graph: str
    """The graph's name."""
    thread_id: str | None
    """The thread under which checkpoints are kept, if any."""
    resumed: bool
    """Whether it goes on from a checkpoint."""


class NodeStarted(_Event):
    """A visit of a node began; a node that runs three times starts three times."""

    type: Literal["node_started"] = "node_started"
    """The tag."""
    node: str
    """The node's name."""
    task_id: str
    """Names this visit."""
    visit: int
    """Which visit of this node it is in the run, from 1."""


class NodeFinished(_Event):
    """A visit of a node ended."""

    type: Literal["node_finished"] = "node_finished"
    """The tag."""
    node: str
    """The node's name."""
    task_id: str
    """Names this visit."""
    visit: int
    """Which visit of this node it is in the run, from 1."""
    seconds: float
    """Wall time of the visit, retries included."""
    update: dict[str, Any]
    """What the node wrote to the state."""
    error: str | None = None
    """The error that ended it, or None."""


class NodeRetried(_Event):
    """An attempt of a node failed and another one follows."""

    type: Literal["node_retried"] = "node_retried"
    """The tag."""
    node: str
    """The node's name."""
    attempt: int
    """The attempt that failed, from 1."""
    attempts: int
    """How many attempts there are at most."""
    kind: str
    """The exception's class."""
    message: str
    """The exception's message, truncated."""
    wait: float
    """About how many seconds pass before the next attempt."""


class NodeGaveUp(_Event):
    """A node failed for good, and the run goes on without its result."""

    type: Literal["node_gave_up"] = "node_gave_up"
    """The tag."""
    node: str
    """The node's name."""
    kind: str
    """The exception's class."""
    message: str
    """The exception's message, truncated."""
    goto: str
    """Where control goes instead."""


class LoopDecided(_Event):
    """A gate answered a request for another pass."""

    type: Literal["loop"] = "loop"
    """The tag."""
    loop: str
    """The loop's name."""
    decision: Decision
    """Granted, exhausted or stalled."""
    spent: int
    """Passes granted so far in this scope, this one included."""
    limit: int
    """The limit in force."""
    reason: str
    """Why the pass was wanted."""
    goto: list[str]
    """Where control goes."""
    step: int
    """The superstep of the decision."""
    waited: float = 0.0
    """Seconds that the gate waited before granting."""


class RunFinished(_Event):
    """A run ended, by itself or at a bound."""

    type: Literal["run_finished"] = "run_finished"
    """The tag."""
    seconds: float
    """Wall time of the run."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """The bound that was reached, or None."""
    interrupted: bool = False
    """Whether it waits for a person's answer."""


class RunFailed(_Event):
    """A run ended with an exception."""

    type: Literal["run_failed"] = "run_failed"
    """The tag."""
    kind: str
    """The exception's class."""
    message: str
    """The exception's message."""


RunEvent = Annotated[
    RunStarted | NodeStarted | NodeFinished | NodeRetried | NodeGaveUp | LoopDecided | RunFinished | RunFailed,
    Field(discriminator="type"),
]
"""Any event of a run."""

run_event: TypeAdapter[RunEvent] = TypeAdapter(RunEvent)
"""Validates and writes any `RunEvent`."""

CUSTOM_EVENTS = frozenset({"loop", "node_retried", "node_gave_up"})
"""The tags that arrive on LangGraph's ``custom`` stream."""
