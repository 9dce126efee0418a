"""What the nodes need besides the state."""

from dataclasses import dataclass, field

from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.memory import Memory, open_memory
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.stored import StoredServices


@dataclass
class Services(StoredServices[AssistantConfig]):
    """The configuration, the models, the conference and the memory; shared by all runs of a graph.

    What is not given is opened at its first use, which raises `StoreError` or `WeightsError` if it fails, and is closed
    with `close`, or at the end of a ``with`` statement.
    """

    package = "loopwright.workflows.assistant"
    schema = "loopwright_assistant"

    config: AssistantConfig = field(default_factory=AssistantConfig)
    """The configuration."""

    @property
    def embedding(self) -> str | None:
        """The embedding model's name, as configured."""
        return self.config.assistant.search.embedding

    @property
    def search(self) -> Search:
        """Search over the conference."""
        return self.opened.once("search", lambda: Search(self.store, embedder=self.embedder))

    @property
    def memory(self) -> Memory:
        """Profiles and conversations."""
        return self.opened.entered("memory", lambda: open_memory(self.config.assistant.memory))
