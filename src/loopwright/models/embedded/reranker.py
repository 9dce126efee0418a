"""How well passages answer a query, from an ONNX cross-encoder on this machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loopwright.models.embedded.resolving import Weights, resolve
from loopwright.models.embedded.sessions import TextGraph


class OnnxReranker:
    """Reads a query and a passage together, and says how relevant the passage is.

    A score depends on its query and passage alone. All methods may be called from several threads.

    Attributes:
        model: The model's name in the catalogue: scores of two names must not be compared.
    """

    def __init__(self, weights: Weights) -> None:
        """Load the model.

        Args:
            weights: Its files.

        Raises:
            WeightsError: If a file cannot be loaded.
        """
        self.model = weights.model.name
        self._graph = TextGraph(weights)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score passages against a query.

        Args:
            query: The query.
            texts: The passages; what is beyond the model's longest input is not read.

        Returns:
            A logit for each passage [texts], in order; higher is more relevant.
        """
        scores = np.empty(len(texts), dtype=np.float32)
        for row, (logits, _) in enumerate(self._graph.outputs([(query, text) for text in texts])):
            scores[row] = logits[0]
        return scores


def open_reranker(name: str) -> OnnxReranker:
    """Find and load a reranker.

    Args:
        name: A name of the catalogue.

    Returns:
        The model.

    Raises:
        WeightsError: If it is unknown, not here, not a reranker, or damaged.
    """
    return OnnxReranker(resolve(name, "reranker"))
