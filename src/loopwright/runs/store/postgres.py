"""A run history in one schema of a PostgreSQL database."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Callable
from typing import Any

import pg8000.dbapi as pg
from sqlalchemy import URL, create_engine, func, make_url, select
from sqlalchemy.exc import ArgumentError

from loopwright.errors import ConfigError, unknown_name_message
from loopwright.runs.store.database import Claim, Database

_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME"
_OPTIONS = ("host", "schema", "sslmode")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_CONNECTIONS = 8
_WAIT = 10.0
# What pg8000 takes for each of the names that libpq gives to these; None encrypts where the server can.
_ENCRYPTION: dict[str, Callable[[], Any]] = {
    "disable": lambda: False,
    "prefer": lambda: None,
    "require": lambda: True,
    "verify-full": ssl.create_default_context,
}


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
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        # The cause would show the address, and the password with it.
        raise ConfigError(f"the address of the PostgreSQL database is unreadable: write it as {_FORM}") from None
    options = {name: value if isinstance(value, str) else value[-1] for name, value in address.query.items()}
    for option in options:
        if option not in _OPTIONS:
            raise ConfigError(unknown_name_message("option of a PostgreSQL address", option, _OPTIONS))
    if not address.database:
        raise ConfigError(f"the address of the PostgreSQL server {address.host} names no database: write {_FORM}")
    schema = options.get("schema", "loopwright_runs")
    if not _SCHEMA.fullmatch(schema):
        raise ConfigError(
            f"{schema!r} cannot be the schema of a run history: take small letters, digits and underscores"
        )
    sslmode = options.get("sslmode", "prefer")
    if sslmode not in _ENCRYPTION:
        raise ConfigError(unknown_name_message("sslmode", sslmode, _ENCRYPTION))
    host = options.get("host") or address.host or "localhost"
    engine = create_engine(
        "postgresql+pg8000://",
        creator=lambda: _connect(address, host, schema, _ENCRYPTION[sslmode]()),
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_WAIT,
        pool_pre_ping=True,
        hide_parameters=True,
    )
    key = int.from_bytes(hashlib.sha256(f"loopwright {schema}".encode()).digest()[:8], signed=True)

    def claimed() -> Claim | None:
        connection = engine.connect()
        connection.detach()  # the lock lasts as long as this connection, which must not go back to the pool
        had = connection.scalar(select(func.pg_try_advisory_lock(key)))
        connection.commit()
        if not had:
            connection.close()
        return connection if had else None

    name = f"the run history in schema {schema} of {address.database} at {host}:{address.port or 5432}"
    return Database(engine, name, claimed)


def _connect(address: URL, host: str, schema: str, encryption: Any) -> pg.Connection:
    port = address.port or 5432
    by_socket = host.startswith("/")
    return pg.connect(
        address.username or "postgres",
        host=host,
        port=port,
        unix_sock=f"{host}/.s.PGSQL.{port}" if by_socket else None,
        database=address.database,
        password=address.password,
        ssl_context=False if by_socket else encryption,
        application_name="loopwright",
        startup_params={"search_path": schema},
    )
