"""A compiled graph that always stops: LangGraph's, with its step limit turned into an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.errors import GraphRecursionError
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from loopwright.engine.binding import BoundBuilder
from loopwright.engine.books import STOP_REASON
from loopwright.engine.budgets import Budget
from loopwright.engine.certificate import Certificate
from loopwright.engine.course import RECURSION_LIMIT, Course
from loopwright.engine.following import closing
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.loops import Loop
from loopwright.engine.reading import read_topology
from loopwright.engine.topology import Topology


class BoundedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled LangGraph graph whose every cycle is bounded.

    It is used like any compiled graph. Where LangGraph would raise ``GraphRecursionError``, because a step limit
    smaller than the certificate's was set, this graph ends with what it has and a ``stop_reason``.
    """

    loops: tuple[Loop, ...]
    """The loops whose gates it holds."""
    budget: Budget | None
    """What one run may spend."""
    certificate: Certificate
    """The worst case of one run."""
    structure: str
    """The hash of its nodes, fixed edges and loops, by which a resume knows the graph again."""

    @property
    def metered(self) -> bool:
        """Whether what a run spends is counted."""
        return cast("BoundBuilder", self.builder).metered

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """A copy with some attributes changed, as LangGraph's ``with_config`` makes one."""
        return as_bounded(self, update or {})

    def limited_to(self, supersteps: int) -> Self:
        """A copy that stops after so many supersteps, if that is less than the certificate's worst case.

        Args:
            supersteps: How many; LangGraph counts one more than it runs.
        """
        present = (self.config or {}).get(RECURSION_LIMIT, supersteps)
        return self.with_config(recursion_limit=min(supersteps, present))

    def topology(self) -> Topology:
        """The nodes and edges, gates included."""
        return read_topology(self)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:  # type: ignore[override]
        """Run and yield what LangGraph yields; reaching a step limit or spending the budget is an outcome.

        Args:
            input: The input, a ``Command``, or None to go on from a checkpoint.
            config: The run's configuration.
            **kwargs: As for LangGraph's ``stream``.

        Raises:
            CheckpointError: If the checkpoint was written by a graph of another structure.
        """
        course = Course(self, input, config, kwargs)
        saver, begun_at = course.saver, course.begun_at
        course.begin(saver.get_tuple(begun_at) if saver and begun_at else None)
        if not course.can_be_cut_short:
            yield from super().stream(course.input, course.config, **course.options)
            return
        while True:
            chunks = super().stream(course.input, course.config, **course.options)
            try:
                for chunk in course.meter.follow(chunks) if course.meter else chunks:
                    course.last.see(chunk)
                    yield chunk
                if not course.refused_a_call:
                    return
                command = course.spent_up(None)
            except GraphRecursionError as error:
                stop = course.last.stop_reason(error)
                if course.saver and DISPATCHER in self.nodes:
                    self.update_state(course.place, {STOP_REASON: stop}, as_node=DISPATCHER)
                yield from course.last.closing(RECURSION_LIMIT, stop)
                return
            except Exception as error:
                command = course.spent_up(error)
            super().update_state(course.place, None, END)  # what finished beside a refused call is kept
            super().update_state(course.place, command, DISPATCHER)
            course.ended_with(self.get_state(course.place).values)
            yield from course.told()
            if not course.goes_on:
                return

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """Run and yield what LangGraph yields; see `stream`.

        Args:
            input: The input, a ``Command``, or None to go on from a checkpoint.
            config: The run's configuration.
            **kwargs: As for LangGraph's ``astream``.
        """
        course = Course(self, input, config, kwargs, asynchronous=True)
        saver, begun_at = course.saver, course.begun_at
        course.begin(await saver.aget_tuple(begun_at) if saver and begun_at else None)
        if not course.can_be_cut_short:
            async with closing(super().astream(course.input, course.config, **course.options)) as plain:
                async for chunk in plain:
                    yield chunk
            return
        while True:
            chunks = super().astream(course.input, course.config, **course.options)
            try:
                async with closing(course.meter.afollow(chunks) if course.meter else chunks) as followed:
                    async for chunk in followed:
                        course.last.see(chunk)
                        yield chunk
                if not course.refused_a_call:
                    return
                command = course.spent_up(None)
            except GraphRecursionError as error:
                stop = course.last.stop_reason(error)
                if course.saver and DISPATCHER in self.nodes:
                    await self.aupdate_state(course.place, {STOP_REASON: stop}, as_node=DISPATCHER)
                for chunk in course.last.closing(RECURSION_LIMIT, stop):
                    yield chunk
                return
            except Exception as error:
                command = course.spent_up(error)
            finally:
                await asyncio.gather(*course.notes)
            await super().aupdate_state(course.place, None, END)
            await super().aupdate_state(course.place, command, DISPATCHER)
            course.ended_with((await self.aget_state(course.place)).values)
            for chunk in course.told():
                yield chunk
            if not course.goes_on:
                return

    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Change the state of a thread, as LangGraph does; behind a gate, its decision stands.

        Args:
            config: The thread, or one checkpoint of it.
            values: The update.
            as_node: The node that the update comes from; by default the last one that ran.
            task_id: As for LangGraph's ``update_state``.
        """
        if as_node is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            saved = self.checkpointer.get_tuple(merge_configs(self.config, config))
            if gate := self._last_gate(saved):
                values, as_node = Command(update=values, goto=[*self.get_state(config).next]), gate
        return super().update_state(config, values, as_node, task_id)

    async def aupdate_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Change the state of a thread; see `update_state`.

        Args:
            config: The thread, or one checkpoint of it.
            values: The update.
            as_node: The node that the update comes from; by default the last one that ran.
            task_id: As for LangGraph's ``update_state``.
        """
        if as_node is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            saved = await self.checkpointer.aget_tuple(merge_configs(self.config, config))
            if gate := self._last_gate(saved):
                values, as_node = Command(update=values, goto=[*(await self.aget_state(config)).next]), gate
        return await super().aupdate_state(config, values, as_node, task_id)

    def _last_gate(self, saved: CheckpointTuple | None) -> str | None:
        """The gate that ran last, if it was one: it would not repeat its jump for an update in its name."""
        if saved is None or saved.config.get("configurable", {}).get("checkpoint_ns"):
            return None
        last = self._infer_as_node(saved.checkpoint["versions_seen"])
        return last if last in {loop.gate for loop in self.loops} else None


def as_bounded(original: CompiledStateGraph[Any, Any, Any, Any], attributes: dict[str, Any]) -> Any:
    """The same graph as a `BoundedGraph`.

    LangGraph's own constructor cannot take its private attributes back, so they are handed over as they are; but for
    those that would make the user's own class, which may have no ``stop_reason``, of a state that has one.
    """
    graph = BoundedGraph.__new__(BoundedGraph)
    mappers = {"_output_mapper": None, "_state_mapper": None}
    vars(graph).update({**vars(original), **mappers, **attributes})
    return graph
