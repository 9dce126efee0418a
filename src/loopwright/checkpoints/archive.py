"""What has been saved, for whoever looks at it or tidies it up: any kind of saver in the same way.

Values are read as plain data: no class of the user's is imported. Nothing is made where there is nothing.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.checkpoints.opening import parse_spec, postgres
from loopwright.errors import CheckpointError, ConfigError

logger = logging.getLogger(__name__)


class Archive(ABC):
    """Everything that one saver has saved.

    Attributes:
        saver: Reads the checkpoints as plain data.
    """

    def __init__(self, saver: BaseCheckpointSaver[str]) -> None:
        self.saver = saver

    @abstractmethod
    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has, without those of subgraphs."""

    @abstractmethod
    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""

    @abstractmethod
    def compact(self) -> None:
        """Give room that is free back to the disk, if that can be done."""


class JsonArchive(Archive):
    """A folder of a `JsonFileSaver`."""

    def __init__(self, folder: Path) -> None:
        """Look at a folder, which must be there."""
        self._json = JsonFileSaver(folder, serde=PLAIN_DATA, keep_in_memory=1)
        super().__init__(self._json)

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has."""
        found: dict[str, int] = {}
        try:
            for thread in self._json.threads():
                config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                found[thread] = sum(1 for _ in self._json.list(config))
        except CheckpointError as problem:
            logger.warning("%s", problem)
        return found

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        self._json.delete_checkpoints(thread_id, dropped)

    def compact(self) -> None:
        """Do nothing: files have no free room in them."""


class SqlArchive(Archive):
    """The tables of one of LangGraph's savers.

    Attributes:
        writes: The table of pending writes.
        mark: What stands for a parameter.
    """

    writes: str
    mark: str

    @abstractmethod
    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterable[Any]:
        """Execute a query and give its rows."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """Commit what is done in the block, or take it back."""

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has."""
        query = "SELECT thread_id, sum(CASE WHEN checkpoint_ns = '' THEN 1 ELSE 0 END) FROM checkpoints"
        return dict(self.execute(f"{query} GROUP BY thread_id"))

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        place = " AND ".join(f"{name} = {self.mark}" for name in ("thread_id", "checkpoint_ns", "checkpoint_id"))
        with self.transaction():
            for table in (self.writes, "checkpoints"):
                for key in dropped:
                    self.execute(f"DELETE FROM {table} WHERE {place}", [thread_id, *key])
            self.deleted(thread_id)

    @abstractmethod
    def deleted(self, thread_id: str) -> None:
        """Delete the values that only checkpoints used that are gone, in the same transaction."""


class SqliteArchive(SqlArchive):
    """A file of LangGraph's SqliteSaver."""

    writes = "writes"
    mark = "?"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Look at a file through a connection."""
        from loopwright.checkpoints.sqlite import KeptSqliteSaver

        super().__init__(KeptSqliteSaver(connection, serde=PLAIN_DATA))
        self._path = path
        self._connection = connection

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterable[Any]:
        """Execute a query and give its rows."""
        return self._connection.execute(query, parameters)

    def transaction(self) -> AbstractContextManager[Any]:
        """Commit what is done in the block, or take it back."""
        return self._connection

    def deleted(self, thread_id: str) -> None:
        """Delete the values that only checkpoints used that are gone, in the same transaction."""
        from loopwright.checkpoints.sqlite import CREATE, TABLE, unused

        self.execute(CREATE)
        query = "SELECT checkpoint_ns, type, checkpoint FROM checkpoints WHERE thread_id = ?"
        left = [(space, PLAIN_DATA.loads_typed((kind, data))) for space, kind, data in self.execute(query, [thread_id])]
        rows = self.execute(
            f"SELECT rowid, checkpoint_ns, channel, version FROM {TABLE} WHERE thread_id = ?", [thread_id]
        )
        for row in unused(left, rows):
            self.execute(f"DELETE FROM {TABLE} WHERE rowid = ?", [row])

    def compact(self) -> None:
        """Give room that is free back to the disk, if no other process keeps the file locked."""
        try:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as problem:
            logger.warning("%s was not made smaller (%s)", self._path, problem)


@contextlib.contextmanager
def open_archive(spec: str) -> Generator[Archive, None, None]:
    """Open what a saver has saved.

    Args:
        spec: ``"json:DIR"``, ``"sqlite:FILE"`` or ``"postgresql://..."``.

    Yields:
        The archive.

    Raises:
        ConfigError: If `spec` is none of these.
        CheckpointError: If nothing is there, or something else.
    """
    scheme, place = parse_spec(spec)
    path = Path(place)
    if scheme == "memory":
        raise ConfigError(
            "the checkpointer 'memory' keeps nothing: name 'json:DIR', 'sqlite:FILE' or 'postgresql://...'."
        )
    if scheme == "postgresql":
        postgres()  # says what is missing
        from loopwright.checkpoints.postgres_archive import open_postgres_archive

        with open_postgres_archive(place) as archive:
            yield archive
        return
    if scheme == "json":
        if not path.is_dir():
            raise CheckpointError(f"there is no checkpoint folder {path}. Name the one of a 'json:DIR' checkpointer.")
        yield JsonArchive(path)
        return
    if not path.is_file():
        raise CheckpointError(f"there is no checkpoint database {path}. Name the one of a 'sqlite:FILE' checkpointer.")
    from loopwright.checkpoints.sqlite import sqlite_problems

    with sqlite_problems(path), contextlib.closing(_existing(path)) as connection:
        yield SqliteArchive(path, connection)


def _existing(path: Path) -> sqlite3.Connection:
    """Connect to a file without making it."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, check_same_thread=False)
    try:
        query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('checkpoints', 'writes')"
        tables: Any = connection.execute(query).fetchone()[0]
    except sqlite3.Error:
        connection.close()
        raise
    if tables != 2:
        connection.close()
        raise CheckpointError(
            f"the database {path} holds no checkpoints. Name the one of a 'sqlite:FILE' checkpointer."
        )
    return connection
