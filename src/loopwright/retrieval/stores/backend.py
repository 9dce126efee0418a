"""What SQLite and PostgreSQL do in ways of their own: the two searches, and long lists."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select

from loopwright.retrieval.records import Passage

Scored = list[tuple[int, float]]
"""Passage numbers and scores, best first."""
Inside = Select[tuple[int]] | None
"""The numbers of the passages that count; None for all."""


class Backend(Protocol):
    """One kind of database."""

    def make(self, connection: Connection) -> None:
        """Make the tables, and beside them the index of words.

        Raises:
            StoreError: If the database has not what they need.
        """

    def among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        """The column has one of the values, all text or all whole numbers, however many there are."""
        ...

    def index(self, connection: Connection, passages: Sequence[tuple[int, Passage]]) -> None:
        """Make passages findable by their words."""

    def unindex(self, connection: Connection, gone: Select[tuple[int]]) -> None:
        """Take passages, by their numbers, out of the index of words, before they are deleted."""

    def best_by_text(self, connection: Connection, terms: Sequence[str], inside: Inside, limit: int) -> Scored:
        """The passages with any of the terms, those with the most, rarest and most prominent ones first."""
        ...

    def best_by_vector(
        self, connection: Connection, model: str, vector: NDArray[np.float32], inside: Inside, limit: int
    ) -> Scored:
        """The best passages by cosine to a vector of length one; exact, never approximate."""
        ...

    def encoded(self, vector: NDArray[np.float32]) -> Any:
        """A vector as it is stored."""
        ...
