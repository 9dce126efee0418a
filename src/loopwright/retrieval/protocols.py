"""The models that retrieval can use: anything with these methods will do."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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


class Reranker(Protocol):
    """Reads a query and a text together and says how well the one answers the other."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """A logit for each text, float32 [texts], higher is better."""
        ...
