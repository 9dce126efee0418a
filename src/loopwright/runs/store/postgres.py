"""A run history in one schema of a PostgreSQL database."""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress

from sqlalchemy import Connection, create_engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from loopwright.postgres import PostgresAddress
from loopwright.runs.store.database import Claim, Database

_CONNECTIONS = 8
_WAIT = 10.0


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


def open_database(url: str) -> Database:
    """Read the address of a database; nothing is connected yet.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=MODE``; only the database is needed.
            ``schema`` is "loopwright_runs" unless it says otherwise, and may hold nothing else; ``sslmode`` is
            "disable", "prefer" (the default: encrypted where the server can), "require", or "verify-full" (its
            certificate is checked too); ``host`` may name the folder of a socket.

    Raises:
        ConfigError: If a part is wrong; the message does not show the password.
    """
    address = PostgresAddress.parse(url, schema="loopwright_runs", holds="a run history")
    engine = create_engine(
        "postgresql+pg8000://",
        creator=lambda: address.connect(address.schema),
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_WAIT,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    key = int.from_bytes(hashlib.sha256(f"loopwright {address.schema}".encode()).digest()[:8], signed=True)

    def claimed() -> Claim | None:
        connection = engine.connect()
        connection.detach()  # the lock lasts as long as this connection, which must not go back to the pool
        had = connection.scalar(select(func.pg_try_advisory_lock(key)))
        connection.commit()
        if not had:
            connection.close()
        return _Lock(connection, key) if had else None

    return Database(engine, str(address), claimed)
