"""A run's kept events as the streams that LangGraph's clients read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Literal

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from loopwright.runs.schemas import RunRecord
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
    context, writer = threads.context, _Text(record.id)
    async for events in followed(context, record.id, "run", after, cancel=cancel):
        for kept in events:
            async for frame in _of_event(threads, record, modes, writer, kept.name, json.loads(kept.data)):
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
    threads: Threads, record: RunRecord, modes: Sequence[Mode], writer: _Text, name: str, event: Mapping[str, Any]
) -> AsyncGenerator[bytes]:
    if name == "state" and ("values" in modes or "updates" in modes):
        updates, values = await threads.steps(record, event["checkpoint_id"])
        for update in updates if "updates" in modes else ():
            yield sse("updates", update)
        if values is not None and "values" in modes:
            yield sse("values", values)
    elif name in ("node_started", "node_retried", "text"):
        for frame in writer.take(event, modes):
            yield frame
    elif "custom" in modes and name == "told" and "custom" in event["data"]:
        yield sse("custom", event["data"]["custom"])
    elif "custom" in modes and name in ("loop", "budget"):
        yield sse("custom", event)


class _Text:
    """Makes messages of the pieces that nodes write."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._begun: dict[str, tuple[int, int]] = {}
        self._written: dict[str, str] = {}

    def take(self, event: Mapping[str, Any], modes: Sequence[Mode]) -> Iterator[bytes]:
        node = event["node"]
        visit, attempt = self._begun.get(node, (1, 1))
        if event["type"] != "text":
            # Each visit writes a message of its own, and so does each further attempt of it.
            self._begun[node] = (event.get("visit", visit), event.get("attempt", 0) + 1)
            self._written.pop(node, None)
            return
        message = {"type": "AIMessageChunk", "id": f"{self._run_id}-{node}-{visit}-{attempt}", "content": event["text"]}
        about = {"langgraph_node": node, "run_id": self._run_id, "loopwright_visit": visit}
        if "messages-tuple" in modes:
            yield sse("messages", [message, about])
        if "messages" in modes:
            self._written[node] = self._written.get(node, "") + event["text"]
            yield sse("messages/partial", [{**message, "type": "ai", "content": self._written[node]}])
