"""A run on two fixed pairs, to see that a model not only loads but also understands."""

from __future__ import annotations

from loopwright.errors import WeightsError
from loopwright.models.embedded.resolving import Weights

_QUERY = "How tall is the highest mountain on earth?"
_RELATED = "Mount Everest reaches 8,849 metres above sea level."
_UNRELATED = "The bakery sells fresh bread from seven in the morning."


def try_out(weights: Weights) -> str:
    """Let a model compare a related and an unrelated pair.

    Args:
        weights: The model's files.

    Returns:
        What was found, in a few words; of a chat model, that it was not run.

    Raises:
        WeightsError: If the model cannot be loaded, or ranks the unrelated pair first.
    """
    if weights.model.role == "chat":
        return "not run: it needs a server of its own"
    related, unrelated = _scores(weights)
    if related <= unrelated:
        raise WeightsError(
            f"{weights.model.name} finds an unrelated pair ({unrelated:.2f}) at least as close as a related one "
            f"({related:.2f}): the files in {weights.place} do not work with this version of ONNX Runtime. Update it."
        )
    return f"related {related:.2f} > unrelated {unrelated:.2f}"


def _scores(weights: Weights) -> tuple[float, float]:
    if weights.model.role == "embedding":
        from loopwright.models.embedded.encoder import OnnxEmbedder

        embedder = OnnxEmbedder(weights, threads=1)
        near, far = embedder.embed([_RELATED, _UNRELATED]) @ embedder.embed_query(_QUERY)
    else:
        from loopwright.models.embedded.reranker import OnnxReranker

        near, far = OnnxReranker(weights, threads=1).score(_QUERY, [_RELATED, _UNRELATED])
    return float(near), float(far)
