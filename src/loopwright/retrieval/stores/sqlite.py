"""A knowledge store in one SQLite file: BM25 by FTS5, vectors by NumPy."""

import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, column, func, insert, literal_column, select, table, text

from loopwright.database import storable
from loopwright.database.database import Database
from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.store import Inside, KnowledgeStore, Scored
from loopwright.retrieval.stores.tables import EMBEDDING, METADATA, counted
from loopwright.retrieval.text import terms as terms_of

WORDS = "passage_words"
"""The FTS5 table: the terms of each passage's title, heading and text, separated by spaces; rowid is its number."""

# Terms are split already: everything that can stand in one belongs to it, marks of Thai and unassigned signs too.
_MAKE_WORDS = (
    f"CREATE VIRTUAL TABLE {WORDS} USING fts5(title, heading, text, "
    "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\")"
)
_WORDS = table(WORDS, column("rowid"), column("title"), column("heading"), column("text"))
_PAGE = 10_000
_SCORE = literal_column(f"-bm25({WORDS}, 2.0, 1.0, 1.0)").label("score")  # a title counts twice


class SqliteStore(KnowledgeStore):
    """A `KnowledgeStore` in a file or in memory. Any number of processes may read while one writes.

    Vectors are stored as half-precision numbers (the cosine changes by less than 0.001) and searched exactly, in a
    matrix in memory that is read at the first search.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._matrices: dict[str, tuple[int, NDArray[np.int64], NDArray[np.float32]]] = {}
        """Model -> the state of the store, the numbers of passages, and their vectors as a matrix in memory."""

    def _make(self, connection: Connection) -> None:
        METADATA.create_all(connection, checkfirst=False)
        connection.exec_driver_sql(_MAKE_WORDS)

    def _among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        listed = json.dumps([storable(value) if isinstance(value, str) else value for value in values])
        return column.in_(select(func.json_each(listed).table_valued("value").c.value))

    def _index(self, connection: Connection, passages: Sequence[tuple[int, Passage]]) -> None:
        parts = ("title", "heading", "text")
        rows = [
            {"rowid": key, **{part: " ".join(terms_of(getattr(passage, part))) for part in parts}}
            for key, passage in passages
        ]
        if rows:
            connection.execute(insert(_WORDS), rows)

    def _unindex(self, connection: Connection, gone: Select[tuple[int]]) -> None:
        connection.execute(_WORDS.delete().where(_WORDS.c.rowid.in_(gone)))

    def _best_by_text(self, connection: Connection, terms: Sequence[str], inside: Inside, limit: int) -> Scored:
        wanted = text(f"{WORDS} MATCH :wanted").bindparams(wanted=" OR ".join(f'"{term}"' for term in terms))
        found = select(_WORDS.c.rowid, _SCORE).where(wanted).order_by(_SCORE.desc()).limit(limit)
        if inside is not None:
            # The plus sign keeps SQLite from running the whole search again for each row that is inside.
            found = found.where(literal_column("+rowid").in_(inside))
        return [(row[0], row[1]) for row in connection.execute(found)]

    def _best_by_vector(
        self, connection: Connection, model: str, vector: NDArray[np.float32], inside: Inside, limit: int
    ) -> Scored:
        passages, matrix = self._matrix(connection, model, len(vector))
        similarities = matrix @ vector if len(passages) else np.empty(0, np.float32)  # an empty one may be wider
        if inside is not None:
            kept = np.isin(passages, np.array(connection.scalars(inside).all(), np.int64))
            passages, similarities = passages[kept], similarities[kept]
        best = np.arange(len(passages))
        if limit < len(passages):
            best = np.argpartition(similarities, -limit)[-limit:]
        best = best[np.argsort(-similarities[best])]
        return list(zip(passages[best].tolist(), similarities[best].tolist(), strict=True))

    def _matrix(
        self, connection: Connection, model: str, dimensions: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The vectors of a model, read anew when the store has changed, and the passages that they are of."""
        with self._lock:
            # The revision does not count vectors, but each that is stored takes a number; neither counter ever falls.
            changes = counted(connection, "revision") + counted(connection, "key")
            if model not in self._matrices or self._matrices[model][0] != changes:
                columns = select(EMBEDDING.c.passage, EMBEDDING.c.value)
                wanted = columns.where(EMBEDDING.c.model == model).order_by(EMBEDDING.c.key)
                passages, values = list[int](), [np.empty((0, dimensions), np.float16)]
                for rows in connection.execute(wanted).partitions(_PAGE):
                    passages += [row[0] for row in rows]
                    values.append(np.frombuffer(b"".join(row[1] for row in rows), np.float16).reshape(len(rows), -1))
                matrix = np.concatenate(values, dtype=np.float32)
                self._matrices[model] = changes, np.array(passages, np.int64), matrix
            return self._matrices[model][1:]

    def _encoded(self, vector: NDArray[np.float32]) -> bytes:
        return vector.astype(np.float16).tobytes()
