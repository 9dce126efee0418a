"""Lets every node of a graph write what it spent together with its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableSequence
from langgraph.types import Command

from loopwright.engine.books import SPENT
from loopwright.engine.meter import current_meter


class Metered(Runnable[Any, Any]):
    """A node whose spending is written to the channel together with its result."""

    def __init__(self, bound: Runnable[Any, Any]) -> None:
        self.bound = bound
        self.name = getattr(bound, "name", None)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node."""
        return with_spending(self.bound.invoke(input, config, **kwargs), config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node."""
        return with_spending(await self.bound.ainvoke(input, config, **kwargs), config)


class MeteredGraph(RunnableSequence[Any, Any]):
    """The same for a node that is a graph itself: LangGraph finds the graph in a sequence, and not in a `Metered`."""

    @classmethod
    def of(cls, graph: Runnable[Any, Any]) -> MeteredGraph:
        """The graph, and behind it what writes its spending."""
        return cls(first=graph, last=_Till())

    @property
    def bound(self) -> Runnable[Any, Any]:
        """The graph."""
        return self.first


class _Till(Runnable[Any, Any]):
    """Passes a graph's result on, with what it spent."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Add what was spent."""
        return with_spending(input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Add what was spent."""
        return with_spending(input, config)


def with_spending(result: Any, config: RunnableConfig | None) -> Any:
    """A node's result, and with it what the run has spent so far."""
    meter = current_meter()
    if meter is None:
        return result
    note: Command[Any] = Command(update={SPENT: meter.total()})
    meter.step = int((config or {}).get("metadata", {}).get("langgraph_step", 0))
    meter.check_seconds()
    if isinstance(result, list | tuple) and any(isinstance(item, Command) for item in cast("Sequence[Any]", result)):
        return [note, *cast("Sequence[Any]", result)]
    return [note, result]
