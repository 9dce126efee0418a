"""What the nodes of a workflow need that answers from a knowledge store, whichever it is."""

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import aask
from loopwright.models.embedded.catalogue import Role
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.retrieval.vectors import Embedder
from loopwright.retrieval.web import untrusted_line
from loopwright.workflows import runtime
from loopwright.workflows.sections import AUTO, WorkflowConfig

C = TypeVar("C", bound=WorkflowConfig)
T = TypeVar("T", bound=BaseModel)
logger = logging.getLogger(__name__)


@dataclass
class StoredServices(runtime.Services[C]):
    """The configuration, the models and the knowledge store; shared by all runs of a graph."""

    schema: ClassVar[str] = "loopwright"
    """Where the store lies in PostgreSQL if its address does not say; those of two workflows are not to be one."""
    given_store: KnowledgeStore | None = None
    """The knowledge store, left open by `close`; None opens the configured one."""

    @property
    @abstractmethod
    def embedding(self) -> str | None:
        """The embedding model's name, as configured."""

    @property
    def section(self) -> Any:
        """The workflow's section of the configuration."""
        return getattr(self.config, self.package.rpartition(".")[2])

    @property
    def store(self) -> KnowledgeStore:
        """The knowledge store; a `StoreError` if it cannot be opened."""
        if self.given_store is not None:
            return self.given_store
        make = partial(open_store, self.section.store, create=False, schema=self.schema)
        return self.opened.entered("store", partial(make, workflow=self.package.rpartition(".")[2]))

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model, or None; a `WeightsError` if the one that is named is not there."""
        from loopwright.models.embedded.encoder import open_embedder

        name = self.named("embedding", self.embedding)
        return self.opened.once("embedder", lambda: open_embedder(name)) if name else None

    def named(self, role: Role, configured: str | None) -> str | None:
        """A model's name; of ``auto`` the one whose vectors the store has, or the first on this machine, said once."""
        if configured != AUTO:
            return configured
        there = self.store.has_vectors if role == "embedding" else None
        return self.opened.once(f"{role} on this machine", lambda: _found(role, there))

    async def reply(self, node: str, schema: type[T], question: str, prompt: str = "", **values: str) -> T:
        """Ask the chat model of a node for a reply that fits a schema.

        Args:
            node: The node.
            schema: The reply's schema.
            question: The person's question.
            prompt: The prompt's name; by default the node's.
            **values: What else goes into the prompt; of what others wrote only what was made safe.

        Raises:
            ModelError: If the node has no chat model.
            StructuredReplyError: If the reply still breaks the schema after the repairs.
        """
        chat = self.chat(node)
        if chat is None:
            raise ModelError(f"node {node!r} has no chat model: name one under 'models' in the configuration")
        text = self.prompts().get(prompt or node).render(question=untrusted_line(question), **values)
        return await aask(chat, text, schema, repairs=self.section.repairs, node=node)


def _found(role: Role, preferred: Callable[[str], bool] | None) -> str | None:
    from loopwright.models.embedded.resolving import first_here

    name = first_here(role, preferred)
    if name and not all(map(find_spec, ("onnxruntime", "tokenizers"))):
        logger.warning("%s is on this machine, and is not used: that needs pip install 'loopwright[onnx]'", name)
        return None
    if name:
        logger.info("%s is on this machine and is used as %s (%s: auto)", name, role, role)
    return name
