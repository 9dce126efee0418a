"""How the engine's events reach whoever watches a run.

They go to LangGraph's ``custom`` stream, for those who read that themselves, and to the run's own listener. Listening
costs next to nothing, while LangGraph sends every superstep through a thread as soon as ``custom`` is asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import get_runtime


class Listener:
    """Keeps the events of one run until they are asked for; those of graphs inside its nodes are left out."""

    def __init__(self) -> None:
        self._heard: deque[Mapping[str, Any]] = deque()
        self._depth = _depth()

    def hear(self, event: Mapping[str, Any], *, of_node: bool) -> None:
        """Keep an event.

        Args:
            event: The event.
            of_node: Whether a node tells it, and not the graph around the nodes.
        """
        if _depth() - of_node == self._depth:
            self._heard.append(event)

    def told(self) -> Iterator[Mapping[str, Any]]:
        """Give away what was kept, in order."""
        while self._heard:
            yield self._heard.popleft()


listener: ContextVar[Listener | None] = ContextVar("loopwright_listener", default=None)
"""Who listens to the run that this code is a part of."""


def emit(event: Mapping[str, Any]) -> None:
    """Tell an event, in plain JSON; outside of a graph nobody hears it.

    Args:
        event: What `loopwright.engine.events.run_event` reads.
    """
    if (heard_by := listener.get()) is not None:
        heard_by.hear(event, of_node=True)
    runtime: Any = get_runtime() if "configurable" in (var_child_runnable_config.get() or {}) else None
    if runtime is not None:
        runtime.stream_writer(event)


def _depth() -> int:
    """In how many tasks this code is: 0 outside of any graph."""
    namespace = (var_child_runnable_config.get() or {}).get("configurable", {}).get("checkpoint_ns", "")
    # LangGraph runs an error handler in a namespace below that of the node that failed.
    return sum(not part.startswith("__error_handler__") for part in namespace.split("|")) if namespace else 0
