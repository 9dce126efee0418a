"""The knowledge store in PostgreSQL: its own full-text search, vectors by pgvector."""

import json
import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ARRAY, BigInteger, ColumnElement, Connection, Text, any_, bindparam, cast, false, text

from loopwright.database import storable
from loopwright.errors import StoreError
from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.store import Inside, KnowledgeStore, Scored
from loopwright.retrieval.stores.tables import METADATA
from loopwright.retrieval.text import terms as terms_of

_MAKE_WORDS = """
CREATE TABLE passage_words (passage bigint PRIMARY KEY REFERENCES passage ON DELETE CASCADE, words tsvector NOT NULL);
CREATE INDEX passage_words_words ON passage_words USING gin (words)
"""
_WEIGHTS = "{0, 0.5, 0.5, 1}"  # for text (C), heading (B) and title (A): a title counts twice
_MOST_TERM = 200  # characters; a lexeme has at most 2,046 bytes, and a longer term is no word
_MOST_PLACE = 16_383  # what comes after it in a tsvector stands there too
_MOST_BYTES = 250_000  # of the terms of one passage; a tsvector has at most a megabyte
_LEAST_RARITY = 1e-6  # of a term that most passages have
_ABOUT = 1.25  # so much rarer than another at most is a term that is about as rare
_PGVECTOR = "SELECT extnamespace::regnamespace::text, to_regtype('vector') FROM pg_extension WHERE extname = 'vector'"
_COUNTS = """
SELECT wanted, (SELECT count(*) FROM passage_words WHERE words @@ CAST(wanted AS tsquery))
FROM unnest(CAST(:wanted AS text[])) AS wanted
"""


class PostgresStore(KnowledgeStore):
    """A `KnowledgeStore` with pgvector.

    Words are ranked by PostgreSQL's own ``ts_rank`` for each term, weighed by how rare the term is. Vectors are
    compared exactly, without an approximate index, so that a filter never costs results.
    """

    def _make(self, connection: Connection) -> None:
        self._require_pgvector(connection)
        METADATA.create_all(connection, checkfirst=False)
        for statement in _MAKE_WORDS.split(";"):
            connection.exec_driver_sql(statement)

    def _require_pgvector(self, connection: Connection) -> None:
        if found := connection.exec_driver_sql(_PGVECTOR).first():
            if found[1]:
                return
            raise StoreError(
                f"{self._database.name} needs the extension pgvector, which is in the schema {found[0]}, where it is "
                "not looked for: ALTER EXTENSION vector SET SCHEMA public"
            )
        if not connection.exec_driver_sql("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").first():
            raise StoreError(
                f"{self._database.name} needs the extension pgvector, which the server lacks: install it there "
                "(on Debian and Ubuntu the package postgresql-NN-pgvector, NN the server's version)"
            )
        connection.exec_driver_sql("CREATE EXTENSION vector WITH SCHEMA public")

    def _among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        if not values:
            return false()
        whole = isinstance(values[0], int)
        given = [storable(value) if isinstance(value, str) else value for value in values]
        kind = ARRAY(BigInteger if whole else Text)
        return column == any_(cast(bindparam(None, given, type_=kind, unique=True), kind))

    def _index(self, connection: Connection, passages: Sequence[tuple[int, Passage]]) -> None:
        rows = [{"passage": key, "words": _words(passage)} for key, passage in passages]
        if rows:
            connection.execute(text("INSERT INTO passage_words VALUES (:passage, CAST(:words AS tsvector))"), rows)

    def _best_by_text(self, connection: Connection, terms: Sequence[str], inside: Inside, limit: int) -> Scored:
        wanted = [_lexeme(term[:_MOST_TERM]) for term in terms]
        total = connection.execute(text("SELECT count(*) FROM passage_words")).scalar_one()
        counts = {row[0]: row[1] for row in connection.execute(text(_COUNTS), {"wanted": wanted})}
        held = [term for term in wanted if counts[term]]
        if not held:
            return []
        # A rank over an OR is the mean of its terms' ranks: terms that are about as rare share one call, for calls are
        # what takes time.
        alike: dict[int, list[str]] = {}
        for term in held:
            rarity = max(_LEAST_RARITY, math.log((total - counts[term] + 0.5) / (counts[term] + 0.5)))
            alike.setdefault(round(math.log(rarity, _ABOUT)), []).append(term)
        score = " + ".join(
            f"{len(some) * _ABOUT**step!r} * ts_rank('{_WEIGHTS}', words, CAST(:some{n} AS tsquery), 1)"
            for n, (step, some) in enumerate(alike.items())
        )
        found = text(
            f"SELECT passage, CAST({score} AS float8) AS score FROM passage_words "
            "WHERE words @@ CAST(:any AS tsquery) "
            f"{'AND passage = ANY(CAST(:inside AS bigint[]))' if inside is not None else ''} "
            "ORDER BY score DESC LIMIT :most"
        )
        given: dict[str, Any] = {f"some{n}": " | ".join(some) for n, some in enumerate(alike.values())}
        if inside is not None:
            given["inside"] = [*connection.scalars(inside)]
        rows = connection.execute(found, {**given, "any": " | ".join(held), "most": limit})
        return [(row[0], row[1]) for row in rows]

    def _best_by_vector(
        self, connection: Connection, model: str, vector: NDArray[np.float32], inside: Inside, limit: int
    ) -> Scored:
        similar = text(
            "SELECT embedding.passage, 1 - (embedding.value <=> CAST(:vector AS vector)) FROM embedding "
            "WHERE embedding.model = :model "
            f"{'AND embedding.passage = ANY(CAST(:inside AS bigint[]))' if inside is not None else ''} "
            "ORDER BY embedding.value <=> CAST(:vector AS vector) LIMIT :most"
        )
        given: dict[str, Any] = {"vector": self._encoded(vector), "model": storable(model), "most": limit}
        if inside is not None:
            given["inside"] = [*connection.scalars(inside)]
        # A vector of zeros has no direction; SQLite's matrix says 0 of it.
        return [(row[0], 0.0 if math.isnan(row[1]) else row[1]) for row in connection.execute(similar, given)]

    def _encoded(self, vector: NDArray[np.float32]) -> str:
        return json.dumps(vector.astype(float).tolist())


def _words(passage: Passage) -> str:
    """A passage's terms as PostgreSQL writes a tsvector: each with its place and where it stands."""
    parts = ((passage.title, "A"), (passage.heading, "B"), (passage.text, "C"))
    lexemes = [(_lexeme(storable(term[:_MOST_TERM])), mark) for part, mark in parts for term in terms_of(part)]
    sizes = accumulate(len(lexeme.encode()) for lexeme, _ in lexemes)
    return " ".join(
        f"{lexeme}:{min(place, _MOST_PLACE)}{mark}"
        for place, ((lexeme, mark), size) in enumerate(zip(lexemes, sizes, strict=True), 1)
        if size <= _MOST_BYTES
    )


def _lexeme(term: str) -> str:
    escaped = storable(term).replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
