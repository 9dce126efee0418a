"""What a saver can do beyond LangGraph's own: serve asynchronous calls, and refuse an earlier attempt's.

An attempt of a run that is numbered has its number in the configuration, under `EPOCH`; LangGraph keeps it in the
metadata of each checkpoint. A trigger compares it with the newest attempt that began, in the transaction that would
keep the checkpoint. What has no number is let through; of a run that was deleted no attempt is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, NoReturn, Self, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from loopwright.engine.langgraph_private import begin_ids_after
from loopwright.errors import CheckpointError, StoreError

WAIT = 30.0
"""Seconds for which a save waits for a database that is gone, or that another process keeps locked."""

PAGE = 50
"""So many checkpoints of a list are read at once."""

T = TypeVar("T")

EPOCH = "loopwright_epoch"
"""The key of the configuration, and of a checkpoint's metadata."""

ATTEMPTS = "loopwright_attempts"

SQLITE = f"""
    CREATE TABLE IF NOT EXISTS {ATTEMPTS} (thread_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL);
    CREATE TRIGGER IF NOT EXISTS loopwright_fence_2 BEFORE INSERT ON checkpoints
    WHEN coalesce((SELECT epoch FROM {ATTEMPTS} WHERE thread_id = NEW.thread_id), {2**62}) > CASE
        WHEN json_valid(CAST(NEW.metadata AS TEXT)) THEN json_extract(CAST(NEW.metadata AS TEXT), '$.{EPOCH}') END
    BEGIN SELECT RAISE(ROLLBACK, 'a later attempt of this run began, or it was deleted'); END;
"""
"""What makes the table and the trigger in SQLite; the failed transaction is taken back, so that it locks nobody out."""

POSTGRES = f"""
    CREATE TABLE IF NOT EXISTS {ATTEMPTS} (thread_id text PRIMARY KEY, epoch bigint NOT NULL);
    CREATE OR REPLACE FUNCTION loopwright_fence_2() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE newest bigint;
    BEGIN
        SELECT epoch INTO newest FROM {ATTEMPTS} WHERE thread_id = NEW.thread_id FOR SHARE;
        IF coalesce(newest, {2**62}) > (NEW.metadata ->> '{EPOCH}')::bigint THEN
            RAISE EXCEPTION 'a later attempt of this run began, or it was deleted';
        END IF;
        RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER loopwright_fence BEFORE INSERT ON checkpoints
        FOR EACH ROW EXECUTE FUNCTION loopwright_fence_2();
"""
"""The same in PostgreSQL (14 or newer)."""

BEGIN = (
    f"INSERT INTO {ATTEMPTS} (thread_id, epoch) VALUES (%s, %s) ON CONFLICT (thread_id) DO UPDATE SET epoch ="
    f" CASE WHEN excluded.epoch > {ATTEMPTS}.epoch OR excluded.epoch = 0 THEN excluded.epoch ELSE {ATTEMPTS}.epoch END"
)
"""Notes that an attempt begins: the thread, and the attempt's number."""


class CheckpointsAway(StoreError):
    """The database of the checkpoints cannot be reached for now: what needs them can go on once it is back."""


def _awaited(name: str) -> Any:
    """The asynchronous method for a synchronous one, which it makes in a thread; LangGraph reads its signature."""

    @wraps(getattr(BaseCheckpointSaver, name))
    async def call(self: Archive, *arguments: Any, **named: Any) -> Any:
        return await self.in_thread(partial(getattr(self, name), *arguments, **named))

    return call


def _pages(
    read: Callable[..., Iterable[CheckpointTuple]],
    config: RunnableConfig | None,
    *,
    before: RunnableConfig | None = None,
    limit: int | None = None,
    **which: Any,
) -> Iterator[Callable[[], Sequence[CheckpointTuple]]]:
    """The calls that read a list of checkpoints, each of which may be made again: one, or one for each page."""
    whole = config is None or "checkpoint_ns" not in config.get("configurable", {})
    page: list[CheckpointTuple] = []

    def next_page() -> Sequence[CheckpointTuple]:
        most = limit if whole else min(PAGE, limit or PAGE)
        page[:] = read(config, before=before, limit=most, **which)
        return page

    while limit is None or limit > 0:
        yield next_page
        if whole or len(page) < PAGE:
            return
        before, limit = page[-1].config, None if limit is None else limit - len(page)


class Archive(BaseCheckpointSaver[str]):
    """A saver whose asynchronous calls are its synchronous ones, each in a thread of a pool.

    A saver of LangGraph's comes behind it in a class's bases, so that these come before those.
    """

    workers: ThreadPoolExecutor | None = None
    """The threads of its asynchronous calls; None takes those of the event loop."""

    def __enter__(self) -> Self:
        # One connection, one thread: who waits for the database takes no thread from anybody else.
        self.workers = ThreadPoolExecutor(1, "checkpoints")
        return self

    def __exit__(self, *problem: object) -> None:
        if self.workers:
            self.workers.shutdown(wait=False, cancel_futures=True)
        self.workers = None

    def close(self, place: Any) -> None:
        """Refuse all calls from now on: where the checkpoints are, nobody can read or write any more."""

        def closed(*_arguments: Any, **_named: Any) -> NoReturn:
            raise CheckpointError(f"the checkpoints in {place} are closed: run the graph in the `with` that opens them")

        for name in ("get_tuple", "get_delta_channel_history", "list", "put", "put_writes", "delete_thread", "fence"):
            setattr(self, name, closed)

    def fence(self, thread_id: str, epoch: int) -> None:
        """Refuse what an earlier attempt of a run would save, where other processes could."""

    async def in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a synchronous call without holding up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, call, *arguments)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint; what is saved from now on counts as newer."""
        found = super().get_tuple(config)
        if found:
            begin_ids_after(found.checkpoint["id"])
        return found

    def page(self, config: RunnableConfig | None, **which: Any) -> Sequence[CheckpointTuple]:
        """Read checkpoints, all of them now: LangGraph's own list holds the lock until the last is read."""
        return [*super().list(config, **which)]

    def list(self, config: RunnableConfig | None, **which: Any) -> Iterator[CheckpointTuple]:
        """Read checkpoints, the newest first; those of one graph in a run a page at a time."""
        for read in _pages(self.page, config, **which):
            yield from read()

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:
        """Read checkpoints; see `list`."""
        for read in _pages(self.list, config, **which):
            for found in await self.in_thread(read):
                yield found

    aget_tuple = _awaited("get_tuple")
    aget_delta_channel_history = _awaited("get_delta_channel_history")
    aput = _awaited("put")
    aput_writes = _awaited("put_writes")
    adelete_thread = _awaited("delete_thread")


async def fence(saver: BaseCheckpointSaver[Any], thread_id: str, epoch: int) -> None:
    """Refuse from now on what an earlier attempt would save.

    Args:
        saver: One that `open_checkpointer` gave; those for memory and JSON serve one process, and are not fenced.
        thread_id: The run.
        epoch: The attempt that begins; 0 for a new run.
    """
    if isinstance(saver, Archive):
        await saver.in_thread(saver.fence, thread_id, epoch)
