"""What has been saved, for whoever looks at it or tidies it up: any kind of saver in the same way.

Values are read as plain data: no class of the user's is imported. Nothing is made where there is nothing.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.checkpoints.blobs import BlobStore, FolderBlobs
from loopwright.checkpoints.content import ContentSerializer, TypedBytes, references
from loopwright.checkpoints.disk import files_by_name
from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.checkpoints.opening import BLOBS_FOLDER, parse_spec, postgres
from loopwright.checkpoints.run_file import RunDocument, read_document
from loopwright.checkpoints.sqlite_blobs import SqliteBlobs, sqlite_problems
from loopwright.errors import CheckpointError, ConfigError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredThread:
    """What is stored of one thread."""

    id: str
    """The thread."""
    checkpoints: int
    """How many checkpoints the graph itself has, without those of subgraphs."""
    bytes: int
    """What they all take, with the large values that are stored apart; those that threads share count for each."""


class Archive(ABC):
    """Everything that one saver has saved.

    Attributes:
        saver: Reads the checkpoints as plain data.
        blobs: Where large values are.
        unreadable: Whether something was passed over because it cannot be read.
    """

    def __init__(self, saver: BaseCheckpointSaver[str], blobs: BlobStore) -> None:
        """Bring saver and store together."""
        self.saver = saver
        self.blobs = blobs
        self.unreadable = False

    @abstractmethod
    def serialised(self) -> Iterator[tuple[str, TypedBytes]]:
        """Give everything that was serialised, each with its thread."""

    @abstractmethod
    def _stored(self) -> dict[str, tuple[int, int]]:
        """Give for each thread the number of its checkpoints, and the bytes that are not stored apart."""

    @abstractmethod
    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""

    @abstractmethod
    def compact(self) -> bool:
        """Give room that is free back to the disk; say whether that could be done."""

    @abstractmethod
    def size(self) -> int:
        """Give the bytes on the disk."""

    def threads(self) -> list[StoredThread]:
        """List what is stored, by thread."""
        stored, sizes = self._stored(), self.blobs.sizes()
        apart: dict[str, set[bytes]] = {}
        for thread_id, typed in self.serialised():
            apart.setdefault(thread_id, set()).update(references(typed, self.blobs))
        return [
            StoredThread(thread_id, count, size + sum(sizes.get(key, 0) for key in apart.get(thread_id, ())))
            for thread_id, (count, size) in stored.items()
        ]


class JsonArchive(Archive):
    """A folder of a `JsonFileSaver`."""

    def __init__(self, folder: Path) -> None:
        """Look at a folder, which must be there."""
        blobs = FolderBlobs(folder / BLOBS_FOLDER)
        saver = JsonFileSaver(folder, serde=ContentSerializer(PLAIN_DATA, blobs), keep_in_memory=1)
        super().__init__(saver, blobs)
        self._json = saver

    def serialised(self) -> Iterator[tuple[str, TypedBytes]]:
        """Give everything that was serialised, each with its thread."""
        for _, document in self._documents():
            for typed in document.serialised():
                yield document.thread_id, typed

    def _stored(self) -> dict[str, tuple[int, int]]:
        return {
            document.thread_id: (len(document.memory.storage[document.thread_id][""]), path.stat().st_size)
            for path, document in self._documents()
        }

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        self._json.delete_checkpoints(thread_id, dropped)

    def compact(self) -> bool:
        """Do nothing: files have no free room in them."""
        return True

    def size(self) -> int:
        """Give the bytes on the disk."""
        return sum(path.stat().st_size for path in self._json.folder.rglob("*") if path.is_file())

    def _documents(self) -> Iterator[tuple[Path, RunDocument]]:
        for paths in files_by_name(self._json.folder).values():
            for path in paths:
                try:
                    yield path, read_document(path, self.saver.serde)[0]
                except CheckpointError as problem:
                    self.unreadable = True
                    logger.warning("%s", problem)


class SqliteArchive(Archive):
    """A file of LangGraph's SqliteSaver."""

    def __init__(self, path: Path, connection: sqlite3.Connection, blobs: SqliteBlobs) -> None:
        """Look at a file through a connection."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        super().__init__(SqliteSaver(connection, serde=ContentSerializer(PLAIN_DATA, blobs)), blobs)
        self._path = path
        self._connection = connection

    def serialised(self) -> Iterator[tuple[str, TypedBytes]]:
        """Give everything that was serialised, each with its thread."""
        for query in (
            "SELECT thread_id, type, checkpoint FROM checkpoints",
            "SELECT thread_id, type, value FROM writes",
        ):
            for thread_id, tag, data in self._connection.execute(query):
                yield thread_id, (tag, data)

    def _stored(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for query in (
            "SELECT thread_id, sum(checkpoint_ns = ''), sum(length(checkpoint) + length(metadata)) FROM checkpoints",
            "SELECT thread_id, 0, sum(length(value)) FROM writes",
        ):
            for thread_id, count, size in self._connection.execute(f"{query} GROUP BY thread_id"):
                before = found.get(thread_id, (0, 0))
                found[thread_id] = (before[0] + count, before[1] + (size or 0))
        return found

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        for table in ("writes", "checkpoints"):
            self._connection.executemany(
                f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                [(thread_id, *key) for key in dropped],
            )
        self._connection.commit()

    def compact(self) -> bool:
        """Give room that is free back to the disk; say whether that could be done."""
        try:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError as problem:
            logger.warning("%s was not made smaller (%s)", self._path, problem)
            return False
        return True

    def size(self) -> int:
        """Give the bytes on the disk."""
        return sum(
            path.stat().st_size
            for path in (self._path, self._path.with_name(f"{self._path.name}-wal"))
            if path.is_file()
        )


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
