"""What has been saved in PostgreSQL, for whoever looks at it or tidies it up."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import psycopg

from loopwright.checkpoints.archive import SqlArchive
from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.fencing import TABLE
from loopwright.checkpoints.postgres import (
    SCHEMA,
    KeptPostgresSaver,
    KeptSerializer,
    connecting,
    postgres_problems,
)
from loopwright.errors import CheckpointError
from loopwright.postgres import PostgresAddress

_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
# What no checkpoint that is left has in this version.
_UNUSED = """
    DELETE FROM checkpoint_blobs AS kept WHERE thread_id = %s AND NOT EXISTS (
        SELECT FROM checkpoints AS one WHERE one.thread_id = kept.thread_id AND one.checkpoint_ns = kept.checkpoint_ns
        AND one.checkpoint -> 'channel_versions' ->> kept.channel = kept.version
    )
"""


class PostgresArchive(SqlArchive):
    """A schema of LangGraph's PostgresSaver."""

    writes = "checkpoint_writes"
    mark = "%s"

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        """Look at a schema through a connection."""
        super().__init__(KeptPostgresSaver(connection, serde=KeptSerializer(PLAIN_DATA)))
        self._connection = connection

    def execute(self, query: str, parameters: Sequence[Any] = ()) -> Iterable[Any]:
        """Execute a query and give its rows."""
        return self._connection.execute(query.encode(), parameters or None)

    def transaction(self) -> AbstractContextManager[Any]:
        """Commit what is done in the block, or take it back."""
        return self._connection.transaction()

    def deleted(self, thread_id: str) -> None:
        """Delete the values of channels in versions that no checkpoint has that is left."""
        self.execute(_UNUSED, [thread_id])

    def compact(self) -> None:
        """Let PostgreSQL use the room again; its files stay as large as they are."""
        self.execute(f"VACUUM {', '.join(_TABLES)}")


@contextlib.contextmanager
def open_postgres_archive(url: str) -> Generator[PostgresArchive]:
    """Open what was saved in a schema; see `loopwright.checkpoints.archive.open_archive`."""
    address = PostgresAddress.parse(url, schema=SCHEMA, holds="a checkpoint store")
    with contextlib.ExitStack() as stack:
        stack.enter_context(postgres_problems(address))
        connection = stack.enter_context(psycopg.connect(**connecting(address)))
        there = connection.execute("SELECT to_regclass(%s)", [f"{address.schema}.{TABLE}"]).fetchone()
        if not there or there[0] is None:
            raise CheckpointError(f"{address} is not there: name the one of a 'postgresql://...' checkpointer.")
        yield PostgresArchive(connection)
