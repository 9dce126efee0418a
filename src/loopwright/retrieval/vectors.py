"""Giving vectors to passages that have none yet, apart from storing them: lexical search does not wait for that."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.store import KnowledgeStore


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how alike they are."""

    @property
    def model(self) -> str:
        """Names the vector space: vectors of different models are never compared."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The texts' vectors, float32 [texts, dimensions], each of length 1."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A question's vector, float32 [dimensions], of length 1."""
        ...


def embedded_text(passage: Passage) -> str:
    """What is embedded of a passage: its title, its headings and its text, each on a line."""
    return "\n".join(part for part in (passage.title, passage.heading, passage.text) if part)


def fill_vectors(
    store: KnowledgeStore,
    embedder: Embedder,
    *,
    text_of: Callable[[Passage], str] = embedded_text,
    batch: int = 64,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed the passages that have no vector of this model, and say how many got one.

    Every batch is stored when it is ready, so that a later call goes on where this one ended, however it ended. It can
    run in a thread of its own while others search, ingest and delete. ``text_of`` is what is embedded of a passage, by
    default `embedded_text`, and ``batch`` how many passages are one transaction; ``on_progress`` is told after each how
    many got a vector, and how many there are to do in all.

    Raises:
        StoreError: If the store fails; the batches before stay.
    """
    stats = store.stats()
    # Vectors of other models count too, so this is a lower bound, mended as the work goes on.
    total = max(stats.passages - stats.vectors, 0)
    done = 0
    while passages := store.without_vector(embedder.model, batch):
        texts = [text_of(passage) for passage in passages]
        # Some texts come many times, for example names.
        unlike = list(dict.fromkeys(texts))
        vectors = dict(zip(unlike, embedder.embed(unlike), strict=True))
        found = [(passage, vectors[text]) for passage, text in zip(passages, texts, strict=True)]
        store.put_vectors(embedder.model, found)
        done += len(passages)
        total = max(total, done)
        if on_progress is not None:
            on_progress(done, total)
    return done
