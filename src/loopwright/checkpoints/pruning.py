"""Take away old checkpoints, and the values that only they had.

Of each thread the newest checkpoints stay, with their pending writes and with what their subgraphs saved, so the run
can be resumed. A channel that LangGraph rebuilds from the writes of older checkpoints (``DeltaChannel``) keeps those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from loopwright.checkpoints.archive import Archive
from loopwright.checkpoints.history import ThreadSummary, summaries
from loopwright.checkpoints.opening import open_archive
from loopwright.engine.langgraph_private import AHEAD
from loopwright.engine.ledger import STOP_REASON

_REBUILT_BY_STEPS = (AHEAD, "join:", "__", STOP_REASON)
"""How the channels begin that are empty because a step used them up or emptied them, not because they are rebuilt from
writes."""


@dataclass(frozen=True)
class ThreadPlan:
    """What is to become of one thread."""

    thread: ThreadSummary
    """The thread as it is."""
    whole: bool
    """Whether all of it goes."""
    dropped: frozenset[tuple[str, str]]
    """The checkpoints that go, by namespace and id; empty if all of it goes."""


@dataclass(frozen=True)
class Pruned:
    """What was taken away."""

    threads: int
    """Threads that are gone."""
    checkpoints: int
    """Checkpoints of other threads that are gone."""


def plan(
    archive: Archive,
    *,
    keep: int | None = None,
    older_than: timedelta | None = None,
    thread_id: str | None = None,
) -> list[ThreadPlan]:
    """Say of which threads pruning would take something away.

    Args:
        archive: What has been saved.
        keep: How many of the newest checkpoints stay of each thread.
        older_than: Threads go whose newest checkpoint is older.
        thread_id: Only this thread.
    """
    oldest = datetime.now(UTC) - older_than if older_than is not None else None
    plans: list[ThreadPlan] = []
    for thread in summaries(archive):
        if thread_id is not None and thread.id != thread_id:
            continue
        if oldest is not None and thread.when < oldest:
            plans.append(ThreadPlan(thread, True, frozenset()))
        elif keep is not None and (dropped := _dropped(archive, thread.id, keep)):
            plans.append(ThreadPlan(thread, False, dropped))
    return plans


def prune(archive: Archive, plans: Iterable[ThreadPlan]) -> Pruned:
    """Take away what was planned, and make the files smaller.

    Raises:
        CheckpointError: If something cannot be read or written.
    """
    threads, checkpoints = 0, 0
    for item in plans:
        if item.whole:
            archive.delete_thread(item.thread.id)
            threads += 1
        else:
            archive.delete_checkpoints(item.thread.id, item.dropped)
            checkpoints += len(item.dropped)
    archive.compact()
    return Pruned(threads, checkpoints)


def forget(spec: str, threads: Collection[str]) -> None:
    """Take whole threads away; others may be saving meanwhile.

    Raises:
        ConfigError: If `spec` is no place of checkpoints.
        CheckpointError: If nothing is there, or it cannot be read or written.
    """
    with open_archive(spec) as archive:
        for thread_id in threads:
            archive.delete_thread(thread_id)


def _dropped(archive: Archive, thread_id: str, keep: int) -> frozenset[tuple[str, str]]:
    """Say which checkpoints of a thread can go if some of the newest stay."""
    items = {(_namespace(item), item.checkpoint["id"]): item for item in _listed(archive, thread_id)}
    kept: set[tuple[str, str]] = set()
    counts: dict[str, int] = {}
    for key in items:  # the newest of each namespace first; a subgraph that keeps its state has a namespace for good
        counts[key[0]] = counts.get(key[0], 0) + 1
        if counts[key[0]] <= keep and _lasts(key[0]):
            kept.add(key)
    roots = {checkpoint_id for namespace, checkpoint_id in kept if not namespace}
    kept |= {key for key, item in items.items() if key[0] and _root(item) in roots}
    for key in [*kept]:
        kept |= _rebuilt_from(items, key)
    return frozenset(items.keys() - kept)


def _listed(archive: Archive, thread_id: str) -> list[CheckpointTuple]:
    found = [*archive.list({"configurable": {"thread_id": thread_id}})]
    return sorted(found, key=lambda item: item.checkpoint["id"], reverse=True)


def _namespace(item: CheckpointTuple) -> str:
    return item.config.get("configurable", {}).get("checkpoint_ns", "")


def _lasts(namespace: str) -> bool:
    """Say whether a namespace belongs to no single task: the graph itself, or a subgraph with ``checkpointer=True``."""
    return ":" not in namespace


def _root(item: CheckpointTuple) -> str | None:
    """Give the checkpoint of the graph itself in whose step a subgraph's checkpoint was made."""
    parents: dict[str, Any] = item.metadata.get("parents") or {}
    return parents.get("")


def _rebuilt_from(items: dict[tuple[str, str], CheckpointTuple], key: tuple[str, str]) -> set[tuple[str, str]]:
    """Give the older checkpoints from whose writes LangGraph rebuilds channels of this one."""
    wanted = _without_value(items[key])
    found: set[tuple[str, str]] = set()
    passed: set[tuple[str, str]] = set()
    while wanted:
        parent = items[key].parent_config
        key = key[0], (parent or {}).get("configurable", {}).get("checkpoint_id", "")
        if key not in items or key in passed:
            break
        passed.add(key)
        if wanted & {channel for _, channel, _ in items[key].pending_writes or ()}:
            found |= passed
        wanted -= items[key].checkpoint["channel_values"].keys()
    return found


def _without_value(item: CheckpointTuple) -> set[str]:
    """Give the channels that were written at some time but have no value in the checkpoint itself."""
    names = item.checkpoint["channel_versions"].keys() - item.checkpoint["channel_values"].keys()
    return {name for name in names if not name.startswith(_REBUILT_BY_STEPS)}
