"""What a client sees of a run as it happens: the streaming contract, made from the engine's events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from loopwright.engine.events import (
    LoopDecided,
    NodeFinished,
    NodeStarted,
    RunEvent,
    TextStreamed,
)
from loopwright.engine.loops import Decision
from loopwright.models import UsageRecorder
from loopwright.models.usage import model_name
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.nodes.asking import prompts
from loopwright.workflows.assistant.results import ChatResult
from loopwright.workflows.assistant.schemas import Found, Record, SearchOutcome, Status, Strategy, ThinkingUpdate
from loopwright.workflows.assistant.services import Services


class _ChatEvent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Acknowledgment(_ChatEvent):
    """The first word to the person, before anything is searched."""

    event: Literal["acknowledgment"] = "acknowledgment"
    """The tag."""
    message: str
    """What is looked for."""


class Progress(_ChatEvent):
    """What is being done, for people."""

    event: Literal["progress"] = "progress"
    """The tag."""
    node: str
    """The node that began."""
    message: str
    """What it does."""


class Thinking(_ChatEvent):
    """A failed search is thought over."""

    event: Literal["thinking"] = "thinking"
    """The tag."""
    message: str
    """What is tried next, and why, without jargon."""
    strategy: Strategy
    """How the plan changed."""
    retry_count: int
    """Which retry it is, from 1."""
    ts: datetime
    """When, UTC."""


class Chunk(_ChatEvent):
    """A piece of the answer; all pieces since the last ``node_start`` of its node are the whole."""

    event: Literal["chunk"] = "chunk"
    """The tag."""
    text: str
    """The piece."""


class Done(_ChatEvent):
    """The run ended by itself or at a bound; nothing follows."""

    event: Literal["done"] = "done"
    """The tag."""
    run_id: str
    """The run."""
    referenced_ids: tuple[str, ...]
    """The records that the answer cites, in its order."""
    status: Status
    """How honest an end it is."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""


class Failed(_ChatEvent):
    """The run ended with an error; nothing follows."""

    event: Literal["error"] = "error"
    """The tag."""
    error: str
    """What went wrong, without secrets."""
    error_type: str
    """Its class."""
    can_retry: bool
    """Whether the same request may succeed later."""


class NodeStart(_ChatEvent):
    """A visit of a node began; a node that runs three times starts three times."""

    event: Literal["node_start"] = "node_start"
    """The tag."""
    node: str
    """The node."""
    visit: int
    """Which visit of this node it is, from 1."""
    ts: datetime
    """When, UTC."""
    model: str | None
    """The chat model that it asks, or None."""


class NodeUsage(_ChatEvent):
    """What a node's chat model used in one visit."""

    calls: int
    """Calls."""
    tokens: int
    """Tokens, in and out."""


class NodeEnd(_ChatEvent):
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
    """What it wrote to the state, records by id, title and score alone; and ``error`` where it failed."""
    usage: NodeUsage | None
    """What its chat model used; None without a model."""
    prompt_version: int | None
    """The version of its prompt; None without a model."""


class LoopEvent(_ChatEvent):
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


class PipelineSummary(_ChatEvent):
    """The whole run at a glance."""

    event: Literal["pipeline_summary"] = "pipeline_summary"
    """The tag."""
    run_id: str
    """The run."""
    path: tuple[str, ...]
    """The nodes in the order in which they ran."""
    visits: dict[str, int]
    """Node -> how often it ran."""
    skipped: tuple[str, ...]
    """The nodes that did not run."""
    duration_ms: float
    """Milliseconds of wall time."""
    retry_count: int
    """Retries of the search."""
    strategies: tuple[Strategy, ...]
    """How each retry changed the plan."""
    model_calls: int
    """Calls of chat models."""
    tokens: int
    """Tokens of these calls, in and out."""
    cost: float | None
    """Their price in US dollars; None if it is not known."""
    scores: dict[str, float]
    """Quality, confidence and faithfulness of the answer, from 0 to 1."""


ChatEvent = Annotated[
    Acknowledgment | Progress | Thinking | Chunk | Done | Failed | NodeStart | NodeEnd | LoopEvent | PipelineSummary,
    Field(discriminator="event"),
]
"""Any event of a chat's stream."""


class Translator:
    """Turns the events of one run into those that a client sees."""

    def __init__(self, services: Services, usage: UsageRecorder) -> None:
        """Prepare.

        Args:
            services: The models of the nodes.
            usage: Where the run's calls are counted.
        """
        self._services = services
        self._usage = usage
        self._told = 0
        self._before: Counter[str | None] = Counter()
        self._tokens: Counter[str | None] = Counter()

    def translate(self, event: RunEvent) -> Iterator[ChatEvent]:
        """The client's events for one of the engine's.

        Args:
            event: The engine's event.
        """
        if isinstance(event, LoopDecided):
            yield LoopEvent(
                name=event.loop,
                decision=event.decision,
                passes=event.spent,
                limit=event.limit,
                reason=event.reason,
            )
        elif isinstance(event, TextStreamed):
            yield Chunk(text=event.text)
        elif isinstance(event, NodeStarted) and event.node in NODES:
            chat = self._services.chat(event.node) if NODES[event.node].has_llm else None
            model = model_name(chat) if chat else None
            yield NodeStart(node=event.node, visit=event.visit, ts=event.at, model=model)
            if message := NODES[event.node].progress:
                yield Progress(node=event.node, message=message)
        elif isinstance(event, NodeFinished) and event.node in NODES:
            yield from self._finished(event)

    def _finished(self, event: NodeFinished) -> Iterator[ChatEvent]:
        update = event.update
        if event.node == GENERATE_ACKNOWLEDGMENT and update.get("acknowledgment"):
            yield Acknowledgment(message=update["acknowledgment"])
        if event.node == REFLECT_AND_REPLAN:
            thoughts: list[ThinkingUpdate] = update.get("thinking_updates") or []
            for thought in thoughts[self._told :]:
                yield Thinking(**thought.model_dump())
            self._told = max(self._told, len(thoughts))
        usage = self._used(event.node)
        failure = {"error": event.error} if event.error else {}
        yield NodeEnd(
            node=event.node,
            visit=event.visit,
            ts=event.at,
            duration_ms=round(event.seconds * 1000, 3),
            output={**{key: brief(value) for key, value in update.items()}, **failure},
            usage=usage,
            prompt_version=prompts().get(event.node).version if usage else None,
        )

    def _used(self, node: str) -> NodeUsage | None:
        if not NODES[node].has_llm or self._services.chat(node) is None:
            return None
        total = self._usage.by_node().get(node)
        calls, tokens = (total.calls, total.total_tokens) if total else (0, 0)
        used = NodeUsage(calls=calls - self._before[node], tokens=tokens - self._tokens[node])
        self._before[node], self._tokens[node] = calls, tokens
        return used


def summary_of(result: ChatResult) -> PipelineSummary:
    """The summary of a run.

    Args:
        result: The run's outcome.
    """
    visits = Counter(result.path)
    return PipelineSummary(
        run_id=result.run_id,
        path=result.path,
        visits=dict(visits),
        skipped=tuple(name for name in NODES if name not in visits),
        duration_ms=round(result.seconds * 1000, 3),
        retry_count=result.retry_count,
        strategies=tuple(update.strategy for update in result.thinking_updates),
        model_calls=result.model_calls,
        tokens=result.tokens,
        cost=result.cost,
        scores=result.scores,
    )


def brief(value: Any) -> Any:
    """A value of the state as plain JSON, records by id, title and score alone.

    Args:
        value: The value.
    """
    if isinstance(value, Found):
        return {"id": value.record.id, "title": value.record.title, "score": round(value.score, 3)}
    if isinstance(value, Record):
        return {"id": value.id, "title": value.title}
    if isinstance(value, SearchOutcome | ChatResult):
        return {name: brief(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): brief(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [brief(item) for item in value]
    if isinstance(value, str | int | float | None):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)
