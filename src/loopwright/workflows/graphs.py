"""A workflow's compiled graphs, each made once."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.engine import BoundedGraph
from loopwright.models import ModelRegistry
from loopwright.models.prompts import PromptLibrary
from loopwright.workflows.hosting import Hosted

_MOST = 16
"""How many graphs are kept; beyond, the oldest is made anew when needed."""


class Graphs:
    """The graphs of a workflow, one for each saver and each assignment of models.

    With other models a node has other retries, timeouts and bounds, so a run with changed models needs a graph of its
    own.
    """

    def __init__(
        self,
        make: Callable[[BaseCheckpointSaver[str] | None], BoundedGraph],
        models: ModelRegistry | None = None,
        nodes: Iterable[str] = (),
    ) -> None:
        """Prepare; no graph is made yet.

        Args:
            make: Makes the graph for a saver, with the models that its nodes have at that moment.
            models: Which chat model serves which node.
            nodes: The nodes that can have one.
        """
        self._make = make
        self._models = models
        self._nodes = tuple(nodes)
        self._lock = threading.Lock()
        self._made: dict[Any, tuple[BaseCheckpointSaver[str] | None, BoundedGraph]] = {}
        """With the saver itself, so that no other one gets its id while the graph is kept."""

    def get(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """The graph for a saver, as the models are now and in this context.

        Args:
            saver: Where its runs are kept.
        """
        assigned = tuple(self._models.models_of(node) for node in self._nodes) if self._models else ()
        key = id(saver), assigned
        with self._lock:
            if key not in self._made:
                graph = self._make(saver)
                self._made = dict([*self._made.items()][1 - _MOST :])
                self._made[key] = saver, graph
            return self._made[key][1]


class HostedGraphs(Hosted):
    """A workflow whose graph is made once for each saver and each assignment of models."""

    def __init__(self, models: ModelRegistry | None = None, prompts: PromptLibrary | None = None) -> None:
        """Prepare; no graph is made yet.

        Args:
            models: Which chat model serves which node, if a host can change that.
            prompts: Its prompts, if a host can change them.
        """
        self.models = models
        self.prompts = prompts
        self._graphs = Graphs(self.build, models, self.model_nodes)

    @abstractmethod
    def build(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """Make the graph, with the models that its nodes have now.

        Args:
            saver: Where its runs are kept, by this saver alone.
        """

    def graph(self, saver: BaseCheckpointSaver[str] | None) -> BoundedGraph:
        """The graph; see `Hosted.graph`.

        Args:
            saver: Where its runs are kept.
        """
        return self._graphs.get(saver)
