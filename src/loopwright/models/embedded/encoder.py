"""Vectors of texts, and how well passages answer a query, from ONNX models on this machine."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loopwright.models.embedded.resolving import Weights, resolve
from loopwright.models.embedded.sessions import TextGraph


class OnnxEmbedder:
    """Turns texts into vectors of length 1, so that a dot product is the cosine similarity.

    A text's vector depends on that text alone. All methods may be called from several threads.

    Attributes:
        model: The model's name in the catalogue: vectors of two names must not be compared.
        dimensions: The length of a vector.
    """

    def __init__(self, weights: Weights) -> None:
        self.model = weights.model.name
        self.dimensions = weights.model.dimensions
        self._known = weights.model
        self._graph = TextGraph(weights)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed passages, as vectors [texts, dimensions] in their order.

        What is beyond the model's longest input is not read.
        """
        return self._vectors([self._known.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prefix that the model expects before one: a vector [dimensions]."""
        return self._vectors([self._known.query_prefix + text])[0]

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, (tokens, mask) in enumerate(self._graph.outputs(texts)):
            vector = tokens[0] if self._known.pooling == "cls" else tokens[mask == 1].mean(axis=0)
            vectors[row] = vector / np.linalg.norm(vector)
        return vectors


def open_embedder(name: str) -> OnnxEmbedder:
    """Find an embedding model of the catalogue as `resolve` does, with its errors, and load it."""
    return OnnxEmbedder(resolve(name, "embedding"))


class OnnxReranker:
    """Reads a query and a passage together, and says how relevant the passage is.

    A score depends on its query and passage alone. All methods may be called from several threads.

    Attributes:
        model: The model's name in the catalogue: scores of two names must not be compared.
    """

    def __init__(self, weights: Weights) -> None:
        self.model = weights.model.name
        self._graph = TextGraph(weights)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score passages against a query: a logit for each [texts], in their order; higher is more relevant.

        What is beyond the model's longest input is not read.
        """
        outputs = self._graph.outputs([(query, text) for text in texts])
        return np.array([logits[0] for logits, _ in outputs], dtype=np.float32)


def open_reranker(name: str) -> OnnxReranker:
    """Find a reranker of the catalogue as `resolve` does, with its errors, and load it."""
    return OnnxReranker(resolve(name, "reranker"))
