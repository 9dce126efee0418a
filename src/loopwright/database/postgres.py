"""One schema of a PostgreSQL database."""

from __future__ import annotations

from sqlalchemy import create_engine

from loopwright.database.database import Database
from loopwright.errors import ConfigError
from loopwright.postgres import PostgresAddress

_CONNECTIONS = 8
_WAIT = 10.0


def open_schema(
    url: str,
    *,
    schema: str,
    holds: str,
    beside: str = "",
    idle: int = 0,
) -> Database:
    """Read the address of a database; nothing is connected yet.

    Args:
        url: As for `PostgresAddress.parse`. The schema may hold nothing else.
        schema: The schema where the address names none.
        holds: What the schema holds, for messages: "a run history".
        beside: Schemas in which names are looked up besides, each after a comma.
        idle: As for `PostgresAddress.libpq`.

    Raises:
        ConfigError: If a part is wrong, and the message does not show the password; or if the driver is missing.
    """
    address = PostgresAddress.parse(url, schema=schema, holds=holds)
    options = address.libpq(f"{address.schema}{beside}", idle)
    try:
        engine = create_engine(
            "postgresql+psycopg://",
            connect_args=options,
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_timeout=_WAIT,
            pool_pre_ping=True,
            hide_parameters=True,
        )
    except ModuleNotFoundError as missing:
        told = f"{holds} in PostgreSQL needs {missing.name}: pip install 'loopwright[postgres]'"
        raise ConfigError(told) from missing
    return Database(engine, str(address), schema=address.schema)
