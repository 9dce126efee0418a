"""Checkpoints in PostgreSQL: LangGraph's own saver, with long texts kept once, as it keeps other values.

LangGraph's saver keeps each version of a channel in a row, but strings and numbers in the JSON of every checkpoint: a
long text is written again at each step, a NUL in it is refused, and ``1e22`` comes back as an integer. Here only what
JSON gives back as it was, and is small, stays there.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import errors
from psycopg_pool import ConnectionPool

from loopwright.checkpoints.archive import ATTEMPTS, BEGIN, POSTGRES, WAIT, Archive, CheckpointsAway
from loopwright.errors import CheckpointError
from loopwright.postgres import STANDSTILL, PostgresAddress

SHORT = 512
"""Up to how many characters a text stays in the JSON of every checkpoint."""

SCHEMA = "loopwright_checkpoints"
"""The schema where the address names none."""

T = TypeVar("T")

_OUTAGE = 120.0
"""Seconds for which a run waits for a database that is gone, before it is given back to go on later."""

_HOW: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0}
_TOO_MUCH = "54"  # the beginning of SQLSTATE where a value is too large for PostgreSQL, as it will be at each attempt
_GONE = (psycopg.OperationalError, errors.ReadOnlySqlTransaction, errors.IdleInTransactionSessionTimeout)


class _Connection(psycopg.Connection[Any]):
    """Is closed once it was refused a write: to the server that takes none since a failover it would lead for good."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, errors.ReadOnlySqlTransaction):
            self.close()
        super().__exit__(kind, error, trace)


class KeptPostgresSaver(Archive, PostgresSaver):
    """LangGraph's saver, with what JSON does not give back, or is long, apart.

    An asynchronous run waits for a database that is gone for a moment, and does not fail.
    """

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        checkpoint, new_versions = _set_apart(checkpoint, new_versions)
        return PostgresSaver.put(self, config, checkpoint, metadata, new_versions)

    def _dump_blobs(self, thread_id: str, checkpoint_ns: str, values: dict[str, Any], versions: ChannelVersions) -> Any:
        plain = {name: value.value if type(value) is _Apart else value for name, value in values.items()}
        return PostgresSaver._dump_blobs(self, thread_id, checkpoint_ns, plain, versions)

    async def in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a call again while the database is gone; each of these can be repeated, whether or not it was done."""
        end = time.monotonic() + _OUTAGE
        while True:
            try:
                return await Archive.in_thread(self, call, *arguments)
            except (*_GONE, CheckpointError) as error:
                cause = error.__cause__ or error
                lasting = not isinstance(cause, _GONE) or (cause.sqlstate or "").startswith(_TOO_MUCH)
                if lasting or time.monotonic() > end:
                    if lasting or isinstance(error, CheckpointError):
                        raise
                    told = f"the checkpoints in PostgreSQL cannot be reached: {' '.join(str(error).split())}"
                    raise CheckpointsAway(told, transient=True) from error
            await asyncio.sleep(0.5)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run."""
        with self._cursor() as cursor:
            cursor.execute(f"DELETE FROM {ATTEMPTS} WHERE thread_id = %s".encode(), [str(thread_id)])
        PostgresSaver.delete_thread(self, thread_id)

    def fence(self, thread_id: str, epoch: int) -> None:
        """Refuse what an earlier attempt of a run would save."""
        with self._cursor() as cursor:
            cursor.execute(BEGIN.encode(), [thread_id, epoch])


class _Apart:
    """A plain value that LangGraph's saver is not to write as JSON."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _set_apart(checkpoint: Checkpoint, new_versions: ChannelVersions) -> tuple[Checkpoint, ChannelVersions]:
    """Mark the plain values that JSON would change or that are long, and name their versions as to be kept.

    They are named at every step: where LangGraph's saver alone wrote this thread before, no row has their version yet.
    """
    versions = checkpoint["channel_versions"]
    apart = {
        name: _Apart(value)
        for name, value in checkpoint["channel_values"].items()
        if isinstance(value, str | int | float) and name in versions and not _is_plain(value)
    }
    values = {**checkpoint["channel_values"], **apart}
    return {**checkpoint, "channel_values": values}, {**new_versions, **{name: versions[name] for name in apart}}


def _is_plain(value: str | float) -> bool:
    """Say whether PostgreSQL's JSON gives a value back as it is, and it is small."""
    if type(value) is str and len(value) < SHORT:
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    return type(value) in (bool, int)


@contextlib.contextmanager
def open_saver(url: str, serde: JsonPlusSerializer) -> Generator[KeptPostgresSaver, None, None]:
    """Open the saver for synchronous calls; see `loopwright.checkpoints.open_checkpointer`."""
    with pool_at(prepared(url)) as pool, KeptPostgresSaver(pool, serde=serde) as saver:
        try:
            yield saver
        finally:
            saver.close("PostgreSQL")


def pool_at(address: PostgresAddress, wait: float = WAIT) -> ConnectionPool[Any]:
    """One connection, made anew where it is lost: a saver, or a store, does one thing at a time. It is not open yet."""
    return ConnectionPool(
        kwargs=address.libpq() | _HOW, connection_class=_Connection,
        configure=partial(address.configure, idle=STANDSTILL),
        check=ConnectionPool.check_connection, min_size=1, max_size=1, timeout=wait, open=False,
        reconnect_timeout=wait / 2,  # by its own back-off it would come back as long after an outage as that lasted
    )  # fmt: skip


def prepared(url: str) -> PostgresAddress:
    """Read an address, and make the schema and the tables that are missing there.

    Raises:
        ConfigError: If the address cannot be read.
        CheckpointError: If the database cannot be used.
    """
    address = PostgresAddress.parse(url, schema=SCHEMA, holds="a checkpoint store")
    try:
        with connected(address) as connection:
            kept = _one(connection, "SELECT to_regproc(%s)", f"{address.schema}.loopwright_fence_2") is not None
            if not (kept and is_made(connection, address, "checkpoint_migrations", PostgresSaver)):
                make_tables(connection, address, PostgresSaver(connection).setup)
                # Several statements at once; last: it says that all is there.
                connection.execute(POSTGRES.encode(), prepare=False)
    except psycopg.Error as problem:
        raise CheckpointError(
            f"{address} cannot be used ({str(problem).strip()}). See that the server runs and lets the user "
            f"{address.user} make tables there."
        ) from problem
    return address


def is_made(connection: psycopg.Connection[Any], address: PostgresAddress, versions: str, kind: Any) -> bool:
    """Whether the tables of a class of LangGraph's are there as it wants them; who may make none can use them then."""
    if _one(connection, "SELECT to_regclass(%s)", f"{address.schema}.{versions}") is None:
        return False
    newest = _one(connection, f"SELECT max(v) FROM {versions}")
    return newest is not None and newest >= len(kind.MIGRATIONS) - 1


@contextlib.contextmanager
def connected(address: PostgresAddress, wait: float = 10) -> Generator[psycopg.Connection[Any]]:
    """A connection apart, to make tables by, which is waited for so many seconds."""
    how: dict[str, Any] = {**address.libpq(), **_HOW, "connect_timeout": int(wait)}
    with psycopg.connect(**how) as connection:
        address.configure(connection)
        yield connection


def make_tables(connection: psycopg.Connection[Any], address: PostgresAddress, setup: Callable[[], object]) -> None:
    """Make a schema where it is missing, and the tables of one of LangGraph's savers or stores by its `setup`."""
    # Asked again and again: an index that LangGraph makes waits for every statement that runs, also for one that waits
    # for a lock. The lock ends with the connection.
    until = time.monotonic() + _OUTAGE
    while not _one(connection, "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", f"{address.schema}.{ATTEMPTS}"):
        if time.monotonic() > until:
            raise psycopg.OperationalError("another process makes the tables, and does not end")
        time.sleep(0.05)
    address.make_schema(connection)
    setup()


def _one(connection: psycopg.Connection[Any], query: str, *parameters: str) -> Any:
    row = connection.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None
