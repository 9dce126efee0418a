"""What has been saved, for whoever looks at it or tidies it up: any kind of saver in the same way.

Values are read as plain data: no class of the user's is imported. Nothing is made where there is nothing.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.checkpoints.blobs import BlobStore
from loopwright.checkpoints.content import ContentSerializer, TypedBytes
from loopwright.checkpoints.disk import files_by_name
from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.checkpoints.opening import parse_spec, postgres
from loopwright.checkpoints.run_file import read_document
from loopwright.checkpoints.sqlite_blobs import SqliteBlobs, sqlite_problems
from loopwright.errors import CheckpointError, ConfigError

logger = logging.getLogger(__name__)


class Archive(ABC):
    """Everything that one saver has saved.

    Attributes:
        saver: Reads the checkpoints as plain data.
        blobs: Where large values are; None if they are nowhere else.
    """

    def __init__(self, saver: BaseCheckpointSaver[str], blobs: BlobStore | None) -> None:
        """Bring saver and store together."""
        self.saver = saver
        self.blobs = blobs

    @abstractmethod
    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has, without those of subgraphs."""

    @abstractmethod
    def serialised(self) -> Iterator[TypedBytes]:
        """Give everything that was serialised and may refer to a large value."""

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
        super().__init__(self._json, None)

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has."""
        found: dict[str, int] = {}
        for paths in files_by_name(self._json.folder).values():
            for path in paths:
                try:
                    document = read_document(path, PLAIN_DATA)[0]
                    found[document.thread_id] = len(document.memory.storage[document.thread_id][""])
                except CheckpointError as problem:
                    logger.warning("%s", problem)
        return found

    def serialised(self) -> Iterator[TypedBytes]:
        """Nothing: all values are in the runs' files."""
        yield from ()

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        self._json.delete_checkpoints(thread_id, dropped)

    def compact(self) -> None:
        """Do nothing: files have no free room in them."""


class SqlArchive(Archive):
    """The tables of one of LangGraph's savers.

    Attributes:
        values: The queries that give each serialised value's tag and bytes.
        writes: The table of pending writes.
        mark: What stands for a parameter.
    """

    values: tuple[str, ...]
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

    def serialised(self) -> Iterator[TypedBytes]:
        """Give everything that was serialised and may refer to a large value."""
        for query in self.values:
            for tag, data in self.execute(query):
                yield tag, bytes(data)

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        place = " AND ".join(f"{name} = {self.mark}" for name in ("thread_id", "checkpoint_ns", "checkpoint_id"))
        with self.transaction():
            for table in (self.writes, "checkpoints"):
                for key in dropped:
                    self.execute(f"DELETE FROM {table} WHERE {place}", [thread_id, *key])
            self.deleted(thread_id)

    def deleted(self, thread_id: str) -> None:
        """Delete what only checkpoints used that are gone, in the same transaction."""


class SqliteArchive(SqlArchive):
    """A file of LangGraph's SqliteSaver."""

    values = ("SELECT type, checkpoint FROM checkpoints", "SELECT type, value FROM writes")
    writes = "writes"
    mark = "?"

    def __init__(self, path: Path, connection: sqlite3.Connection, blobs: SqliteBlobs) -> None:
        """Look at a file through a connection."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        super().__init__(SqliteSaver(connection, serde=ContentSerializer(PLAIN_DATA, blobs)), blobs)
        self._path = path
        self._connection = connection

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterable[Any]:
        """Execute a query and give its rows."""
        return self._connection.execute(query, parameters)

    def transaction(self) -> AbstractContextManager[Any]:
        """Commit what is done in the block, or take it back."""
        return self._connection

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
    with contextlib.ExitStack() as stack:
        stack.enter_context(sqlite_problems(path))
        blobs = stack.enter_context(contextlib.closing(SqliteBlobs(path)))
        connection = stack.enter_context(contextlib.closing(_existing(path)))
        yield SqliteArchive(path, connection, blobs)


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
