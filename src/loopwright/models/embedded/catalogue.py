"""The models whose files are known by size and hash.

Two builds of one model are two entries: their vectors differ slightly, so a store must not mix them. An entry without a
publisher was measured here, but its file stands in no publisher's repository: only a local copy serves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["embedding", "reranker", "chat"]
"""What a model is for."""

Pooling: TypeAlias = Literal["cls", "mean"]
"""How a text's vector comes from its tokens' vectors: the first token's, or the mean of all."""


@dataclass(frozen=True)
class WeightFile:
    """One file of a model."""

    name: str
    """Its name in the model's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """Its SHA-256, in hexadecimal."""
    remote: str = ""
    """Its path in the publisher's repository; empty where there is none."""


@dataclass(frozen=True)
class Published:
    """Where a model's files can be downloaded."""

    repository: str
    """The repository on the publisher's hub, as ``owner/name``."""
    revision: str
    """The commit, so that the files can never change under us."""


@dataclass(frozen=True)
class KnownModel:
    """A model, its files, and how to use it."""

    name: str
    """Its name here, and the name of its folder."""
    role: Role
    """What it is for."""
    upstream: str
    """The repository of those who trained it, as ``owner/name``."""
    licence: str
    """The SPDX identifier of the licence that its publisher gives."""
    files: tuple[WeightFile, ...]
    """Its files, the weights first."""
    published: Published | None = None
    """Where it can be downloaded; None if only a local copy serves."""
    max_tokens: int = 512
    """A text's tokens beyond these are not read."""
    dimensions: int = 0
    """The length of a vector; 0 for a model that gives none."""
    pooling: Pooling = "cls"
    """How an embedding model's vector is made, before it is scaled to length 1."""
    query_prefix: str = ""
    """What an embedding model expects before a query."""
    passage_prefix: str = ""
    """What it expects before a passage."""

    @property
    def extra(self) -> str:
        """The extra of this package that installs what it needs."""
        return "local" if self.role == "chat" else "onnx"

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.bytes for file in self.files)


_BGE_PREFIX = "Represent this sentence for searching relevant passages: "
_BGE_TOKENIZER = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"

_MODELS = (
    # First, so that where it lies ``auto`` takes it: it reads a hundred languages, the others English.
    KnownModel(
        name="multilingual-e5-small",
        role="embedding",
        upstream="intfloat/multilingual-e5-small",
        licence="MIT",
        files=(
            WeightFile(
                "model.onnx",
                118_346_824,
                "dd476dd0c2514e9b9be83aeb3853fac0763e0bdf4a71645407587d77c48a2d88",
                "onnx/model_qint8_avx512_vnni.onnx",
            ),
            WeightFile(
                "tokenizer.json",
                17_082_730,
                "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
                "tokenizer.json",
            ),
        ),
        published=Published("intfloat/multilingual-e5-small", "614241f622f53c4eeff9890bdc4f31cfecc418b3"),
        dimensions=384,
        pooling="mean",
        query_prefix="query: ",
        passage_prefix="passage: ",
    ),
    KnownModel(
        name="bge-small-en-v1.5",
        role="embedding",
        upstream="BAAI/bge-small-en-v1.5",
        licence="MIT",
        files=(
            WeightFile("model.onnx", 34_015_106, "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"),
            WeightFile("tokenizer.json", 711_396, _BGE_TOKENIZER),
        ),
        dimensions=384,
        query_prefix=_BGE_PREFIX,
    ),
    KnownModel(
        name="bge-small-en-v1.5-xenova",
        role="embedding",
        upstream="BAAI/bge-small-en-v1.5",
        licence="MIT",
        files=(
            WeightFile(
                "model.onnx",
                34_014_426,
                "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
                "onnx/model_quantized.onnx",
            ),
            WeightFile("tokenizer.json", 711_396, _BGE_TOKENIZER, "tokenizer.json"),
        ),
        published=Published("Xenova/bge-small-en-v1.5", "ea104dacec62c0de699686887e3f920caeb4f3e3"),
        dimensions=384,
        query_prefix=_BGE_PREFIX,
    ),
    KnownModel(
        name="ms-marco-MiniLM-L-12-v2",
        role="reranker",
        upstream="cross-encoder/ms-marco-MiniLM-L-12-v2",
        licence="Apache-2.0",
        files=(
            WeightFile("model.onnx", 34_001_604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
            WeightFile("tokenizer.json", 711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"),
        ),
    ),
    KnownModel(
        name="ms-marco-MiniLM-L-12-v2-xenova",
        role="reranker",
        upstream="cross-encoder/ms-marco-MiniLM-L-12-v2",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "model.onnx",
                34_201_341,
                "c5551b3e446396364913c5ad79e9c8411a76d26523b7d87232052ae6c0d0c7fd",
                "onnx/model_quantized.onnx",
            ),
            WeightFile("tokenizer.json", 711_396, _BGE_TOKENIZER, "tokenizer.json"),
        ),
        published=Published("Xenova/ms-marco-MiniLM-L-12-v2", "e04b920da17733eae4f09d5a9395a8b15981a77e"),
    ),
    KnownModel(
        name="qwen2.5-coder-1.5b-instruct",
        role="chat",
        upstream="Qwen/Qwen2.5-Coder-1.5B-Instruct",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
        ),
        published=Published("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "f86cb2c1fa58255f8052cc32aeede1b7482d4361"),
        max_tokens=32_768,
    ),
    KnownModel(
        name="qwen2.5-coder-0.5b-instruct",
        role="chat",
        upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        licence="Apache-2.0",
        files=(
            WeightFile(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
        ),
        published=Published("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "ebb2015119c907b064c512bf053e945850b5875f"),
        max_tokens=32_768,
    ),
)

KNOWN: Mapping[str, KnownModel] = MappingProxyType({model.name: model for model in _MODELS})
"""Name -> model."""


def pullable_builds(model: KnownModel) -> list[str]:
    """The names of the entries with the same upstream that can be downloaded.

    Returns:
        Their names, in the catalogue's order; the model's own is among them if it can be downloaded.
    """
    return [other.name for other in KNOWN.values() if other.upstream == model.upstream and other.published]
