"""A database by its address, the same for everything that is kept in one."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event

from loopwright.database.database import Database
from loopwright.database.failures import explained
from loopwright.errors import ConfigError, StoreError
from loopwright.postgres import PostgresAddress, is_postgres

KNOWN = "'memory', 'sqlite:FILE', 'postgresql://USER:PASSWORD@HOST/DATABASE'"
"""The forms of an address."""

BUSY = 10.0
"""Seconds to wait for another process that writes to the same file."""

_MEMORY = ":memory:"
_POOL: dict[str, Any] = {"pool_size": 8, "max_overflow": 0, "pool_timeout": 10.0, "hide_parameters": True}


def open_database(
    address: str,
    *,
    holds: str,
    schema: str,
    missing: str = "",
    create: bool = True,
    beside: str = "",
    idle: int = 0,
    one_server: bool = False,
) -> Database:
    """Open a database; to one in PostgreSQL nothing is connected yet.

    Args:
        address: ``"memory"``, which is gone when it is closed; ``"sqlite:FILE"``; or
            ``"postgresql://USER:PASSWORD@HOST:PORT/DATABASE"``, see `loopwright.postgres.PostgresAddress.parse`.
        holds: What it holds, for messages: "a run history".
        schema: The schema of PostgreSQL where the address names none; it may hold nothing else.
        missing: What to do where it is missing.
        create: Whether what is missing may be made, a file with its folders.
        beside: As for `PostgresAddress.settings`.
        idle: As for `PostgresAddress.settings`.
        one_server: Whether only one server may have the file.

    Raises:
        ConfigError: If it is none of these, or a package that it needs is not installed.
        StoreError: If the file is missing or cannot be used.
    """
    kind, _colon, rest = address.partition(":")
    if is_postgres(address) and rest.startswith("//"):
        parsed = PostgresAddress.parse(address, schema=schema, holds=holds)
        told = "" if create else f"there is no {str(parsed).removeprefix('the ')}: {missing}"
        return Database(_postgres(parsed, beside, idle), str(parsed), schema=parsed.schema, absent=told)
    the_one = holds.replace("a ", "the ", 1)
    if address == "memory":
        # Each connection to a database in memory has one of its own, so all threads take turns on one.
        return Database(_sqlite(_MEMORY, pool_size=1), f"{the_one} in memory")
    if kind == "sqlite" and (path := rest.strip()):
        if path == _MEMORY:
            raise ConfigError(f"{holds} in memory is called 'memory', not 'sqlite::memory:'")
        if path.startswith("//"):
            raise ConfigError(f"the address of {holds} in SQLite is 'sqlite:FILE', without slashes before the file")
        file = Path(path).expanduser().absolute()
        _prepare_file(file, f"{the_one} {file}", holds, missing, create)
        return Database(_sqlite(str(file)), f"{the_one} {file}", file if one_server else None)
    # What is unknown may be an address with a password in it.
    shown = f"{address.partition('://')[0]}://..." if "://" in address else address
    raise ConfigError(f"unknown {holds.removeprefix('a ')} {shown!r}. Known: {KNOWN}.")


def _postgres(address: PostgresAddress, beside: str, idle: int) -> Engine:
    engine = create_engine("postgresql+psycopg://", connect_args=address.libpq(), pool_pre_ping=True, **_POOL)

    def begin(connection: Any, _record: Any) -> None:
        address.configure(connection, idle, beside)

    event.listen(engine, "connect", begin, insert=True)  # before SQLAlchemy asks the first one for its schema
    return engine


def _prepare_file(file: Path, name: str, holds: str, missing: str, create: bool) -> None:
    """Find or make a file of SQLite."""
    try:
        if file.is_dir():
            raise StoreError(f"{file} is a folder, not {holds}: give the path of a file")
        if not file.exists():
            if not create:
                raise StoreError(f"there is no {holds.removeprefix('a ')} at {file}: {missing}")
            file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{file} cannot be opened, or its folder made: {error.strerror}") from error
    try:
        with closing(_connect(str(file))) as connection:
            # The file remembers this. What holds tables already is ours and has it, or is not ours to change.
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Of several that find the file empty, SQLite lets one change it and refuses the others at once: it is changed.
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise explained(error, name) from error
    except sqlite3.Error as error:
        raise explained(error, name) from error


def _connect(path: str) -> sqlite3.Connection:
    # Without isolation level, the driver begins no transactions of its own.
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")  # KiB, at most
    # With a write-ahead log, what was committed outlives the process; a power cut may cost the last transactions.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _sqlite(path: str, **options: Any) -> Engine:
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=QueuePool, **{**_POOL, **options})
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()["begin"])
