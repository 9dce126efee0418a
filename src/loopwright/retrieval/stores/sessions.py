"""What the stores ask of a database: one transaction to talk in, and connections to have it on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from loopwright.errors import StoreError

Row = Sequence[Any]
Connection = TypeVar("Connection")


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a statement that goes after WHERE, or a subquery."""

    sql: str
    """The SQL, with ``?`` for each parameter."""
    parameters: tuple[Any, ...] = ()
    """The parameters."""


class Session(Protocol):
    """One transaction on one connection; the same SQL, with ``?`` for parameters, for every backend."""

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Sequence[Row]:
        """Run a statement and give all its rows; a statement that has none gives an empty sequence."""
        ...

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row], conflict: str = "") -> None:
        """Insert many rows at once; ``conflict`` is an ON CONFLICT clause."""
        ...

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        """The column has one of the values: all text, or all whole numbers."""
        ...


class Pool(Generic[Connection]):
    """Connections that wait for their next use, by any thread; at most so many at once."""

    def __init__(
        self,
        open: Callable[[], Connection],
        close: Callable[[Connection], None],
        reset: Callable[[Connection, BaseException], bool],
        *,
        limit: int,
        name: str,
    ) -> None:
        """Open nothing yet.

        Args:
            open: Opens a connection.
            close: Closes one.
            reset: Takes back what a use that raised this left open, and says whether the connection is surely as good
                as a new one.
            limit: The most connections at once; who wants another waits.
            name: What they lead to, for messages.
        """
        self._open = open
        self._close = close
        self._reset = reset
        self._name = name
        self._free = threading.BoundedSemaphore(limit)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Lend a connection; one whose use failed is used again only if it could be reset, and was not `Broken`.

        Raises:
            StoreError: If the pool is closed, or no connection can be opened.
        """
        with self._free:
            with self._lock:
                if self._closed:
                    raise StoreError(f"{self._name} is closed: open it again")
                connection = self._idle.pop() if self._idle else None
            connection = self._open() if connection is None else connection
            try:
                yield connection
            except Broken:
                self._close(connection)
                self._close_idle()  # they lead to the same place
                raise
            except BaseException as error:
                if self._reset(connection, error):
                    self._give_back(connection)
                else:
                    self._close(connection)
                raise
            self._give_back(connection)

    def close(self) -> None:
        """Close what waits, now, and what is lent, when it comes back; again does nothing."""
        with self._lock:
            self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._lock:
            waiting, self._idle = self._idle, []
        for connection in waiting:
            self._close(connection)

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        self._close(connection)


class Broken(StoreError):
    """The connection is lost; the next attempt gets another one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=True)
