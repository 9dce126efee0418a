"""A PostgreSQL database as knowledge stores use it: connections, transactions, and what can go wrong."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pg8000.dbapi as pg
from pg8000.exceptions import DatabaseError, InterfaceError

from loopwright.errors import StoreError
from loopwright.postgres import PostgresAddress
from loopwright.retrieval.stores.sessions import Broken, Condition, Pool, Row
from loopwright.retrieval.stores.storable import storable_value

_CONNECTIONS = 8
# SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
_LOST = ("08", "57P")
_TRANSIENT = ("40", "53", "55P03", "57")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_FIXES = {
    "28": "check the user and the password in the address",
    "3D": "make the database first, with createdb",
    "42501": "give this user the rights to make and use the schema",
    "53100": "the disk of the server is full; nothing was changed: make room and try again",
    "53300": "the server has no free connection: try again later",
}


class PostgresSession:
    """A transaction on a PostgreSQL connection; see `loopwright.retrieval.stores.sessions.Session`."""

    def __init__(self, connection: pg.Connection) -> None:
        self._cursor = connection.cursor()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]:
        """Run a statement and give all its rows."""
        self._cursor.execute(sql.replace("?", "%s"), [storable_value(value) for value in parameters])
        return cast("Sequence[Row]", self._cursor.fetchall()) if self._cursor.description else ()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row], conflict: str = "") -> None:
        """Insert many rows at once; the server takes the types from the table."""
        if not rows:
            return
        names = ", ".join(columns)
        if not conflict:
            lines = "".join("\t".join(map(_field, row)) + "\n" for row in rows)
            self._cursor.execute(f"COPY {table} ({names}) FROM STDIN", stream=io.BytesIO(lines.encode()))
            return
        records = json.dumps([dict(zip(columns, map(storable_value, row), strict=True)) for row in rows])
        self.rows(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, ?::json) "
            + conflict,
            (records,),
        )

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        """The column has one of the values, however many there are."""
        if not values:
            return Condition("FALSE")
        kind = "bigint" if isinstance(values[0], int) else "text"
        return Condition(f"{column} = ANY(CAST(? AS {kind}[]))", ([storable_value(value) for value in values],))


class PostgresServer:
    """Connections to one schema of a database."""

    def __init__(self, address: PostgresAddress) -> None:
        """Connect to nothing yet.

        Args:
            address: The database and its schema.
        """
        self.address = address
        self._pool = Pool(self._connect, _close, _reset, limit=_CONNECTIONS, name=str(address))

    @contextmanager
    def transaction(self, begin: str) -> Generator[PostgresSession]:
        """All or nothing.

        Args:
            begin: The statement to begin with.

        Raises:
            StoreError: If the database fails; transient if the connection is lost, and the next call makes another.
        """
        with self._pool.connection() as connection, self._explained():
            session = PostgresSession(connection)
            session.rows(begin)
            yield session
            session.rows("COMMIT")

    def close(self) -> None:
        """Close all connections; again does nothing."""
        self._pool.close()

    def _connect(self) -> pg.Connection:
        with self._explained():
            # The extension may be in another schema.
            connection = self.address.connect(f"{self.address.schema}, public")
            connection.autocommit = True  # transactions are begun by statements
            return connection

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError, OSError) as error:
            raise self._explanation(error) from error

    def _explanation(self, error: Exception) -> StoreError:
        told = _told(error)
        code, message = told.get("C", ""), told.get("M", "")
        if not told or code.startswith(_LOST):
            return Broken(
                f"{self.address} cannot be reached: {message or error}; check that the server runs and the address "
                "is right"
            )
        fix = next((f": {fix}" for prefix, fix in _FIXES.items() if code.startswith(prefix)), "")
        return StoreError(f"{self.address} failed: {message}{fix}", transient=code.startswith(_TRANSIENT))


def _told(error: BaseException | None) -> dict[str, str]:
    # What the server says at the beginning of a connection is hidden behind the error of closing it.
    while error is not None:
        if isinstance(error, DatabaseError) and error.args and isinstance(error.args[0], dict):
            return cast("dict[str, str]", error.args[0])
        error = error.__context__
    return {}


def _close(connection: pg.Connection) -> None:
    with contextlib.suppress(DatabaseError, InterfaceError, OSError):
        connection.close()


def _reset(connection: pg.Connection, error: BaseException) -> bool:
    # After anything else, half of a message may have been sent, and the next answer would be that of another question.
    if not isinstance(error, StoreError):
        return False
    try:
        connection.cursor().execute("ROLLBACK")
    except (DatabaseError, InterfaceError, OSError):
        return False
    return True


def _field(value: Any) -> str:
    # https://www.postgresql.org/docs/current/sql-copy.html, text format
    return "\\N" if value is None else str(storable_value(value)).translate(_ESCAPES)
