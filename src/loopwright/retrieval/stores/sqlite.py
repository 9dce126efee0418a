"""The knowledge store in one SQLite file: BM25 by FTS5, vectors by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.base import SqlStore
from loopwright.retrieval.stores.ranking import COLUMN_WEIGHTS, Scored
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.sqlite_file import WORDS, SqliteFile
from loopwright.retrieval.stores.vectors import VectorMatrices
from loopwright.retrieval.text import terms as terms_of

_SEARCH = (
    f"SELECT rowid, -bm25({WORDS}, {', '.join(map(str, COLUMN_WEIGHTS))}) AS score FROM {WORDS} "
    f"WHERE {WORDS} MATCH ? {{inside}} ORDER BY score DESC LIMIT ?"
)


class SqliteStore(SqlStore):
    """Documents, passages, vectors, entities and facts in one SQLite file.

    Any number of processes may read while one writes. Vectors are stored as half-precision numbers (the cosine changes
    by less than 0.001) and searched exactly, in a matrix in memory that is read at the first search.
    """

    def __init__(self, path: str | Path, *, create: bool = True, timeout: float = 10.0) -> None:
        """Open a store.

        Args:
            path: The file; ``":memory:"`` keeps everything in memory until the store is closed.
            create: Whether to make the file if there is none.
            timeout: How long to wait for another process that writes, in seconds.

        Raises:
            StoreError: If there is no file and none is to be made, if it is no knowledge store of this version, or if
                it cannot be opened.
        """
        super().__init__()
        self._file = SqliteFile(path, create=create, timeout=timeout)
        self._matrices = VectorMatrices(_decoded)

    def close(self) -> None:
        """Let go of the file; again does nothing."""
        self._file.close()

    def _reading(self) -> AbstractContextManager[Session]:
        return self._file.transaction("BEGIN")

    def _writing(self) -> AbstractContextManager[Session]:
        return self._file.transaction("BEGIN IMMEDIATE")

    def _index(self, session: Session, passages: Sequence[tuple[int, Passage]]) -> None:
        session.insert(
            WORDS,
            ("rowid", "title", "heading", "text"),
            [
                (key, *(" ".join(terms_of(part)) for part in (passage.title, passage.heading, passage.text)))
                for key, passage in passages
            ],
        )

    def _unindex(self, session: Session, document_keys: Sequence[int]) -> None:
        gone = session.among("document", document_keys)
        session.rows(f"DELETE FROM {WORDS} WHERE rowid IN (SELECT key FROM passage WHERE {gone.sql})", gone.parameters)

    def _best_by_text(self, session: Session, terms: Sequence[str], inside: Condition | None, limit: int) -> Scored:
        wanted = " OR ".join(f'"{term}"' for term in terms)
        # The plus sign keeps SQLite from running the whole search again for each row that is inside.
        within = f"AND +rowid IN ({inside.sql})" if inside else ""
        parameters = inside.parameters if inside else ()
        rows = session.rows(_SEARCH.format(inside=within), (wanted, *parameters, limit))
        return [(row[0], row[1]) for row in rows]

    def _best_by_vector(
        self, session: Session, model: str, vector: NDArray[np.float32], inside: Condition | None, limit: int
    ) -> Scored:
        passages, similarities = self._matrices.similarities(session, model, vector)
        if inside is not None:
            allowed = [row[0] for row in session.rows(inside.sql, inside.parameters)]
            kept = np.isin(passages, np.array(allowed, np.int64))
            passages, similarities = passages[kept], similarities[kept]
        best = np.arange(len(passages))
        if limit < len(passages):
            best = np.argpartition(similarities, -limit)[-limit:]
        best = best[np.argsort(-similarities[best])]
        return list(zip(passages[best].tolist(), similarities[best].tolist(), strict=True))

    def _encoded(self, vector: NDArray[np.float32]) -> bytes:
        return vector.astype(np.float16).tobytes()


def _decoded(values: Sequence[Any]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(values), np.float16).reshape(len(values), -1).astype(np.float32)
