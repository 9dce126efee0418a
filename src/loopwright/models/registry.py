"""One chat model per node, from configuration, changeable while the program runs."""

import threading
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel

from loopwright.errors import ConfigError, unknown_name_message
from loopwright.models.factory import make_chat, secrets_of
from loopwright.models.fallback import FallbackChatModel, Link, chain_of
from loopwright.models.spec import ModelSpec, parse_spec
from loopwright.models.usage import model_name

Assignable: TypeAlias = str | Mapping[str, Any] | ModelSpec | BaseChatModel | None
"""What a node can be given: ``"provider:name"``, a mapping, a `ModelSpec`, a ready chat model, or None for no model."""

DEFAULT = "default"
"""The entry that serves every node without an entry of its own."""

model_changes: ContextVar[Mapping[str, Assignable] | None] = ContextVar("loopwright.model_changes", default=None)
"""In a run that has other models: node (or ``default``) -> the one that takes the place of the configured one."""

_MOST_MADE = 64
"""How many models are kept, those that only runs with changes asked for too; an older one is made anew when needed."""


class ModelRegistry:
    """Which chat model serves which node.

    Without configuration no node has a model, and a workflow runs on rules and measurements. A model is made at the
    first `chat` that needs it: until then neither its package nor its key is looked for. All methods may be called from
    several threads.

    Within a run whose models are changed (`model_changes`), a changed node has its changed
    model, and a changed default serves the nodes without an entry of their own. A change that is nothing but the name
    of a model in the configuration means that model, with its server, key and options.

    Example:
        >>> registry = ModelRegistry({"planner": "openai:gpt-4.1-mini", "default": None})
        >>> registry.describe()
        {'default': None, 'planner': 'openai:gpt-4.1-mini'}
        >>> registry.chat("summarizer") is None
        True
    """

    def __init__(
        self, assignments: Mapping[str, Assignable] | None = None, *, nodes: Iterable[str] | None = None
    ) -> None:
        """Read the model of each node (or ``"default"``); none is made yet.

        Only the nodes that are given may have a model; None accepts any name.

        Raises:
            ConfigError: If a node is unknown or a spec is wrong.
        """
        self._nodes = None if nodes is None else frozenset(nodes)
        self._lock = threading.RLock()
        self._assigned: dict[str, ModelSpec | BaseChatModel | None] = {}
        self._made: list[tuple[ModelSpec, BaseChatModel]] = []
        """A list, because a spec with options cannot be hashed."""
        for node, value in (assignments or {}).items():
            self.assign(node, value)

    def assign(self, node: str, model: Assignable) -> None:
        """Give a node, or ``"default"``, another model from its next `chat` on; calls in flight keep the old one.

        None is for no model, also where there is a default.

        Raises:
            ConfigError: If the node is unknown or the spec is wrong. The old assignment then stays.
        """
        self._require_known(node)
        value = model if model is None or isinstance(model, BaseChatModel) else parse_spec(model, f"node {node!r}")
        with self._lock:
            self._assigned[node] = value
            self._made = [made for made in self._made if made[0] != value]

    def chat(self, node: str) -> BaseChatModel | None:
        """The chat model of a node, made on first use and kept; None if the node shall run without one.

        Raises:
            ConfigError: If the node is unknown.
            ModelError: If the model cannot be made; the message gives the reason and the fix, never a key.
        """
        self._require_known(node)
        with self._lock:
            assigned = self._found(node)
            if not isinstance(assigned, ModelSpec):
                return assigned
            for spec, model in self._made:
                if spec == assigned:
                    return model
            model = _make(assigned, node)
            self._made = [*self._made[1 - _MOST_MADE :], (assigned, model)]
            return model

    def models_of(self, node: str) -> tuple[str, ...]:
        """The names of the models that a node asks, in order: its own and then its fallbacks; none of them is made.

        Raises:
            ConfigError: If the node is unknown.
        """
        self._require_known(node)
        with self._lock:
            return _names(self._found(node))

    def describe(self) -> dict[str, str | None]:
        """Say which model each entry has, by name alone; within a run with changes, as it has them.

        Sorted by entry: ``"provider:name"``, a ready model's name, or None; fallbacks after ``then``.
        """
        with self._lock:
            changed = {entry: self._meant(entry, model) for entry, model in (model_changes.get() or {}).items()}
            assigned = {**self._assigned, **changed}
        return {node: ", then ".join(_names(value)) or None for node, value in sorted(assigned.items())}

    def __repr__(self) -> str:
        return f"ModelRegistry({self.describe()!r})"

    def _found(self, node: str) -> ModelSpec | BaseChatModel | None:
        """The model of the entry that serves a node, the run's changes first."""
        changes = model_changes.get() or {}
        for entry in (node, DEFAULT):
            if entry in changes:
                return self._meant(entry, changes[entry])
            if entry in self._assigned:
                return self._assigned[entry]
        return None

    def _meant(self, entry: str, model: Assignable) -> ModelSpec | BaseChatModel | None:
        if model is None or isinstance(model, BaseChatModel):
            return model
        if isinstance(model, str):
            for configured in (self._assigned.get(entry), *self._assigned.values()):
                for spec in configured.chain if isinstance(configured, ModelSpec) else (configured,):
                    if model in _names(spec)[:1]:
                        return spec
        return parse_spec(model, f"node {entry!r}")

    def _require_known(self, node: str) -> None:
        if self._nodes is not None and node != DEFAULT and node not in self._nodes:
            raise ConfigError(unknown_name_message("node in the model assignments", node, {*self._nodes, DEFAULT}))


def _make(spec: ModelSpec, node: str) -> BaseChatModel:
    """Make a model and its fallbacks: what is wrong with a fallback should be known before it is needed."""
    links = [Link(make_chat(each, node), frozenset(each.fallback_on), (*secrets_of(each),)) for each in spec.chain]
    return links[0].model if len(links) == 1 else FallbackChatModel(links=(*links,))


def _names(assigned: ModelSpec | BaseChatModel | None) -> tuple[str, ...]:
    if assigned is None:
        return ()
    if isinstance(assigned, ModelSpec):
        return tuple(spec.model for spec in assigned.chain)
    return tuple(model_name(link.model) for link in chain_of(assigned).links)
