"""What every knowledge store can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.records import (
    Contribution,
    Document,
    Filter,
    Hit,
    Links,
    Passage,
    StoreStats,
)


@runtime_checkable
class KnowledgeStore(Protocol):
    """Documents, passages, their links and vectors. Every method may be called from several threads.

    Every method raises `StoreError` where the backend fails: a store that is down is never "nothing found".
    """

    def put(self, contributions: Sequence[Contribution]) -> None:
        """Store documents with all that they bring, in one transaction; a document that is there is replaced whole."""
        ...

    def delete(self, document_ids: Sequence[str]) -> int:
        """Take documents away with all that only they brought, and say how many there were."""
        ...

    def digests(self, document_ids: Sequence[str] | None = None) -> dict[str, str]:
        """Document id -> digest, of those that are there; None asks for all."""
        ...

    def documents(self, where: Filter | None = None, *, offset: int = 0, limit: int | None = None) -> list[Document]:
        """The documents, by id."""
        ...

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in the same order; those that are not there are left out."""
        ...

    def passages_of(self, document_id: str) -> list[Passage]:
        """A document's passages, in order."""
        ...

    def search_text(self, query: str, k: int, where: Filter | None = None) -> list[Hit]:
        """The passages with any of the words, by how often, how rare and where they stand; best first, ties by id."""
        ...

    def search_vector(
        self, vector: NDArray[np.float32], k: int, where: Filter | None = None, *, model: str
    ) -> list[Hit]:
        """The passages with the most similar vectors by cosine, best first; ties by id."""
        ...

    def without_vector(self, model: str, limit: int) -> list[Passage]:
        """Passages that have no vector of this model yet."""
        ...

    def put_vectors(self, model: str, vectors: Sequence[tuple[Passage, NDArray[np.float32]]]) -> None:
        """Store the vectors of passages as they were embedded; of those that are gone or changed by now, none."""
        ...

    def links(self) -> Links:
        """Which passages name which entities."""
        ...

    def revision(self, within: float = 0.0) -> int:
        """A number that grows with every change of documents, by whichever process; vectors do not count.

        What was derived from the documents is made anew when it has grown.

        Args:
            within: Seconds for which a change by another process may go unseen.
        """
        ...

    def stats(self) -> StoreStats:
        """How much it holds."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...

    def __enter__(self) -> Self:
        """Use it in a ``with`` statement."""
        ...

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        ...
