"""The knowledge store in PostgreSQL: BM25 over a table of terms, vectors by pgvector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ConfigError, StoreError
from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores import postgres_text
from loopwright.retrieval.stores.base import SqlStore
from loopwright.retrieval.stores.ranking import Scored
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.tables import SCHEMA_VERSION, counted, table_statements

try:
    from loopwright.postgres import PostgresAddress
    from loopwright.retrieval.stores.postgres_server import PostgresServer
except ModuleNotFoundError as missing:
    raise ConfigError("a knowledge store in PostgreSQL needs pg8000: pip install 'loopwright[postgres]'") from missing

_MAKING = 0x4C57_4B53  # the advisory lock of those that make the tables


class PostgresStore(SqlStore):
    """Documents, passages, vectors, entities and facts in one schema of a PostgreSQL database with pgvector.

    Vectors are compared exactly, without an approximate index, so that a filter never costs results.
    """

    def __init__(self, url: str) -> None:
        """Connect, and make schema and tables where they are missing.

        Args:
            url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME``; the schema is "loopwright" by default,
                and ``host=FOLDER`` after the question mark takes a socket in that folder.

        Raises:
            ConfigError: If the address is wrong.
            StoreError: If the server cannot be reached, has no pgvector, or the schema holds something else.
        """
        super().__init__()
        self._server = PostgresServer(PostgresAddress.parse(url, schema="loopwright", holds="a knowledge store"))
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections; again does nothing."""
        self._server.close()

    def _reading(self) -> AbstractContextManager[Session]:
        return self._server.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _writing(self) -> AbstractContextManager[Session]:
        return self._server.transaction("BEGIN; LOCK TABLE counter IN EXCLUSIVE MODE")

    def _prepare(self) -> None:
        schema = self._server.address.schema
        with self._server.transaction("BEGIN") as session:
            session.rows("SELECT pg_advisory_xact_lock(?)", (_MAKING,))
            tables = session.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", (schema,))
            if tables:
                self._recognise(session, {row[0] for row in tables})
                return
            self._find_vectors(session)
            session.rows(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            for statement in table_statements(
                integer="bigint",
                text='text COLLATE "C"',
                real="double precision",
                vector="vector",
                long_index="USING hash",
            ):
                session.rows(statement)
            for statement in postgres_text.TABLES.split(";"):
                if statement.strip():
                    session.rows(statement)

    def _recognise(self, session: Session, tables: set[str]) -> None:
        if not {"counter", "passage", "posting"} <= tables:
            raise StoreError(
                f"{self._server.address} holds other tables, and was not touched: name another one, with ?schema=NAME"
            )
        version = counted(session, "version")
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self._server.address} has the format {version}, this version of Loopwright reads format "
                f"{SCHEMA_VERSION}; it was not touched: ingest the documents into another schema, with ?schema=NAME"
            )

    def _find_vectors(self, session: Session) -> None:
        if session.rows("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
            return
        if not session.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
            raise StoreError(
                f"{self._server.address} needs the extension pgvector, which the server lacks: install it there "
                "(on Debian and Ubuntu the package postgresql-NN-pgvector, NN the server's version)"
            )
        session.rows("CREATE EXTENSION vector WITH SCHEMA public")

    def _index(self, session: Session, passages: Sequence[tuple[int, Passage]]) -> None:
        postgres_text.index(session, passages)

    def _unindex(self, session: Session, document_keys: Sequence[int]) -> None:
        postgres_text.unindex(session, document_keys)

    def _best_by_text(self, session: Session, terms: Sequence[str], inside: Condition | None, limit: int) -> Scored:
        return postgres_text.best_by_text(session, terms, inside, limit)

    def _best_by_vector(
        self, session: Session, model: str, vector: NDArray[np.float32], inside: Condition | None, limit: int
    ) -> Scored:
        within = f"AND passage IN ({inside.sql})" if inside else ""
        # By inner product, which for vectors of length one is the cosine, and is defined for zeros too.
        rows = session.rows(
            f"SELECT passage, -(value <#> CAST(? AS vector)) AS score FROM embedding WHERE model = ? {within} "
            "ORDER BY score DESC LIMIT ?",
            (self._encoded(vector), model, *(inside.parameters if inside else ()), limit),
        )
        return [(row[0], row[1]) for row in rows]

    def _encoded(self, vector: NDArray[np.float32]) -> str:
        return f"[{','.join(map(str, vector.tolist()))}]"
