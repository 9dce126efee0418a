"""An SQLite file as knowledge stores use it: making and recognising it, its transactions, and what can go wrong."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopwright.errors import StoreError
from loopwright.retrieval.stores.sessions import Condition, Pool, Row
from loopwright.retrieval.stores.storable import storable_value
from loopwright.retrieval.stores.tables import SCHEMA_VERSION, table_statements

WORDS = "passage_words"
"""The FTS5 table: the terms of each passage's title, heading and text, separated by spaces; rowid is its number."""

_APPLICATION_ID = 0x4C57_4B53  # "LWKS", at a fixed place of the file, as SQLite provides for
_CONNECTIONS = 8
_MEMORY = ":memory:"
# Terms are split already: everything that can stand in one belongs to it, marks of Thai and unassigned signs too.
_MAKE_WORDS = (
    f"CREATE VIRTUAL TABLE {WORDS} USING fts5(title, heading, text, "
    "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\")"
)
_FIXES = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing was changed: make room and try again",
    sqlite3.SQLITE_READONLY: "it may not be written to; nothing was changed: check the permissions of file and folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and may be read and written",
    sqlite3.SQLITE_NOTADB: "it is no SQLite database, and was not touched: give the path of a knowledge store",
    sqlite3.SQLITE_CORRUPT: "the database is damaged: ingest the documents into a new file",
    sqlite3.SQLITE_IOERR: "reading or writing failed; nothing was changed: check the disk",
}


class SqliteSession:
    """A transaction on an SQLite connection; see `loopwright.retrieval.stores.sessions.Session`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]:
        """Run a statement and give all its rows."""
        return self._connection.execute(sql, [storable_value(value) for value in parameters]).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row], conflict: str = "") -> None:
        """Insert many rows."""
        places = ", ".join("?" * len(columns))
        self._connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places}) {conflict}",
            ([storable_value(value) for value in row] for row in rows),
        )

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        """The column has one of the values, however many there are."""
        listed = json.dumps([storable_value(value) for value in values])
        return Condition(f"{column} IN (SELECT value FROM json_each(?))", (listed,))


class SqliteFile:
    """One SQLite file, or a database in memory."""

    def __init__(self, path: str | Path, *, create: bool, timeout: float) -> None:
        """Open the file and see that it is a knowledge store; make one if it is missing or empty.

        Args:
            path: The file, or ``":memory:"``.
            create: Whether to make the file if there is none.
            timeout: How long to wait for another process that writes, in seconds.
        """
        self._in_memory = str(path) == _MEMORY
        self._path = str(path) if self._in_memory else str(Path(path).expanduser().absolute())
        self._name = "the knowledge store in memory" if self._in_memory else f"the knowledge store {self._path}"
        self._timeout = timeout
        if not self._in_memory:
            self._find(Path(self._path), create)
        # Each connection to a database in memory would have one of its own.
        self._pool = Pool(
            self._connect,
            sqlite3.Connection.close,
            _reset,
            limit=1 if self._in_memory else _CONNECTIONS,
            name=self._name,
        )
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self, begin: str) -> Generator[SqliteSession]:
        """All or nothing.

        Args:
            begin: The statement to begin with.

        Raises:
            StoreError: If the database fails; transient if another process holds it.
        """
        with self._pool.connection() as connection, self._explained():
            connection.execute(begin)
            yield SqliteSession(connection)
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close all connections; again does nothing."""
        self._pool.close()

    def _find(self, path: Path, create: bool) -> None:
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a knowledge store: give the path of a file")
        if path.exists():
            return
        if not create:
            ways = "`loopwright rag ingest` or `loopwright assistant ingest`"
            raise StoreError(f"no knowledge store at {path}: run {ways} first")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {path.parent} cannot be made: {error.strerror}") from error

    def _connect(self) -> sqlite3.Connection:
        with self._explained():
            connection = sqlite3.connect(
                self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA cache_size = -65536")  # KiB
            except BaseException:
                connection.close()
                raise
            return connection

    def _prepare(self) -> None:
        with self._pool.connection() as connection, self._explained():
            if self._is_ours(connection):
                return
            connection.execute("PRAGMA journal_mode = WAL")
        with self.transaction("BEGIN IMMEDIATE") as session:
            if session.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                return  # another process made it in between
            for statement in table_statements(
                integer="INTEGER", text="TEXT", real="REAL", vector="BLOB", long_index=""
            ):
                session.rows(statement)
            session.rows(_MAKE_WORDS)
            session.rows(f"PRAGMA application_id = {_APPLICATION_ID}")
            session.rows(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return False
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise StoreError(
                f"{self._path} is an SQLite database of something else, and was not touched: give the path of a "
                "knowledge store, or of a new file"
            )
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self._name} has the format {version}, this version of Loopwright reads format {SCHEMA_VERSION}; "
                "it was not touched: ingest the documents into a new file"
            )
        return True

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            primary = None if code is None else code & 0xFF
            if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreError(
                    f"{self._name} is locked: another process writes, for {self._timeout:g} s now; try again later",
                    transient=True,
                ) from error
            fix = _FIXES.get(primary) if primary is not None else None
            raise StoreError(f"{self._name}: {fix} ({error})" if fix else f"{self._name}: {error}") from error


def _reset(connection: sqlite3.Connection, error: BaseException) -> bool:
    # After some failures, a full disk for one, SQLite has taken the transaction back already.
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
    return not connection.in_transaction
