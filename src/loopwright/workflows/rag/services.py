"""What the nodes need besides the state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from langchain_core.language_models import BaseChatModel
from numpy.typing import NDArray

from loopwright.retrieval.retriever import Retriever
from loopwright.retrieval.stores import KnowledgeStore
from loopwright.retrieval.web import WebSearch, open_search
from loopwright.workflows.rag.answer.verdict import Reranker
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.stored import StoredServices

_REMEMBERED = 5_000


@dataclass
class Services(StoredServices[RAGConfig]):
    """The configuration, the models, the knowledge store and the web search; shared by all runs of a graph.

    What is not given is opened at its first use and closed with `close`, or at the end of a ``with`` statement.

    Raises:
        StoreError: By what uses the store, if it cannot be opened.
        WeightsError: By what uses an embedding model or a reranker, if its files are not there.
        ConfigError: By `web_search`, if its settings are wrong.
    """

    package = "loopwright.workflows.rag"

    config: RAGConfig = field(default_factory=RAGConfig)
    """The configuration."""
    given_search: WebSearch | None = None
    """The web search; None takes the configured one, if any."""
    shows_sample: bool = False
    """Whether the sample answers for as long as nothing is in the store that is configured, a file."""

    def chat(self, node: str) -> BaseChatModel | None:
        """The chat model of a node, or None; a small one on this machine speaks beside the quotes and nowhere else."""
        return None if self.is_small(node) and node != "answer_generation" else super().chat(node)

    def is_small(self, node: str) -> bool:
        """Whether a node's chat model runs in this process (``local:NAME``).

        As a grader it says yes to what is wrong, and as the writer of answers it makes up what the quotes do not say.
        """
        return any(name.startswith("local:") for name in self.models.models_of(node)[:1])

    @property
    def store(self) -> KnowledgeStore:
        """The knowledge store; the sample's, in memory, until the first documents are read in."""
        if self.shows_sample and self.is_empty:
            from loopwright.workflows.rag.sources.sample import sample_store

            return self.opened.entered("sample", sample_store)
        self.shows_sample = False
        return super().store

    @property
    def is_empty(self) -> bool:
        """Whether the store that is configured, a file, holds no document yet."""
        return not (Path(self.config.rag.store.partition(":")[2]).exists() and super().store.documents(limit=1))

    @property
    def embedding(self) -> str | None:
        """The embedding model's name, as configured."""
        return self.config.rag.retrieval.embedding

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, or None."""
        from loopwright.models.embedded.encoder import open_reranker

        name = self.named("reranker", self.config.rag.retrieval.reranker)
        return self.opened.once("reranker", lambda: _Remembering(open_reranker(name))) if name else None

    @property
    def retriever(self) -> Retriever:
        """Hybrid search over the store; what a reranker says of them is asked where passages are graded and read."""
        store = self.store
        return self.opened.once(f"retriever of {id(store)}", lambda: Retriever(store, embedder=self.embedder))

    @property
    def web_search(self) -> WebSearch | None:
        """The web search, or None where none is configured."""
        return self.given_search or open_search(self.config.rag.web)


class _Remembering:
    """A reranker that reads a text for a question once, though passages are graded, read, and found again."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._known: dict[tuple[str, str], float] = {}

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Reranker.score`."""
        known = self._known if len(self._known) < _REMEMBERED else {}
        if new := [text for text in dict.fromkeys(texts) if (query, text) not in known]:
            found = zip(new, self._reranker.score(query, new).tolist(), strict=True)
            # A new dictionary: other threads read the old one.
            known = known | {(query, text): logit for text, logit in found}
        self._known = known
        return np.array([known[query, text] for text in texts], np.float32)
