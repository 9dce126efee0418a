"""The models whose files are known by size and hash.

Two builds of one model are two entries: their vectors differ slightly, so a store must not mix them. An entry without a
publisher was measured here, but its file stands in no publisher's repository: only a local copy serves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from loopwright.config import shipped

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


KNOWN: Mapping[str, KnownModel] = MappingProxyType(
    {
        name: TypeAdapter(KnownModel).validate_python({"name": name, **fields})
        for name, fields in shipped("loopwright.models.embedded", "catalogue.yaml").items()
    }
)
"""Name -> model."""
