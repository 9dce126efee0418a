"""One schema of a PostgreSQL database."""

from __future__ import annotations

from sqlalchemy import create_engine

from loopwright.database.database import Database
from loopwright.postgres import PostgresAddress

_CONNECTIONS = 8
_WAIT = 10.0


def open_database(
    url: str,
    *,
    schema: str,
    holds: str,
    beside: str = "",
    idle: int = 0,
) -> Database:
    """Read the address of a database; nothing is connected yet.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=MODE``; only the database is needed.
            The schema may hold nothing else; ``sslmode`` is "disable", "prefer" (the default: encrypted where the
            server can), "require", or "verify-full" (its certificate is checked too); ``host`` may name the folder of
            a socket.
        schema: The schema where the address names none.
        holds: What the schema holds, for messages: "a run history".
        beside: Schemas in which names are looked up besides, each after a comma.
        idle: As for `PostgresAddress.connect`.

    Raises:
        ConfigError: If a part is wrong; the message does not show the password.
    """
    address = PostgresAddress.parse(url, schema=schema, holds=holds)
    engine = create_engine(
        "postgresql+pg8000://",
        creator=lambda: address.connect(f"{address.schema}{beside}", idle),
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_WAIT,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    return Database(engine, str(address), schema=address.schema)
