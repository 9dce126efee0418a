"""A run's kept events as the streams that LangGraph's clients read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from loopwright.runs.schemas import KeptEvent, RunRecord
from loopwright.server.agent_api.threads import Threads, asked_of, ended_well
from loopwright.server.answering import end_of
from loopwright.server.sse import followed

Mode = Literal["values", "updates", "messages", "messages-tuple", "custom"]
"""What a client may ask for."""


def sse(event: str, data: Any) -> bytes:
    """One event as it goes over the wire."""
    return format_sse_event(data_str=json.dumps(data, separators=(",", ":")), event=event)


async def frames(
    threads: Threads, modes: Sequence[Mode], cancel: bool, record: RunRecord, after: int = 0
) -> AsyncGenerator[bytes]:
    """What happens in a run from here on, until it ends.

    Args:
        threads: Knows the runs and their states.
        modes: What the client asked for.
        cancel: Whether the run is cancelled when the client leaves.
        record: The run.
        after: The number of the last event that belongs to an earlier part of the run.
    """
    yield sse("metadata", {"run_id": record.id, "attempt": 1})
    context, messages = threads.context, Messages(record.id)
    async for events in followed(context, record.id, "run", after, cancel=cancel):
        for kept in events:
            async for frame in _of_event(threads, record, modes, messages, kept):
                yield frame
        if not events:
            yield KEEPALIVE_COMMENT
    last = await context.hub.known(record.id)
    if last.asked:
        if "updates" in modes:
            yield sse("updates", {"__interrupt__": asked_of(last)})
        if "values" in modes:
            yield sse("values", await threads.last(last))
    elif not ended_well(last):
        yield sse("error", failure(last))
    yield sse("end", None)


async def waited(threads: Threads, cancel: bool, record: RunRecord, _before: int = 0) -> AsyncGenerator[bytes]:
    """What a run ended with, in JSON, and spaces until then: nobody between here and the client gives it up."""
    hub = threads.context.hub
    known = await hub.store.aside(hub.store.count, record.id)
    async for _ in followed(threads.context, record.id, "run", known, cancel=cancel):
        yield b" "
    last = await hub.known(record.id)
    values = await threads.last(last) if ended_well(last) else {"__error__": failure(last)}
    yield json.dumps(values, separators=(",", ":")).encode()


def failure(record: RunRecord) -> dict[str, str]:
    """How a run ended that failed."""
    return {"error": record.error_type or record.status, "message": end_of(record)}


async def _of_event(
    threads: Threads, record: RunRecord, modes: Sequence[Mode], messages: Messages, kept: KeptEvent
) -> AsyncGenerator[bytes]:
    name, event = kept.name, json.loads(kept.data)
    messages.ended(event)
    if name == "state" and ("values" in modes or "updates" in modes):
        updates, values = await threads.steps(record, event["checkpoint_id"])
        for update in updates if "updates" in modes else ():
            yield sse("updates", update)
        if values is not None and "values" in modes:
            yield sse("values", values)
    elif name == "text":
        id, text = messages.write(event, kept.seq)
        if "messages-tuple" in modes:
            message = {"type": "AIMessageChunk", "id": id, "content": event["text"]}
            yield sse("messages", [message, {"langgraph_node": event["node"], "run_id": record.id}])
        if "messages" in modes:
            yield sse("messages/partial", [{"type": "ai", "id": id, "content": text}])
    elif "custom" in modes and name == "told" and "custom" in event["data"]:
        yield sse("custom", event["data"]["custom"])
    elif "custom" in modes and name in ("loop", "budget"):
        yield sse("custom", event)


class Messages:
    """The messages that the visits of a run write; those of visits at the same time are written at the same time."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._going: dict[str, tuple[str, str]] = {}
        """Visit -> the id of the message that it writes, and what there is of it."""

    def write(self, event: Mapping[str, Any], number: int | str) -> tuple[str, str]:
        """Take in a piece: the id of its message, which the number of the first piece's event makes, and its text."""
        visit = _visit(event)
        id, before = self._going.get(visit, (f"{self._run_id}-{number}", ""))
        self._going[visit] = id, before + event["text"]
        return self._going[visit]

    def ended(self, event: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The messages that end with an event: a visit writes one in each attempt, up to each visit within it."""
        if event["type"] not in ("node_started", "node_finished", "node_retried", "node_gave_up"):
            return []
        visits = (_visit(event), event["node"], event.get("within"))
        return [self._going.pop(each) for each in visits if each in self._going]

    def rest(self) -> list[tuple[str, str]]:
        """The messages that no event has ended."""
        return [self._going.pop(visit) for visit in [*self._going]]


def _visit(event: Mapping[str, Any]) -> str:
    """The innermost visit that an event belongs to; its node, where that is not known."""
    return event.get("task_id") or [event["node"], *event.get("tasks", ())][-1]
