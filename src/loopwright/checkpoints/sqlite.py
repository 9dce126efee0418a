"""Checkpoints in SQLite: LangGraph's own saver, with what is large in a table of its own.

LangGraph's savers for memory and PostgreSQL keep a value once for each version of its channel; that for SQLite writes
the whole state at each step. Here it does as the others: a value from some size on is kept under its version, in the
same transaction as the checkpoint that needs it, and the checkpoint says which of its values are kept so.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from loopwright.checkpoints.archive import ATTEMPTS, BEGIN, SQLITE, WAIT, Archive
from loopwright.errors import CheckpointError

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

_MOST_KNOWN = 100_000


class KeptSqliteSaver(Archive, SqliteSaver):
    """LangGraph's saver, with large values kept once."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, serde: SerializerProtocol) -> None:
        SqliteSaver.__init__(self, connection, serde=serde)
        self.path = path
        self.lock = threading.RLock()  # who holds it calls what takes it too
        self._there: set[tuple[str, ...]] = set()

    @contextlib.contextmanager
    def cursor(self, transaction: bool = True) -> Generator[sqlite3.Cursor]:
        """LangGraph's way to the database; of what goes wrong with the file, its name is told."""
        with sqlite_problems(self.path, sqlite3.OperationalError), SqliteSaver.cursor(self, transaction) as cursor:
            yield cursor

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, without its large values, and those of them that are not in the table yet."""
        place = config.get("configurable", {})
        values, apart = dict(checkpoint["channel_values"]), list[str]()
        rows: dict[tuple[str, ...], tuple[str, bytes]] = {}
        for name, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(name)
            if version is None or value is None or isinstance(value, bool | int | float):
                continue
            key = (str(place["thread_id"]), str(place.get("checkpoint_ns", "")), name, str(version))
            if name in new_versions or key not in self._there:
                typed = self.serde.dumps_typed(value)
                if len(typed[1]) < LARGE:
                    continue
                rows[key] = typed
            apart.append(name)
            del values[name]
        bare = cast("Checkpoint", {**checkpoint, "channel_values": values, _APART: apart})
        with self.lock, self.conn:  # a save that fails is taken back: left open, it would lock others out
            put = f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)"
            with self.cursor(transaction=False) as cursor:
                cursor.executemany(put, [(*key, *typed) for key, typed in rows.items()])
            saved = SqliteSaver.put(self, config, bare, metadata, new_versions)
        if len(self._there) > _MOST_KNOWN:
            self._there.clear()
        self._there |= rows.keys()
        return saved

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        found = super().get_tuple(config)
        with self.lock:
            return self._whole(found) if found else None

    def page(self, config: RunnableConfig | None, **which: Any) -> Sequence[CheckpointTuple]:
        """Read checkpoints, all of them now."""
        with self.lock:
            return [*map(self._whole, super().page(config, **which))]

    def _whole(self, found: CheckpointTuple) -> CheckpointTuple:
        """A checkpoint with its values in it.

        Raises:
            CheckpointError: If one is missing.
        """
        checkpoint: dict[str, Any] = {**found.checkpoint}
        names: list[str] = checkpoint.pop(_APART, [])
        place = found.config.get("configurable", {})
        named = [str(place["thread_id"]), str(place.get("checkpoint_ns", ""))]
        where = "thread_id = ? AND checkpoint_ns = ? AND channel = ? AND version = ?"
        query = f"SELECT type, value FROM {TABLE} WHERE {where}"
        values: dict[str, Any] = dict(checkpoint["channel_values"])
        for name in names:
            with self.cursor(transaction=False) as cursor:
                row = cursor.execute(query, [*named, name, str(checkpoint["channel_versions"][name])]).fetchone()
            if row is None:
                raise CheckpointError(
                    f"a part of the checkpoint {checkpoint['id']} is missing: {name!r} is not in the table {TABLE}. "
                    "Copy the file from a backup, or go on from another step."
                )
            values[name] = self.serde.loads_typed(row)
        checkpoint["channel_values"] = values
        return found._replace(checkpoint=cast("Checkpoint", checkpoint))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run."""
        with self.lock, self.conn:
            with self.cursor(transaction=False) as cursor:
                for table in (TABLE, ATTEMPTS):
                    cursor.execute(f"DELETE FROM {table} WHERE thread_id = ?", [str(thread_id)])
            SqliteSaver.delete_thread(self, str(thread_id))
        self._there.clear()

    def fence(self, thread_id: str, epoch: int) -> None:
        """Refuse what an earlier attempt of a run would save."""
        with self.lock, self.conn:
            self.conn.execute(BEGIN.replace("%s", "?"), [thread_id, epoch])

    # LangGraph's own for SQLite reads the rows, which do not hold all.
    get_delta_channel_history: Any = Archive.get_delta_channel_history


@contextlib.contextmanager
def open_saver(path: Path, serde: SerializerProtocol) -> Generator[KeptSqliteSaver]:
    """Open a database; the folder and the tables that are missing are made."""
    with sqlite_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # The saver has a lock of its own, and LangGraph saves from its worker threads.
        connection = sqlite3.connect(path, WAIT, check_same_thread=False)
    saver = KeptSqliteSaver(connection, path, serde=serde)
    try:
        with sqlite_problems(path):
            saver.setup()
            connection.executescript(f"{CREATE}; {SQLITE}")
        with saver:
            yield saver
    finally:
        # A thread may still be saving for a run that was cancelled: SQLite crashes when a connection in use is closed.
        with saver.lock:
            saver.close(path)
            connection.close()


@contextlib.contextmanager
def sqlite_problems(path: Path, kind: type[Exception] = sqlite3.Error) -> Generator[None]:
    """Say in one message what is wrong with a database file; nothing is changed in it."""
    try:
        yield
    except (OSError, kind) as problem:
        raise CheckpointError(
            f"the checkpoint database {path} cannot be used ({problem}). Name an SQLite database or a new file, which "
            "you may write to and no other process keeps locked."
        ) from problem
