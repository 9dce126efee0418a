"""What checkpoints tell about a run, without the graph that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

from langgraph.checkpoint.base import CheckpointTuple

from loopwright.checkpoints.archive import Archive
from loopwright.engine.gate import is_engine_node
from loopwright.engine.langgraph_private import AHEAD
from loopwright.engine.ledger import LEDGER, OF_THE_RUN, STOP_REASON
from loopwright.errors import UnknownNameError

Status = Literal["finished", "interrupted", "failed", "unfinished"]

_JOIN = "join:"
_SENDS = "__pregel_tasks"
_START = "__start__"


@dataclass(frozen=True)
class ThreadSummary:
    """One thread at a glance."""

    id: str
    """The thread."""
    checkpoints: int
    """How many checkpoints the graph itself has."""
    step: int
    """The number of its last step; the input is step -1."""
    status: Status
    """How the run stands; a run that is going on or was killed is ``unfinished``."""
    next: list[str]
    """The nodes of the next step."""
    loops: dict[str, Any]
    """The ledger: what each loop has spent."""
    stop_reason: Any
    """Which bound was reached, if one was."""
    time: str
    """When the last checkpoint was made; ISO 8601."""

    @property
    def when(self) -> datetime:
        """When the last checkpoint was made."""
        return datetime.fromisoformat(self.time)


def summaries(archive: Archive) -> list[ThreadSummary]:
    """Summarise all threads, the one that was saved last first."""
    found = [summary for stored in archive.threads().items() if (summary := _summary(archive, *stored))]
    return sorted(found, key=lambda summary: summary.time, reverse=True)


def _summary(archive: Archive, thread_id: str, checkpoints: int) -> ThreadSummary | None:
    last = archive.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    if last is None:
        return None
    values: dict[str, Any] = last.checkpoint["channel_values"]
    return ThreadSummary(
        id=thread_id,
        checkpoints=checkpoints,
        step=last.metadata.get("step", -1),
        status=status(last),
        next=next_nodes(last),
        loops=ledger_of(last),
        stop_reason=values.get(STOP_REASON),
        time=last.checkpoint["ts"],
    )


def find_thread(archive: Archive, thread_id: str) -> None:
    """Make sure that a thread exists.

    Raises:
        UnknownNameError: If it does not; names the nearest.
    """
    if archive.get_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}) is None:
        raise UnknownNameError("thread", thread_id, [*archive.threads()])


def ledger_of(checkpoint: CheckpointTuple) -> dict[str, Any]:
    """Give what each loop has spent."""
    ledger: dict[str, Any] = checkpoint.checkpoint["channel_values"].get(LEDGER) or {}
    return {loop: spend for loop, spend in ledger.items() if loop != OF_THE_RUN}


def status(last: CheckpointTuple) -> Status:
    """Say how a run stands, from its newest checkpoint."""
    written = {channel for _, channel, _ in last.pending_writes or ()}
    if "__error__" in written:
        return "failed"
    if "__interrupt__" in written:
        return "interrupted"
    return "unfinished" if next_nodes(last) else "finished"


def next_nodes(checkpoint: CheckpointTuple) -> list[str]:
    """Say which nodes the next step runs: those whose trigger holds something that they have not seen."""
    content = checkpoint.checkpoint
    values: dict[str, Any] = content["channel_values"]
    seen: Mapping[str, Mapping[str, Any]] = content["versions_seen"]
    found: list[str] = []
    for channel, value in values.items():
        if channel == _SENDS:
            found += [str(send[0]) for send in cast("list[Any]", value or ())]
            continue
        node = _triggered(channel, value)
        if node is not None and seen.get(node, {}).get(channel) != content["channel_versions"].get(channel):
            found.append(node)
    return sorted(set(found))


def _triggered(channel: str, value: Any) -> str | None:
    """Give the node that a channel would start, if it holds all that the node waits for."""
    if channel == _START:
        return _START
    if channel.startswith(AHEAD):
        return channel.removeprefix(AHEAD)
    if channel.startswith(_JOIN):
        sources, _, node = channel.removeprefix(_JOIN).rpartition(":")
        return node if set(sources.split("+")) <= set(cast("list[str]", value or ())) else None
    return None


def without_engine_nodes(nodes: list[str]) -> list[str]:
    """Leave the engine's own nodes out, unless there are no others."""
    return [node for node in nodes if not is_engine_node(node)] or nodes
