"""A knowledge store in one SQLite file: BM25 by FTS5, vectors by NumPy."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, column, func, insert, literal_column, select, table, text

from loopwright.database import storable
from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.backend import Backend, Inside, Scored
from loopwright.retrieval.stores.tables import METADATA
from loopwright.retrieval.stores.vectors import VectorMatrices
from loopwright.retrieval.text import terms as terms_of

WORDS = "passage_words"
"""The FTS5 table: the terms of each passage's title, heading and text, separated by spaces; rowid is its number."""

# Terms are split already: everything that can stand in one belongs to it, marks of Thai and unassigned signs too.
_MAKE_WORDS = (
    f"CREATE VIRTUAL TABLE {WORDS} USING fts5(title, heading, text, "
    "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\")"
)
_WORDS = table(WORDS, column("rowid"), column("title"), column("heading"), column("text"))
_SCORE = literal_column(f"-bm25({WORDS}, 2.0, 1.0, 1.0)").label("score")  # a title counts twice


def backend() -> Backend:
    """What SQLite does in ways of its own."""
    return _Sqlite()


class _Sqlite:
    """A `Backend`. Any number of processes may read while one writes.

    Vectors are stored as half-precision numbers (the cosine changes by less than 0.001) and searched exactly, in a
    matrix in memory that is read at the first search.
    """

    def __init__(self) -> None:
        self._matrices = VectorMatrices()

    def make(self, connection: Connection) -> None:
        METADATA.create_all(connection, checkfirst=False)
        connection.exec_driver_sql(_MAKE_WORDS)

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        listed = json.dumps([storable(value) if isinstance(value, str) else value for value in values])
        return column.in_(select(func.json_each(listed).table_valued("value").c.value))

    def index(self, connection: Connection, passages: Sequence[tuple[int, Passage]]) -> None:
        rows = [
            {
                "rowid": key,
                **{part: " ".join(terms_of(getattr(passage, part))) for part in ("title", "heading", "text")},
            }
            for key, passage in passages
        ]
        if rows:
            connection.execute(insert(_WORDS), rows)

    def unindex(self, connection: Connection, gone: Select[tuple[int]]) -> None:
        connection.execute(_WORDS.delete().where(_WORDS.c.rowid.in_(gone)))

    def best_by_text(self, connection: Connection, terms: Sequence[str], inside: Inside, limit: int) -> Scored:
        wanted = text(f"{WORDS} MATCH :wanted").bindparams(wanted=" OR ".join(f'"{term}"' for term in terms))
        found = select(_WORDS.c.rowid, _SCORE).where(wanted).order_by(_SCORE.desc()).limit(limit)
        if inside is not None:
            # The plus sign keeps SQLite from running the whole search again for each row that is inside.
            found = found.where(literal_column("+rowid").in_(inside))
        return [(row[0], row[1]) for row in connection.execute(found)]

    def best_by_vector(
        self, connection: Connection, model: str, vector: NDArray[np.float32], inside: Inside, limit: int
    ) -> Scored:
        passages, similarities = self._matrices.similarities(connection, model, vector)
        if inside is not None:
            kept = np.isin(passages, np.array(connection.scalars(inside).all(), np.int64))
            passages, similarities = passages[kept], similarities[kept]
        best = np.arange(len(passages))
        if limit < len(passages):
            best = np.argpartition(similarities, -limit)[-limit:]
        best = best[np.argsort(-similarities[best])]
        return list(zip(passages[best].tolist(), similarities[best].tolist(), strict=True))

    def encoded(self, vector: NDArray[np.float32]) -> bytes:
        return vector.astype(np.float16).tobytes()
