"""Turns the engine's events into those that a client sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from loopwright import errors
from loopwright.engine.events.schema import (
    LoopDecided,
    NodeFinished,
    NodeGaveUp,
    NodeRetried,
    NodeStarted,
    RunEvent,
    TextStreamed,
)
from loopwright.models import UsageRecorder
from loopwright.models.usage import model_name
from loopwright.workflows.assistant.constants import GENERATE_ACKNOWLEDGMENT, REFLECT_AND_REPLAN
from loopwright.workflows.assistant.events import (
    Acknowledgment,
    ChatEvent,
    Chunk,
    LoopEvent,
    NodeEnd,
    NodeStart,
    NodeUsage,
    PipelineSummary,
    Progress,
    Thinking,
)
from loopwright.workflows.assistant.nodes import NODES
from loopwright.workflows.assistant.schemas import ChatResult, Found, Record, SearchOutcome, Summary, ThinkingUpdate
from loopwright.workflows.assistant.services import Services

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
        self._before: Counter[str | None] = Counter()
        self._tokens: Counter[str | None] = Counter()

    def translate(self, event: RunEvent) -> Iterator[ChatEvent]:
        """The client's events for one of the engine's."""
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
            self._visits[event.node] = event.visit
            yield self._start(event.node, event.at, asks=NODES[event.node].has_llm)
            if message := NODES[event.node].progress:
                yield Progress(node=event.node, message=message)
        elif isinstance(event, NodeRetried | NodeGaveUp):
            yield from self._begun_again(event)
        elif isinstance(event, NodeFinished):
            yield from self._finished(event)

    def _start(self, node: str, at: datetime, *, asks: bool) -> NodeStart:
        chat = self._services.chat(node) if asks else None
        self._open[node] = at, chat is not None
        return NodeStart(node=node, visit=self._visits[node], ts=at, model=model_name(chat) if chat else None)

    def _begun_again(self, event: NodeRetried | NodeGaveUp) -> Iterator[ChatEvent]:
        """An attempt failed; what it wrote so far is void."""
        reason = told_of(event.kind, event.message)
        if event.node in self._open:
            yield self._end(event.node, event.at, {"error": reason})
        gave_up = isinstance(event, NodeGaveUp)
        if gave_up:
            self._failed[event.node] = reason
        yield self._start(event.node, event.at, asks=not gave_up)

    def _finished(self, event: NodeFinished) -> Iterator[ChatEvent]:
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
            thoughts: list[ThinkingUpdate] = update.get("thinking_updates") or []
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
        total = self._usage.by_node().get(node)
        calls, tokens = (total.calls, total.total_tokens) if total else (0, 0)
        used = NodeUsage(calls=calls - self._before[node], tokens=tokens - self._tokens[node])
        self._before[node], self._tokens[node] = calls, tokens
        return used


def told_of(kind: str, message: str) -> str:
    """An exception as clients may know it.

    The message of what Loopwright raises on purpose is for people; any other may hold what is nobody's business.
    """
    on_purpose = issubclass(getattr(errors, kind, Exception), errors.LoopwrightError)
    return f"{kind}: {message}" if on_purpose else f"{kind}: the log says more"


def summary_of(result: ChatResult) -> PipelineSummary:
    """The summary of a run."""
    return PipelineSummary(**{name: getattr(result, name) for name in Summary.model_fields})


def brief(value: Any) -> Any:
    """A value of the state as plain JSON, records by id, title and score alone."""
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
