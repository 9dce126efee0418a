"""What a client sees of a run: the events of the streaming contract."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from loopwright.engine.loop import Decision
from loopwright.workflows.assistant.schemas import Ending, Frozen, Summary, ThinkingUpdate


class Acknowledgment(Frozen):
    """The first word to the person, before anything is searched."""

    event: Literal["acknowledgment"] = "acknowledgment"
    """The tag."""
    message: str
    """What is looked for."""


class Progress(Frozen):
    """What is being done, for people."""

    event: Literal["progress"] = "progress"
    """The tag."""
    node: str
    """The node that began."""
    message: str
    """What it does."""


class Thinking(ThinkingUpdate):
    """A failed search is thought over."""

    event: Literal["thinking"] = "thinking"
    """The tag."""


class Chunk(Frozen):
    """A piece of the answer; all pieces since the last ``node_start`` of ``generate_response`` are the whole."""

    event: Literal["chunk"] = "chunk"
    """The tag."""
    text: str
    """The piece."""


class Done(Ending):
    """The run ended by itself or at a bound; nothing follows."""

    event: Literal["done"] = "done"
    """The tag."""


class Failed(Frozen):
    """The run ended with an error; nothing follows."""

    event: Literal["error"] = "error"
    """The tag."""
    error: str
    """What went wrong, without secrets."""
    error_type: str
    """Its class."""
    can_retry: bool
    """Whether the same request may succeed later."""


class NodeStart(Frozen):
    """A visit of a node began; a node that runs three times starts three times.

    Where an attempt fails, the same visit ends with its ``error`` and starts again: with the next attempt, or with what
    is done in its place.
    """

    event: Literal["node_start"] = "node_start"
    """The tag."""
    node: str
    """The node."""
    visit: int
    """Which visit of this node it is, from 1."""
    ts: datetime
    """When, UTC."""
    model: str | None
    """The chat model that it asks, or None: also where rules stand in for a model that failed."""


class NodeUsage(Frozen):
    """What a node's chat model used in one visit."""

    calls: int
    """Calls."""
    tokens: int
    """Tokens, in and out."""


class NodeEnd(Frozen):
    """A visit of a node ended."""

    event: Literal["node_end"] = "node_end"
    """The tag."""
    node: str
    """The node."""
    visit: int
    """Which visit of this node it is, from 1."""
    ts: datetime
    """When, UTC."""
    duration_ms: float
    """Milliseconds of wall time."""
    output: dict[str, Any]
    """What it wrote to the state, records by id, title and score alone, without ``messages``, which repeat it; and
    ``error`` where it failed."""
    usage: NodeUsage | None
    """What its chat model used; None without a model."""
    prompt_version: int | None
    """The version of its prompt; None without a model."""


class LoopEvent(Frozen):
    """A loop's gate decided on another pass."""

    event: Literal["loop"] = "loop"
    """The tag."""
    name: str
    """The loop."""
    decision: Decision
    """Granted, exhausted, stalled or over budget."""
    passes: int
    """Passes granted so far, this one included."""
    limit: int
    """The limit."""
    reason: str
    """Why the pass was wanted."""


class PipelineSummary(Summary):
    """The whole run at a glance."""

    event: Literal["pipeline_summary"] = "pipeline_summary"
    """The tag."""


ChatEvent = Annotated[
    Acknowledgment | Progress | Thinking | Chunk | Done | Failed | NodeStart | NodeEnd | LoopEvent | PipelineSummary,
    Field(discriminator="event"),
]
"""Any event of a chat's stream."""
