"""What the nodes need besides the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows import runtime
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.memory import Memory, open_memory
from loopwright.workflows.assistant.searching.search import Search


@dataclass
class Services(runtime.Services[AssistantConfig]):
    """The configuration, the models, the conference and the memory; shared by all runs of a graph.

    What is not given is opened at its first use and closed with `close`, or at the end of a ``with`` statement.
    """

    config: AssistantConfig = field(default_factory=AssistantConfig)
    """The configuration."""
    given_store: KnowledgeStore | None = None
    """The store with the conference, left open by `close`; None opens the configured one."""

    @classmethod
    def of(cls, config: AssistantConfig, store: KnowledgeStore | None = None) -> Self:
        """The services that a configuration describes; nothing is opened yet.

        Args:
            config: The configuration.
            store: The store with the conference, if not the configured one.

        Raises:
            ConfigError: If a model's settings are wrong.
        """
        return cls(config, runtime.models_of(config), store)

    @property
    def store(self) -> KnowledgeStore:
        """The store with the conference.

        Raises:
            StoreError: If it cannot be opened.
        """
        if self.given_store is not None:
            return self.given_store
        return self.opened.entered("store", lambda: open_store(self.config.assistant.store, create=False))

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model, or None.

        Raises:
            WeightsError: If its files are not there.
        """
        from loopwright.models.embedded.encoder import open_embedder

        name = self.config.assistant.search.embedding
        return self.opened.once("embedder", lambda: open_embedder(name)) if name else None

    @property
    def search(self) -> Search:
        """Search over the conference.

        Raises:
            StoreError: If the store cannot be opened.
            WeightsError: If the embedding model's files are not there.
        """
        return self.opened.once("search", lambda: Search(self.store, embedder=self.embedder))

    @property
    def memory(self) -> Memory:
        """Profiles and conversations.

        Raises:
            StoreError: If it cannot be opened.
        """
        return self.opened.entered("memory", lambda: open_memory(self.config.assistant.memory))
