"""A run history in one SQLite file, or in memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event

from loopwright.errors import StoreError
from loopwright.runs.store.database import Database
from loopwright.runs.store.failures import explained

MEMORY = ":memory:"
"""SQLite's own name for a database in memory."""

_CONNECTIONS = 8
_BUSY = 5.0
_WAIT = 10.0


def open_file(path: str, create: bool) -> Database:
    """Find or make the file.

    Args:
        path: The file.
        create: Whether to make it, with its folders, if it is missing.

    Raises:
        StoreError: If it is missing or cannot be used.
    """
    file = Path(path).expanduser().absolute()
    name = f"the run history {file}"
    if file.is_dir():
        raise StoreError(f"{file} is a folder, not a run history: give the path of a file")
    if not file.exists():
        if not create:
            raise StoreError(
                f"there is no run history at {file}: run a workflow on the server first, or check the path"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {file.parent} cannot be made: {error.strerror}") from error
    try:
        with closing(_connect(str(file))) as connection:
            # The file remembers this. What holds tables already is ours and has it, or is not ours to change.
            if create and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise explained(error, name) from error
    return Database(_engine(str(file), _CONNECTIONS), name, lambda: _claimed(file))


def open_memory() -> Database:
    """Make a database that is gone when it is closed."""
    # Each connection to a database in memory has one of its own, so all threads take turns on one.
    return Database(_engine(MEMORY, 1), "the run history in memory")


def _claimed(file: Path) -> sqlite3.Connection | None:
    # A lock that the system gives back when its process ends, on every platform: that of a file beside the history.
    connection = sqlite3.connect(f"{file}.server", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise explained(error, f"the lock file {file}.server") from error
        return None
    return connection


def _connect(path: str) -> sqlite3.Connection:
    # Without isolation level, the driver begins no transactions of its own.
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    # With a write-ahead log, what was committed outlives the process; a power cut may cost the last transactions.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _engine(path: str, connections: int) -> Engine:
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=_WAIT,
        hide_parameters=True,
    )
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()["begin"])
