"""Vectors of passages: their normal form, and the matrix that they are searched in."""

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Connection, select

from loopwright.errors import StoreError
from loopwright.retrieval.stores.tables import EMBEDDING, counted

_PAGE = 10_000


def unit(vector: ArrayLike, what: str) -> NDArray[np.float32]:
    """A vector of length one in the same direction; zeros stay zeros.

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


def check_dimensions(connection: Connection, model: str, *found: int) -> int:
    """See that vectors have as many numbers as the model's others, and say how many that is.

    Raises:
        StoreError: If one has another number than the others, here or in the store.
    """
    known = connection.scalars(select(EMBEDDING.c.dimensions).where(EMBEDDING.c.model == model).limit(1)).first()
    known = found[0] if known is None else known
    wrong = next((length for length in found if length != known), None)
    if wrong is not None:
        raise StoreError(
            f"the store has vectors of {known} numbers from the embedding model {model!r}, and this one has {wrong}: "
            "give each model its own name"
        )
    return known


@dataclass(frozen=True, slots=True)
class _Matrix:
    changes: int
    passages: NDArray[np.int64]
    values: NDArray[np.float32]


class VectorMatrices:
    """The half-precision vectors of each model as a matrix in memory, read anew when the store has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: dict[str, _Matrix] = {}

    def similarities(
        self, connection: Connection, model: str, vector: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The number of each passage that has a vector, and its cosine to a vector of length one."""
        with self._lock:
            matrix = self._matrices[model] = self._current(connection, model, len(vector))
        return matrix.passages, matrix.values @ vector if len(matrix.passages) else np.empty(0, np.float32)

    def _current(self, connection: Connection, model: str, dimensions: int) -> _Matrix:
        known = self._matrices.get(model)
        # The revision does not count vectors, but each that is stored takes a number; neither counter ever falls.
        changes = counted(connection, "revision") + counted(connection, "key")
        if known is not None and known.changes == changes:
            return known
        columns = select(EMBEDDING.c.passage, EMBEDDING.c.value)
        wanted = columns.where(EMBEDDING.c.model == model).order_by(EMBEDDING.c.key)
        passages: list[int] = []
        values = [np.empty((0, dimensions), np.float16)]
        for rows in connection.execute(wanted).partitions(_PAGE):
            passages += [row[0] for row in rows]
            values.append(np.frombuffer(b"".join(row[1] for row in rows), np.float16).reshape(len(rows), -1))
        return _Matrix(changes, np.array(passages, np.int64), np.concatenate(values, dtype=np.float32))
