"""Vectors of passages: their normal form, and the matrix that they are searched in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopwright.errors import StoreError
from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.sessions import Session
from loopwright.retrieval.stores.storable import storable
from loopwright.retrieval.stores.tables import count_up, counted

_PAGE = 10_000


def unit(vector: ArrayLike, what: str) -> NDArray[np.float32]:
    """A vector of length one in the same direction; zeros stay zeros.

    Args:
        vector: One dimension of finite numbers.
        what: Whose vector, for messages.

    Raises:
        StoreError: If it has another shape, or a number that is not finite.
    """
    values = np.asarray(vector, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise StoreError(
            f"the vector of {what} is no row of finite numbers (shape {values.shape}): look at the embedding model"
        )
    length = float(np.linalg.norm(values))
    return (values / length if length else values).astype(np.float32)


def check_dimensions(session: Session, model: str, found: int, *, register: bool = False) -> None:
    """See that a vector has as many numbers as the model's others.

    Args:
        session: The transaction; it must write if ``register`` is set.
        model: The embedding model.
        found: How many numbers the vector has.
        register: Whether the first vector of a model decides.

    Raises:
        StoreError: If it has not.
    """
    rows = session.rows("SELECT dimensions FROM embedding_model WHERE name = ?", (model,))
    if not rows and register:
        session.insert("embedding_model", ("name", "dimensions"), [(model, found)])
    elif rows and rows[0][0] != found:
        raise StoreError(
            f"the store has vectors of {rows[0][0]} numbers from the embedding model {model!r}, and this one has "
            f"{found}: give each model its own name"
        )


def store_vectors(
    session: Session,
    model: str,
    vectors: Mapping[str, tuple[Passage, NDArray[np.float32]]],
    encoded: Callable[[NDArray[np.float32]], Any],
) -> None:
    """Insert or replace the vectors of passages that are there with the text that was embedded.

    Args:
        session: A transaction that writes.
        model: The embedding model that they come from.
        vectors: Passage id -> the passage that was embedded, and its vector of length one.
        encoded: Gives a vector as it is stored.
    """
    named = session.among("id", list(vectors))
    found = session.rows(
        f"SELECT key, id, title, heading, text FROM passage WHERE {named.sql} ORDER BY key", named.parameters
    )
    # A document that was replaced meanwhile may have another text under the same id.
    rows = [row for row in found if tuple(row[2:]) == _embedded(vectors[row[1]][0])]
    if not rows:
        return
    for _, vector in vectors.values():
        check_dimensions(session, model, len(vector), register=True)
    replaced = session.among("passage", [row[0] for row in rows])
    session.rows(f"DELETE FROM embedding WHERE model = ? AND {replaced.sql}", (model, *replaced.parameters))
    first = count_up(session, "key", len(rows)) + 1
    session.insert(
        "embedding",
        ("key", "passage", "model", "value"),
        [(number, row[0], model, encoded(vectors[row[1]][1])) for number, row in enumerate(rows, first)],
    )


def _embedded(passage: Passage) -> tuple[str, str, str]:
    return storable(passage.title), storable(passage.heading), storable(passage.text)


@dataclass(frozen=True, slots=True)
class _Matrix:
    changes: int
    last: int
    passages: NDArray[np.int64]
    values: NDArray[np.float32]


class VectorMatrices:
    """The vectors of each model as a matrix in memory, brought up to date when the store has changed.

    What was added is read in addition; everything is read anew only after vectors were taken away or replaced.
    """

    def __init__(self, decode: Callable[[Sequence[Any]], NDArray[np.float32]]) -> None:
        """Read nothing yet.

        Args:
            decode: Makes stored values an array of shape (values, dimensions).
        """
        self._decode = decode
        self._lock = threading.Lock()
        self._matrices: dict[str, _Matrix] = {}

    def similarities(
        self, session: Session, model: str, vector: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The number of each passage that has a vector, and its cosine to a vector of length one.

        Args:
            session: The transaction to bring the matrix up to date in.
            model: The embedding model.
            vector: The vector.
        """
        with self._lock:
            matrix = self._matrices[model] = self._current(session, model)
        similarities = matrix.values @ vector if len(matrix.passages) else np.empty(0, np.float32)
        return matrix.passages, similarities

    def _current(self, session: Session, model: str) -> _Matrix:
        known = self._matrices.get(model)
        # The revision does not count vectors, but each that is stored takes a number; neither counter ever falls.
        changes = counted(session, "revision") + counted(session, "key")
        if known is not None and known.changes == changes:
            return known
        stored = int(session.rows("SELECT count(*) FROM embedding WHERE model = ?", (model,))[0][0])
        if known is not None and known.changes > changes:
            known = None  # another thread has read a state that this transaction does not see
        if known is not None:
            later = session.rows("SELECT count(*) FROM embedding WHERE key > ? AND model = ?", (known.last, model))
            if stored != len(known.passages) + int(later[0][0]):
                known = None
        return self._read(session, model, changes, stored, known)

    def _read(self, session: Session, model: str, changes: int, stored: int, known: _Matrix | None) -> _Matrix:
        filled = 0 if known is None else len(known.passages)
        last = 0 if known is None else known.last
        if known is not None and filled == stored:
            return _Matrix(changes, last, known.passages, known.values)
        dimensions = session.rows("SELECT dimensions FROM embedding_model WHERE name = ?", (model,))
        passages = np.empty(stored, np.int64)
        values = np.empty((stored, dimensions[0][0] if dimensions else 0), np.float32)
        if known is not None and filled:
            passages[:filled], values[:filled] = known.passages, known.values
        while filled < stored:
            rows = session.rows(
                "SELECT key, passage, value FROM embedding WHERE key > ? AND model = ? ORDER BY key LIMIT ?",
                (last, model, _PAGE),
            )
            passages[filled : filled + len(rows)] = [row[1] for row in rows]
            values[filled : filled + len(rows)] = self._decode([row[2] for row in rows])
            filled, last = filled + len(rows), rows[-1][0]
        return _Matrix(changes, last, passages, values)
