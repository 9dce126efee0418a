"""A database by its address: transactions, and insertions that expect a row to be there already."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, QueuePool, Select, Table, create_engine, event, func, inspect, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from loopwright.database.failures import explained, is_lost
from loopwright.errors import ConfigError, StoreError
from loopwright.postgres import PostgresAddress, is_postgres

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

KNOWN = "'memory', 'sqlite:FILE', 'postgresql://USER:PASSWORD@HOST/DATABASE'"
"""The forms of an address."""

BUSY = 10.0
"""Seconds to wait for another process that writes to the same file."""

_MEMORY = ":memory:"
_POOL: dict[str, Any] = {"pool_size": 8, "max_overflow": 0, "pool_timeout": 10.0, "hide_parameters": True}


@dataclass(frozen=True)
class Format:
    """By what a database of a kind is recognised, and which format of it is read."""

    tables: Sequence[Table]
    """The tables that each of its formats has; the first one, in full, tells which it is."""
    asked: Select[Any]
    """Asks that table."""
    reads: int
    """The format that this version of Loopwright reads."""
    older: str
    """What to do with one of an older format; ``{}`` stands for another place."""
    lock: int
    """The advisory lock of PostgreSQL for those that make it."""


class Database:
    """Connections to one database, for any number of threads; what fails is a `StoreError`."""

    def __init__(self, engine: Engine, name: str, file: Path | None = None, schema: str = "", absent: str = "") -> None:
        """Connect to nothing yet.

        Args:
            engine: Makes the connections.
            name: What messages call the database; without a password.
            file: Where it lies, of one that only one server may have.
            schema: The schema of PostgreSQL that holds the tables.
            absent: What to say where nothing is there; without it, that is made.
        """
        self.name = name
        self.schema = schema
        self.dialect = engine.dialect.name
        """``"sqlite"`` or ``"postgresql"``."""
        self._engine = engine
        self._file = file
        self._absent = absent
        self._claim: sqlite3.Connection | None = None
        self._closed = False
        # SQLite's own waiting lets one writer starve where many threads write at once; a queue here is fair.
        self._one_writer = threading.Lock() if self.dialect == "sqlite" else nullcontext()

    def made(self, format: Format, make: Callable[[Connection], None]) -> None:
        """See that the database holds what the format describes; make that where there is nothing.

        Raises:
            StoreError: If the database fails, holds something else or another format, which is not touched, or nothing
                is there and that is not to be changed; it is closed then.
        """
        try:
            with self.reading() as connection:
                if self._recognised(connection, format):
                    return
            if self._absent:
                raise StoreError(self._absent)
            with self.writing() as connection:
                if self.schema:
                    connection.execute(select(func.pg_advisory_xact_lock(format.lock)))
                if self._recognised(connection, format):
                    return  # another process made it in between
                # Whoever may make no schemas is refused even where this one is there.
                if self.schema and not inspect(connection).has_schema(self.schema):
                    connection.execute(CreateSchema(self.schema, if_not_exists=True))
                make(connection)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """A transaction that changes nothing."""
        with self._connected("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """A transaction: all or nothing."""
        # A transaction of SQLite that begins by reading fails at once, without waiting, if another one writes first.
        with self._one_writer, self._connected("BEGIN IMMEDIATE") as connection, connection.begin():
            yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An insertion that can say what happens if the row is there already."""
        if self.dialect == "sqlite":
            return sqlite.insert(table)
        # Its import takes 0.1 s, for nothing where the database is a file.
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)

    def claim(self) -> None:
        """Have the database alone, among those that ask for that; it ends with `close`, and with the process.

        Raises:
            StoreError: If another one has it, or the database fails.
        """
        if self._claim or self._file is None:
            return
        # A lock that the system gives back when its process ends, on every platform: that of a file beside this one.
        lock = f"{self._file}.server"
        claim = sqlite3.connect(lock, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            claim.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            claim.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise explained(error, f"the lock file {lock}") from error
            raise StoreError(
                f"{self.name} is in use by another server, which would take this one's runs for lost: stop that one "
                "first, or give each server a history of its own"
            ) from None
        self._claim = claim

    def close(self) -> None:
        """Close all connections; again does nothing."""
        self._closed = True
        if self._claim:
            self._claim.close()
            self._claim = None
        self._engine.dispose()

    def _recognised(self, connection: Connection, format: Format) -> bool:
        """Whether it is there, or nothing at all; raises `StoreError` for anything else."""
        inspected, schema, telling = inspect(connection), self.schema or None, format.tables[0]
        tables = sorted(inspected.get_table_names(schema))
        if not tables:
            return False
        another = "another schema, with ?schema=NAME" if self.schema else "another file"
        named = {each.name for each in format.tables} <= {*tables}
        columns = inspected.get_columns(telling.name, schema) if named else []
        if not {*telling.c.keys()} <= {each["name"] for each in columns}:
            raise StoreError(
                f"{self.name} belongs to something else, or to another version (it holds the tables "
                f"{', '.join(tables[:5])}), and was not touched: give {another}"
            )
        found: list[Any] = [*connection.scalars(format.asked)]
        if found != [format.reads]:
            newer = any(isinstance(each, int) and each > format.reads for each in found)
            raise StoreError(
                f"{self.name} has the format {', '.join(map(str, found)) or 'none'}, and this version of Loopwright "
                f"reads the format {format.reads}; it was not touched: "
                f"{('update Loopwright, or give {}' if newer else format.older).format(another)}"
            )
        return True

    @contextmanager
    def _connected(self, begin: str) -> Generator[Connection]:
        if self._closed:
            raise StoreError(f"{self.name} is closed: open it again")
        try:
            with self._engine.connect().execution_options(begin=begin) as connection:
                try:
                    yield connection
                except (SQLAlchemyError, OSError) as error:
                    if is_lost(error):
                        connection.invalidate()
                    raise
        except (SQLAlchemyError, OSError) as error:
            raise explained(error, self.name) from error


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
