"""Connections to a database: transactions, and insertions that expect a row to be there already."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Select, Table, func, inspect, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from loopwright.database.failures import explained, is_lost
from loopwright.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


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
