"""A small embedding model without weights."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.text import terms


class WordEmbedder:
    """Word hashing: a real, if simple, vector space; remembers what it was asked."""

    model = "words"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        vectors = np.zeros((len(texts), 256), np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                vectors[row, hashlib.sha256(term.encode()).digest()[0]] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed([text])[0]
