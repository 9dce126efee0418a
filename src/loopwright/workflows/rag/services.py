"""What the nodes need besides the state."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from langchain_core.language_models import BaseChatModel

from loopwright.models import ModelRegistry, UsageRecorder
from loopwright.retrieval.protocols import Embedder, Reranker
from loopwright.retrieval.retriever import Retriever
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.web import SearchSettings, WebSearch, open_search
from loopwright.workflows.background import LoopThread
from loopwright.workflows.opened import Opened
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.sections import MODEL_NODES


@dataclass
class Services:
    """The configuration, the models, the knowledge store and the web search; shared by all runs of a graph.

    What is not given is opened at its first use and closed with `close`, or at the end of a ``with`` statement.
    """

    config: RAGConfig = field(default_factory=RAGConfig)
    """The configuration."""
    models: ModelRegistry = field(default_factory=ModelRegistry)
    """The chat model of each node, if any."""
    given_store: KnowledgeStore | None = None
    """The knowledge store, left open by `close`; None opens the configured one."""
    given_search: WebSearch | None = None
    """The web search, left open by `close`; None opens the configured one, if any."""
    opened: Opened = field(default_factory=Opened, repr=False)
    """What was opened so far."""

    @classmethod
    def of(cls, config: RAGConfig, store: KnowledgeStore | None = None, search: WebSearch | None = None) -> Self:
        """The services that a configuration describes; nothing is opened yet.

        Args:
            config: The configuration.
            store: The knowledge store, if not the configured one.
            search: The web search, if not the configured one.

        Raises:
            ConfigError: If a model's settings are wrong.
        """
        models = ModelRegistry(config.models_of("rag"), nodes=MODEL_NODES["rag"])
        return cls(config, models, given_store=store, given_search=search)

    def chat(self, node: str) -> BaseChatModel | None:
        """The chat model of a node, or None for the embedded default."""
        return self.models.chat(node)

    @property
    def usage(self) -> UsageRecorder:
        """Where model calls are counted: in the run that asks, outside of any together."""
        return self.opened.usage

    @property
    def store(self) -> KnowledgeStore:
        """The knowledge store.

        Raises:
            StoreError: If it cannot be opened.
        """
        if self.given_store is not None:
            return self.given_store
        return self.opened.entered("store", lambda: open_store(self.config.rag.store, create=False))

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model, or None.

        Raises:
            WeightsError: If its files are not there.
        """
        from loopwright.models.embedded.encoder import open_embedder

        name = self.config.rag.retrieval.embedding
        return self.opened.once("embedder", lambda: open_embedder(name)) if name else None

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, or None.

        Raises:
            WeightsError: If its files are not there.
        """
        from loopwright.models.embedded.reranker import open_reranker

        name = self.config.rag.retrieval.reranker
        return self.opened.once("reranker", lambda: open_reranker(name)) if name else None

    @property
    def retriever(self) -> Retriever:
        """Hybrid search over the store.

        Raises:
            StoreError: If the store cannot be opened.
            WeightsError: If a model's files are not there.
        """
        return self.opened.once(
            "retriever", lambda: Retriever(self.store, embedder=self.embedder, reranker=self.reranker)
        )

    @asynccontextmanager
    async def web_search(self) -> AsyncGenerator[WebSearch | None]:
        """The web search for one node's visit, or None where none is configured.

        It is opened anew each time: a client lives in one event loop, and the services may outlive that.

        Raises:
            ConfigError: If its settings are wrong.
        """
        if self.given_search is not None:
            yield self.given_search
            return
        engine = open_search(SearchSettings(**self.config.rag.web.model_dump()))
        try:
            yield engine
        finally:
            if engine is not None:
                await engine.aclose()

    @property
    def background(self) -> LoopThread:
        """Runs coroutines for callers without an event loop."""
        return self.opened.background

    def close(self) -> None:
        """Close what was opened here; what is used again afterwards is opened again."""
        self.opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
