"""What a client sees of a run: the events of the streaming contract, and how they come from the engine's."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import to_jsonable_python

from loopwright import errors
from loopwright.engine import Usage
from loopwright.engine.events import schema
from loopwright.engine.loop import Decision
from loopwright.models import UsageRecorder
from loopwright.models.usage import model_name
from loopwright.workflows.assistant import schemas
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.services import Services


class Acknowledgment(schemas.Frozen):
    """The first word to the person, before anything is searched."""

    event: Literal["acknowledgment"] = "acknowledgment"
    """The tag."""
    message: str
    """What is looked for."""


class Progress(schemas.Frozen):
    """What is being done, for people."""

    event: Literal["progress"] = "progress"
    """The tag."""
    node: str
    """The node that began."""
    message: str
    """What it does."""


class Thinking(schemas.ThinkingUpdate):
    """A failed search is thought over."""

    event: Literal["thinking"] = "thinking"
    """The tag."""


class Chunk(schemas.Frozen):
    """A piece of the answer; all pieces since the last ``node_start`` of ``generate_response`` are the whole."""

    event: Literal["chunk"] = "chunk"
    """The tag."""
    text: str
    """The piece."""


class Done(schemas.Ending):
    """The run ended by itself or at a bound; nothing follows."""

    event: Literal["done"] = "done"
    """The tag."""


class Failed(schemas.Frozen):
    """The run ended with an error; nothing follows."""

    event: Literal["error"] = "error"
    """The tag."""
    error: str
    """What went wrong, without secrets."""
    error_type: str
    """Its class."""
    can_retry: bool
    """Whether the same request may succeed later."""


class NodeStart(schemas.Frozen):
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


class NodeUsage(schemas.Frozen):
    """What a node's chat model used in one visit."""

    calls: int
    """Calls."""
    tokens: int
    """Tokens, in and out."""


class NodeEnd(schemas.Frozen):
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


class LoopEvent(schemas.Frozen):
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


class PipelineSummary(schemas.Summary):
    """The whole run at a glance."""

    event: Literal["pipeline_summary"] = "pipeline_summary"
    """The tag."""


ChatEvent = Annotated[
    Acknowledgment | Progress | Thinking | Chunk | Done | Failed | NodeStart | NodeEnd | LoopEvent | PipelineSummary,
    Field(discriminator="event"),
]
"""Any event of a chat's stream."""


_IN_PLACE = "__error_handler__"
"""How LangGraph names the task that stands in for a node that failed, before the node's name."""


class Translator:
    """Turns the events of one run into those that a client sees."""

    def __init__(self, services: Services, usage: UsageRecorder) -> None:
        self._services = services
        self._usage = usage
        self._visits: Counter[str] = Counter()
        self._open: dict[str, tuple[datetime, bool]] = {}
        """Node -> when its attempt that goes on began, and whether a model may be asked in it."""
        self._failed: dict[str, str] = {}
        """Node -> why rules stand in for it."""
        self._before: dict[str, Usage] = {}
        """Node -> what its earlier visits used."""

    def translate(self, event: schema.RunEvent) -> Iterator[ChatEvent]:
        """The client's events for one of the engine's."""
        if isinstance(event, schema.LoopDecided):
            yield LoopEvent(
                name=event.loop, decision=event.decision, passes=event.spent, limit=event.limit, reason=event.reason
            )
        elif isinstance(event, schema.TextStreamed):
            yield Chunk(text=event.text)
        elif isinstance(event, schema.NodeStarted) and event.node in NODES:
            self._visits[event.node] = event.visit
            yield self._start(event.node, event.at, asks=NODES[event.node].info.has_llm)
            if message := NODES[event.node].progress:
                yield Progress(node=event.node, message=message)
        elif isinstance(event, schema.NodeRetried | schema.NodeGaveUp):
            yield from self._begun_again(event)
        elif isinstance(event, schema.NodeFinished):
            yield from self._finished(event)

    def _start(self, node: str, at: datetime, *, asks: bool) -> NodeStart:
        chat = self._services.chat(node) if asks else None
        self._open[node] = at, chat is not None
        return NodeStart(node=node, visit=self._visits[node], ts=at, model=model_name(chat) if chat else None)

    def _begun_again(self, event: schema.NodeRetried | schema.NodeGaveUp) -> Iterator[ChatEvent]:
        """An attempt failed; what it wrote so far is void."""
        reason = told_of(event.kind, event.message)
        if event.node in self._open:
            yield self._end(event.node, event.at, {"error": reason})
        gave_up = isinstance(event, schema.NodeGaveUp)
        if gave_up:
            self._failed[event.node] = reason
        yield self._start(event.node, event.at, asks=not gave_up)

    def _finished(self, event: schema.NodeFinished) -> Iterator[ChatEvent]:
        node = event.node.removeprefix(_IN_PLACE)
        if node not in NODES:
            return
        if event.error:
            # Why comes with what follows: the run's error, or what is done in the node's place, if that did not begin.
            if node not in self._failed:
                yield self._end(node, event.at, {"error": "it failed"})
            return
        update = dict(event.update)
        if node == GENERATE_ACKNOWLEDGMENT and update.get("acknowledgment"):
            yield Acknowledgment(message=update["acknowledgment"])
        if node == REFLECT_AND_REPLAN:
            # Each visit adds one, and the earlier ones were told, maybe before a resume.
            thoughts: list[schemas.ThinkingUpdate] = update.get("thinking_updates") or []
            for thought in thoughts[-1:]:
                yield Thinking(**thought.model_dump())
        if failure := self._failed.pop(node, None):
            update["error"] = failure
        yield self._end(node, event.at, {key: brief(value) for key, value in update.items() if key != "messages"})

    def _end(self, node: str, at: datetime, output: dict[str, Any]) -> NodeEnd:
        began, asked = self._open.pop(node)
        return NodeEnd(
            node=node,
            visit=self._visits[node],
            ts=at,
            duration_ms=round((at - began).total_seconds() * 1000, 3),
            output=output,
            usage=self._used(node) if asked else None,
            prompt_version=self._services.prompts().get(node).version if asked else None,
        )

    def _used(self, node: str) -> NodeUsage:
        total, before = self._usage.by_node().get(node, Usage()), self._before.get(node, Usage())
        self._before[node] = total
        return NodeUsage(calls=total.calls - before.calls, tokens=total.total_tokens - before.total_tokens)


def told_of(kind: str, message: str) -> str:
    """An exception as clients may know it.

    The message of what Loopwright raises on purpose is for people; any other may hold what is nobody's business.
    """
    on_purpose = issubclass(getattr(errors, kind, Exception), errors.LoopwrightError)
    return f"{kind}: {message}" if on_purpose else f"{kind}: the log says more"


def brief(value: Any) -> Any:
    """A value of the state as plain JSON, records by id, title and score alone."""
    if isinstance(value, schemas.Found):
        return {"id": value.record.id, "title": value.record.title, "score": round(value.score, 3)}
    if isinstance(value, schemas.Record):
        return {"id": value.id, "title": value.title}
    if isinstance(value, schemas.SearchOutcome | schemas.ChatResult):
        return {name: brief(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(key): brief(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [brief(item) for item in value]
    return to_jsonable_python(value, fallback=str)
