"""A database in one SQLite file, or in memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event

from loopwright.database.database import Database
from loopwright.database.failures import explained
from loopwright.errors import StoreError

MEMORY = ":memory:"
"""SQLite's own name for a database in memory."""

_CONNECTIONS = 8
BUSY = 10.0
"""Seconds to wait for another process that writes."""
_WAIT = 10.0


def open_file(
    path: str | Path,
    create: bool,
    *,
    holds: str,
    missing: str,
    one_server: bool = False,
) -> Database:
    """Find or make the file.

    Args:
        path: The file.
        create: Whether to make it, with its folders, if it is missing.
        holds: What the file holds, for messages: "a run history".
        missing: What to do where it is missing.
        one_server: Whether only one server may have it.

    Raises:
        StoreError: If it is missing or cannot be used.
    """
    file = Path(path).expanduser().absolute()
    name = f"{holds.replace('a ', 'the ', 1)} {file}"
    if file.is_dir():
        raise StoreError(f"{file} is a folder, not {holds}: give the path of a file")
    if not file.exists():
        if not create:
            raise StoreError(f"there is no {holds.removeprefix('a ')} at {file}: {missing}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {file.parent} cannot be made: {error.strerror}") from error
    try:
        with closing(_connect(str(file), BUSY)) as connection:
            # The file remembers this. What holds tables already is ours and has it, or is not ours to change.
            if create and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Of several that find the file empty, SQLite lets one change it and refuses the others at once: it is changed.
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise explained(error, name) from error
    except sqlite3.Error as error:
        raise explained(error, name) from error
    return Database(_engine(str(file), _CONNECTIONS, BUSY), name, file if one_server else None)


def open_memory(*, holds: str) -> Database:
    """Make a database that is gone when it is closed.

    Args:
        holds: What it holds, for messages: "a run history".
    """
    # Each connection to a database in memory has one of its own, so all threads take turns on one.
    return Database(_engine(MEMORY, 1, 0.0), f"{holds.replace('a ', 'the ', 1)} in memory")


def _connect(path: str, wait: float) -> sqlite3.Connection:
    # Without isolation level, the driver begins no transactions of its own.
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")  # KiB, at most
    # With a write-ahead log, what was committed outlives the process; a power cut may cost the last transactions.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _engine(path: str, connections: int, wait: float) -> Engine:
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, wait),
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
