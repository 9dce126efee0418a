"""Checkpoints in SQLite: LangGraph's own savers, with what is large in a table of its own.

LangGraph's savers for memory and PostgreSQL keep a value once for each version of its channel; those for SQLite write
the whole state at each step. Here these do as the others: a value from some size on is kept under its version, in the
same transaction as the checkpoint that needs it, and the checkpoint says which of its values are kept so.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Collection, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from loopwright.checkpoints.archive import ONE, THREADS, Archive
from loopwright.errors import CheckpointError

logger = logging.getLogger(__name__)

TABLE = "loopwright_values"

CREATE = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
        thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL, channel TEXT NOT NULL, version TEXT NOT NULL,
        type TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
    )
"""

LARGE = 512
"""From how many bytes on a value is kept apart."""

_APART = "loopwright_apart"
"""The key of a checkpoint that names the channels whose values are kept apart."""

_PUT = f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = f"DELETE FROM {TABLE} WHERE thread_id = ?"
_MOST_KNOWN = 100_000

Row = tuple[str, str, str, str, str, bytes]


class Apart:
    """Which values of checkpoints stand in the table, for one saver."""

    def __init__(self) -> None:
        self._there: set[tuple[str, ...]] = set()

    def taken(
        self, serde: SerializerProtocol, config: RunnableConfig, checkpoint: Checkpoint, new: ChannelVersions
    ) -> tuple[Checkpoint, list[Row]]:
        """A checkpoint without its large values, and the rows of those that are not in the table yet."""
        place = config.get("configurable", {})
        values, rows, apart = dict(checkpoint["channel_values"]), list[Row](), list[str]()
        for name, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(name)
            if version is None or value is None or isinstance(value, bool | int | float):
                continue
            key = (str(place["thread_id"]), str(place.get("checkpoint_ns", "")), name, str(version))
            if name in new or key not in self._there:
                typed = serde.dumps_typed(value)
                if len(typed[1]) < LARGE:
                    continue
                rows.append((*key, *typed))
            apart.append(name)
            del values[name]
        return cast("Checkpoint", {**checkpoint, "channel_values": values, _APART: apart}), rows

    def kept(self, rows: Iterable[Row]) -> None:
        """Take note that rows stand in the table."""
        if len(self._there) > _MOST_KNOWN:
            self._there.clear()
        self._there.update(row[:4] for row in rows)

    def forget(self, thread_id: str) -> None:
        """Take nothing of a thread for kept any more."""
        self._there = {key for key in self._there if key[0] != thread_id}


def _wanted(found: CheckpointTuple | None) -> tuple[str, list[str]] | None:
    """The query for the values of a checkpoint that are kept apart, with its parameters; None if there are none."""
    names: list[str] = cast("Any", found.checkpoint).get(_APART, []) if found else []
    if found is None or not names:
        return None
    place = found.config.get("configurable", {})
    versions = found.checkpoint["channel_versions"]
    parameters = [str(place["thread_id"]), str(place.get("checkpoint_ns", ""))]
    parameters += [text for name in names for text in (name, str(versions[name]))]
    marks = ", ".join(["(?, ?)"] * len(names))
    query = f"SELECT channel, type, value FROM {TABLE} WHERE thread_id = ? AND checkpoint_ns = ?"
    return f"{query} AND (channel, version) IN (VALUES {marks})", parameters


def _filled(serde: SerializerProtocol, found: CheckpointTuple, rows: Iterable[Any]) -> CheckpointTuple:
    """A checkpoint with its values in it.

    Raises:
        CheckpointError: If one is missing.
    """
    checkpoint: dict[str, Any] = {**found.checkpoint}
    names = checkpoint.pop(_APART)
    values = {channel: serde.loads_typed((kind, value)) for channel, kind, value in rows}
    if missing := [name for name in names if name not in values]:
        raise CheckpointError(
            f"a part of the checkpoint {checkpoint['id']} is missing: {', '.join(map(repr, missing))} is not in the "
            f"table {TABLE}. Copy the file from a backup, or go on from another step."
        )
    checkpoint["channel_values"] = {**checkpoint["channel_values"], **values}
    return found._replace(checkpoint=cast("Checkpoint", checkpoint))


class KeptSqliteSaver(SqliteSaver, Archive):
    """LangGraph's saver, with large values kept once."""

    def __init__(self, connection: sqlite3.Connection, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self._apart = Apart()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        bare, rows = self._apart.taken(self.serde, config, checkpoint, new_versions)
        with self.lock:
            self.conn.executemany(_PUT, rows)
        saved = super().put(config, bare, metadata, new_versions)
        self._apart.kept(rows)
        return saved

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        found = super().get_tuple(config)
        with self.lock:
            return self._whole(found) if found else None

    def list(self, config: RunnableConfig | None, **which: Any) -> Iterator[CheckpointTuple]:
        """Read checkpoints, the newest first."""
        return map(self._whole, super().list(config, **which))

    def _whole(self, found: CheckpointTuple) -> CheckpointTuple:
        wanted = _wanted(found)
        return _filled(self.serde, found, self.conn.execute(*wanted).fetchall()) if wanted else found

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run."""
        with self.lock:
            self.conn.execute(CREATE)
            self.conn.execute(_DELETE, [str(thread_id)])
        super().delete_thread(str(thread_id))
        self._apart.forget(str(thread_id))

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has."""
        return dict(self.conn.execute(THREADS).fetchall())

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes and the values that only they had."""
        with self.lock, self.conn:
            self.conn.execute(CREATE)
            for table in ("writes", "checkpoints"):
                self.conn.executemany(
                    f"DELETE FROM {table} WHERE {ONE.format('?')}", [(thread_id, *key) for key in dropped]
                )
            for row in self._unused(thread_id):
                self.conn.execute(f"DELETE FROM {TABLE} WHERE rowid = ?", [row])
        self._apart.forget(thread_id)

    def _unused(self, thread_id: str) -> Iterator[int]:
        """The rows of a thread that no checkpoint needs, but for those of a save under way: newer than all others."""
        query = "SELECT checkpoint_ns, type, checkpoint FROM checkpoints WHERE thread_id = ?"
        left = [
            (space, self.serde.loads_typed((kind, data))) for space, kind, data in self.conn.execute(query, [thread_id])
        ]
        needed = {
            (space, name, str(its))
            for space, checkpoint in left
            for name, its in checkpoint["channel_versions"].items()
        }
        query = f"SELECT rowid, checkpoint_ns, channel, version FROM {TABLE} WHERE thread_id = ? ORDER BY rowid DESC"
        settled = False
        for row, *key in self.conn.execute(query, [thread_id]).fetchall():
            if tuple(key) in needed:
                settled = True
            elif settled:
                yield row

    def compact(self) -> None:
        """Give room that is free back to the disk, if no other process keeps the file locked."""
        try:
            self.conn.execute("VACUUM")
            self.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as problem:
            logger.warning("the database was not made smaller (%s)", problem)

    get_delta_channel_history = BaseCheckpointSaver.get_delta_channel_history


class AsyncKeptSqliteSaver(AsyncSqliteSaver):
    """The same for asynchronous calls."""

    def __init__(self, connection: Any, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self._apart = Apart()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        bare, rows = self._apart.taken(self.serde, config, checkpoint, new_versions)
        async with self.lock:
            await self.conn.executemany(_PUT, rows)
        saved = await super().aput(config, bare, metadata, new_versions)
        self._apart.kept(rows)
        return saved

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        found = await super().aget_tuple(config)
        async with self.lock:
            return await self._whole(found) if found else None

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:
        """Read checkpoints, the newest first."""
        async for found in super().alist(config, **which):
            yield await self._whole(found)

    async def _whole(self, found: CheckpointTuple) -> CheckpointTuple:
        wanted = _wanted(found)
        return _filled(self.serde, found, await self.conn.execute_fetchall(*wanted)) if wanted else found

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a run."""
        async with self.lock:
            await self.conn.execute(_DELETE, [str(thread_id)])
        await super().adelete_thread(str(thread_id))
        self._apart.forget(str(thread_id))

    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history


@contextlib.contextmanager
def sqlite_problems(path: Path) -> Generator[None, None, None]:
    """Say in one message what is wrong with a database file; nothing is changed in it."""
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        raise CheckpointError(
            f"the checkpoint database {path} cannot be used ({problem}). Name an SQLite database or a new file, which "
            "you may write to and no other process keeps locked."
        ) from problem
