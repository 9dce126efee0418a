"""Large values in a table of the same SQLite file as the checkpoints, and in the same transactions.

LangGraph's savers turn a checkpoint into bytes, insert them, and commit. The pieces of its large values wait in memory
until that commit, which inserts them first: reference and value are on the disk together or not at all, and there is
one commit as before. The connection does this (`SqliteBlobs.joined`), so it works for the synchronous saver and for
aiosqlite, which commits in a thread of its own.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping
from pathlib import Path
from typing import Any

from loopwright.checkpoints.blobs import RecentlyPut
from loopwright.errors import CheckpointError

TABLE = "loopwright_blobs"

_CREATE = f"CREATE TABLE IF NOT EXISTS {TABLE} (hash BLOB PRIMARY KEY, used REAL NOT NULL, data BLOB NOT NULL)"
_PUT = f"INSERT INTO {TABLE} (hash, used, data) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET used = excluded.used"
_AT_ONCE = 500  # SQLite before 3.32 takes at most 999 parameters


class SqliteBlobs:
    """Keeps pieces in the table ``loopwright_blobs`` of an SQLite file."""

    def __init__(self, path: Path) -> None:
        """Name the file, which is opened when it is needed."""
        self._path = path
        self._recent = RecentlyPut()
        self._waiting: dict[bytes, bytes] = {}
        self._own: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"the table {TABLE} of {self._path}"

    def joined(self) -> type[sqlite3.Connection]:
        """Give a class for ``sqlite3.connect(..., factory=)``, whose commits insert the pieces that wait."""
        store = self

        class JoinedConnection(sqlite3.Connection):
            def commit(self) -> None:
                store.write(self, super().commit)

        return JoinedConnection

    def put(self, blobs: Mapping[bytes, bytes]) -> None:
        """Keep pieces until the saver's connection commits next."""
        with self._lock:
            self._waiting.update(self._recent.missing_from(blobs))

    def write(self, connection: sqlite3.Connection, commit: Callable[[], None]) -> None:
        """Insert the pieces that wait, and commit."""
        with self._lock:
            batch = {**self._waiting}
        if batch:
            now = time.time()
            connection.execute(_CREATE)
            connection.executemany(_PUT, [(key, now, data) for key, data in batch.items()])
        commit()
        if batch:
            self._recent.add(batch)
            with self._lock:
                for key in batch:
                    self._waiting.pop(key, None)

    def get(self, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Give pieces by their hash, also those that still wait."""
        wanted = [*hashes]
        with self._lock:
            found = {key: self._waiting[key] for key in wanted if key in self._waiting}
        with sqlite_problems(self._path):
            for start in range(0, len(wanted), _AT_ONCE):
                some = [key for key in wanted[start : start + _AT_ONCE] if key not in found]
                marks = ",".join("?" * len(some))
                found.update(self._rows(f"SELECT hash, data FROM {TABLE} WHERE hash IN ({marks})", some))
        return found

    def sizes(self, *, before: float | None = None) -> Mapping[bytes, int]:
        """Give how many bytes each piece has, by its hash."""
        latest = float("inf") if before is None else before
        with sqlite_problems(self._path):
            return dict(self._rows(f"SELECT hash, length(data) FROM {TABLE} WHERE used <= ?", [latest]))

    def delete(self, hashes: Collection[bytes], *, before: float) -> None:
        """Remove those pieces that were last put by some time."""
        if hashes:
            with self._lock, sqlite_problems(self._path):
                connection = self._opened()
                connection.executemany(
                    f"DELETE FROM {TABLE} WHERE hash = ? AND used <= ?", [(key, before) for key in hashes]
                )
                connection.commit()
            self._recent.forget(hashes)

    def close(self) -> None:
        """Close the connection for reading."""
        with self._lock:
            if self._own is not None:
                self._own.close()
                self._own = None

    def _rows(self, query: str, parameters: list[Any]) -> list[Any]:
        with self._lock:
            try:
                return self._opened().execute(query, parameters).fetchall()
            except sqlite3.OperationalError as problem:
                if "no such table" in str(problem):  # no large value was ever saved here
                    return []
                raise

    def _opened(self) -> sqlite3.Connection:
        """Give a connection of our own: the saver's may be busy in another thread."""
        if self._own is None:
            self._own = sqlite3.connect(self._path, check_same_thread=False)
        return self._own


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
