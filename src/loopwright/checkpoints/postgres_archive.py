"""What has been saved in PostgreSQL, for whoever looks at it or tidies it up."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator, Iterator
from typing import Any

import psycopg

from loopwright.checkpoints.archive import Archive
from loopwright.checkpoints.content import TypedBytes
from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.postgres import (
    SCHEMA,
    TABLE,
    KeptPostgresSaver,
    KeptSerializer,
    PostgresBlobs,
    connecting,
    postgres_problems,
)
from loopwright.errors import CheckpointError
from loopwright.postgres import PostgresAddress

_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", TABLE)
# What no checkpoint that is left has in this version.
_UNUSED = """
    DELETE FROM checkpoint_blobs AS kept WHERE thread_id = %s AND NOT EXISTS (
        SELECT FROM checkpoints AS one WHERE one.thread_id = kept.thread_id AND one.checkpoint_ns = kept.checkpoint_ns
        AND one.checkpoint -> 'channel_versions' ->> kept.channel = kept.version
    )
"""


class PostgresArchive(Archive):
    """A schema of LangGraph's PostgresSaver."""

    def __init__(self, connection: psycopg.Connection[Any], blobs: PostgresBlobs) -> None:
        """Look at a schema through a connection."""
        super().__init__(KeptPostgresSaver(connection, serde=KeptSerializer(PLAIN_DATA, blobs)), blobs)
        self._connection = connection

    def serialised(self) -> Iterator[tuple[str, TypedBytes]]:
        """Give everything that was serialised, each with its thread."""
        for table in ("checkpoint_blobs", "checkpoint_writes"):
            query = f"SELECT thread_id, type, blob FROM {table} WHERE blob IS NOT NULL"
            for thread_id, tag, data in self._connection.execute(query.encode()):
                yield thread_id, (tag, bytes(data))

    def _stored(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for query in (
            "SELECT thread_id, count(*) FILTER (WHERE checkpoint_ns = ''),"
            " sum(pg_column_size(checkpoint) + pg_column_size(metadata)) FROM checkpoints",
            "SELECT thread_id, 0, sum(length(blob)) FROM checkpoint_blobs",
            "SELECT thread_id, 0, sum(length(blob)) FROM checkpoint_writes",
        ):
            for thread_id, count, size in self._connection.execute(f"{query} GROUP BY thread_id".encode()):
                before = found.get(thread_id, (0, 0))
                found[thread_id] = (before[0] + count, before[1] + int(size or 0))
        return found

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for table in ("checkpoint_writes", "checkpoints"):
                cursor.executemany(
                    f"DELETE FROM {table} WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s".encode(),
                    [(thread_id, *key) for key in dropped],
                )
            cursor.execute(_UNUSED.encode(), [thread_id])

    def compact(self) -> bool:
        """Let PostgreSQL use the room again; its files stay as large as they are."""
        self._connection.execute(f"VACUUM {', '.join(_TABLES)}".encode())
        return True

    def size(self) -> int:
        """Give the bytes on the disk."""
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in _TABLES)
        row = self._connection.execute(f"SELECT {sizes}".encode()).fetchone()
        return int(row[0]) if row else 0


@contextlib.contextmanager
def open_postgres_archive(url: str) -> Generator[PostgresArchive]:
    """Open what was saved in a schema.

    Args:
        url: The address of the database.

    Yields:
        The archive.

    Raises:
        ConfigError: If the address cannot be read.
        CheckpointError: If the database cannot be used, or holds no checkpoints.
    """
    address = PostgresAddress.parse(url, schema=SCHEMA, holds="a checkpoint store")
    with contextlib.ExitStack() as stack:
        stack.enter_context(postgres_problems(address))
        connection = stack.enter_context(psycopg.connect(**connecting(address)))
        there = connection.execute("SELECT to_regclass(%s)", [f"{address.schema}.{TABLE}"]).fetchone()
        if not there or there[0] is None:
            raise CheckpointError(f"{address} is not there: name the one of a 'postgresql://...' checkpointer.")
        yield PostgresArchive(connection, stack.enter_context(contextlib.closing(PostgresBlobs(address))))
