"""A run on a fixed question or two fixed pairs, to see that a model not only loads but also understands."""

from __future__ import annotations

import importlib.util

from loopwright.errors import WeightsError
from loopwright.models.embedded.resolving import Weights

_QUERY = "How tall is the highest mountain on earth?"
_RELATED = "Mount Everest reaches 8,849 metres above sea level."
_UNRELATED = "The bakery sells fresh bread from seven in the morning."


def try_out(weights: Weights) -> str:
    """Let a model compare a related and an unrelated pair, or a chat model answer an easy question.

    Returns:
        What was found, in a few words; of a model whose runtime is not installed, that it was not run.

    Raises:
        WeightsError: If the model cannot be loaded, ranks the unrelated pair first, or answers wrongly.
    """
    needed = ("xllamacpp",) if weights.model.role == "chat" else ("numpy", "onnxruntime", "tokenizers")
    if any(importlib.util.find_spec(package) is None for package in needed):
        return f"not run: pip install 'loopwright[{weights.model.extra}]'"
    if weights.model.role == "chat":
        return _chat(weights)
    related, unrelated = _scores(weights)
    if related <= unrelated:
        raise WeightsError(
            f"{weights.model.name} finds an unrelated pair ({unrelated:.2f}) at least as close as a related one "
            f"({related:.2f}): the files in {weights.place} do not work with this version of ONNX Runtime. Update it."
        )
    return f"related {related:.2f} > unrelated {unrelated:.2f}"


def _chat(weights: Weights) -> str:
    from loopwright.models.local import LocalChatModel

    model = LocalChatModel(model=str(weights.files[weights.model.files[0].name]), context=512, max_tokens=32)
    schema = {
        "title": "Choice",
        "type": "object",
        "properties": {"fruit": {"enum": ["hammer", "apple"]}},
        "required": ["fruit"],
    }
    found = model.with_structured_output(schema).invoke("Which of the two is a fruit: hammer or apple? Reply in JSON.")
    if found != {"fruit": "apple"}:
        raise WeightsError(
            f"{weights.model.name} takes {found} for a fruit: the file in {weights.place} does not work with this "
            "version of xllamacpp. Update it."
        )
    return "says that an apple is a fruit"


def _scores(weights: Weights) -> tuple[float, float]:
    if weights.model.role == "embedding":
        from loopwright.models.embedded.encoder import OnnxEmbedder

        embedder = OnnxEmbedder(weights, threads=1)
        near, far = embedder.embed([_RELATED, _UNRELATED]) @ embedder.embed_query(_QUERY)
    else:
        from loopwright.models.embedded.reranker import OnnxReranker

        near, far = OnnxReranker(weights, threads=1).score(_QUERY, [_RELATED, _UNRELATED])
    return float(near), float(far)
