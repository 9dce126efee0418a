"""Vectors of texts, and how well passages answer a query, from ONNX models on this machine."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loopwright.database import storable
from loopwright.errors import WeightsError
from loopwright.models.embedded.resolving import Weights, resolve

Input: TypeAlias = str | tuple[str, str]
"""A text, or a pair of texts that the model reads together."""

_TOKENIZED_AT_ONCE = 64
"""So many texts are held as tokens at a time."""

_LONGEST_TOKEN = 32
"""A text is cut to so many characters for each token that the model reads: tokens of ordinary text have four or five.
The tokenizer keeps all that it truncates, and for a pair every combination of it (measured: 20 s for 120,000 characters
beside 120,000)."""


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


class TextGraph:
    """A BERT-like ONNX graph that reads tokens; each text is a run of its own, and several run at once.

    Texts are not put together into one run on purpose. A dynamically quantized graph scales its activations by the
    largest value in the whole run, so a text's vector would depend on the texts that happen to be beside it (measured:
    cosine 0.99 instead of 1, and reranker logits off by 1). Alone, a text needs no padding, memory stays bounded by the
    longest text, and two cores read more texts a second than with runs of 32.
    """

    def __init__(self, weights: Weights) -> None:
        self._tokenizer = _open_tokenizer(weights)
        self._longest = weights.model.max_tokens * _LONGEST_TOKEN
        self._session = _open_session(weights)
        self._inputs = [given.name for given in self._session.get_inputs()]
        self._pool = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="loopwright-onnx")

    def outputs(self, texts: Sequence[Input]) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Run the graph on each text.

        Yields:
            For each text, in order, the graph's first output without the batch axis, and the attention mask [tokens].
        """
        for start in range(0, len(texts), _TOKENIZED_AT_ONCE):
            piece = [self._clean(text) for text in texts[start : start + _TOKENIZED_AT_ONCE]]
            encodings = self._tokenizer.encode_batch(piece)
            # A question does not wait for the many texts of another call.
            run = map if len(encodings) == 1 else self._pool.map
            yield from run(self._run, encodings)

    def _run(self, encoding: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        mask = np.array(encoding.attention_mask, dtype=np.int64)
        given = {
            "input_ids": np.array([encoding.ids], dtype=np.int64),
            "attention_mask": mask[np.newaxis],
            "token_type_ids": np.array([encoding.type_ids], dtype=np.int64),
        }
        return self._session.run(None, {name: given[name] for name in self._inputs})[0][0], mask

    def _clean(self, text: Input) -> Input:
        """Cut what is not read, and replace lone surrogates, which the tokenizer refuses."""
        if isinstance(text, tuple):
            return storable(text[0][: self._longest]), storable(text[1][: self._longest])
        return storable(text[: self._longest])


def _open_tokenizer(weights: Weights) -> Any:
    from tokenizers import Tokenizer

    tokenizer = _loaded(weights, "tokenizer.json", Tokenizer.from_file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(weights.model.max_tokens, strategy="longest_first")
    return tokenizer


def _open_session(weights: Weights) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Several texts run at once, each on one core; a thread that spins would take a core from the others.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    opened = partial(onnxruntime.InferenceSession, sess_options=options, providers=["CPUExecutionProvider"])
    return _loaded(weights, "model.onnx", opened)


def _loaded(weights: Weights, file: str, load: Callable[[str], Any]) -> Any:
    path = weights.files[file]
    try:
        return load(str(path))
    except Exception as error:  # neither of the two libraries raises anything narrower
        told = " ".join(str(error).split())[:200]
        check = f"loopwright models check {weights.model.name}"
        place = weights.place / path.name
        raise WeightsError(f"{place} cannot be loaded ({told}). Compare its hash: '{check}'.") from None
