"""Being the one server of a run history: a lock that the system gives back when the process ends."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from loopwright.database.database import Claim
from loopwright.database.failures import explained


def claimed_file(file: Path) -> sqlite3.Connection | None:
    """The claim on a history in a file, or None where another process has it."""
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


class _Lock:
    """An advisory lock, held by a connection of its own."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        self._key = key

    def close(self) -> None:
        # The server would notice the end of the connection a moment later, and refuse who asks at once.
        with closing(self._connection), suppress(SQLAlchemyError, OSError):
            self._connection.execute(select(func.pg_advisory_unlock(self._key)))
            self._connection.commit()


def claimed_schema(engine: Engine, schema: str) -> Claim | None:
    """The claim on a history in PostgreSQL, or None where another process has it.

    Args:
        engine: Makes the connections.
        schema: The schema of the history.
    """
    key = int.from_bytes(hashlib.sha256(f"loopwright {schema}".encode()).digest()[:8], signed=True)
    connection = engine.connect()
    connection.detach()  # the lock lasts as long as this connection, which must not go back to the pool
    had = connection.scalar(select(func.pg_try_advisory_lock(key)))
    connection.commit()
    if not had:
        connection.close()
    return _Lock(connection, key) if had else None
