"""A compiled graph that always stops: LangGraph's, with its step limit turned into an outcome."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from functools import reduce
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.bind import BoundBuilder
from loopwright.engine.budget.budget import Budget
from loopwright.engine.events.schema import afollowing, following
from loopwright.engine.execution import Course
from loopwright.engine.gate import DISPATCHER
from loopwright.engine.loop import Loop
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.graph import Topology
from loopwright.engine.proof.read import read_topology


class BoundedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled LangGraph graph whose every cycle is bounded.

    It is used like any compiled graph. Where LangGraph would raise ``GraphRecursionError``, because a step limit
    smaller than the certificate's was set, this graph ends with what it has and a ``stop_reason``.
    """

    builder: BoundBuilder  # pyright: ignore[reportIncompatibleVariableOverride]
    """What it was compiled from."""
    loops: tuple[Loop, ...]
    """The loops whose gates it holds."""
    budget: Budget | None
    """What one run may spend."""
    certificate: Certificate
    """The worst case of one run."""
    structure: str
    """The hash of its nodes, fixed edges and loops, by which a resume knows the graph again."""
    made_of: Any
    """What `loopwright.bounded` was given: a builder, or a compiled graph."""
    given: CompiledStateGraph[Any, Any, Any, Any]
    """The graph without gates, for LangGraph's own drawings."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """A copy with some attributes changed, as LangGraph's ``with_config`` makes one."""
        return as_bounded(self, update or {})

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """LangGraph's own drawing of the graph as it was given, without gates; `loopwright.diagram` draws its loops."""
        return self.given.get_graph(config, xray=xray)

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """LangGraph's own drawing; see `get_graph`."""
        return await self.given.aget_graph(config, xray=xray)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """How a notebook shows it: drawn with its loops and their limits, and its certificate; nothing is sent."""
        from loopwright.diagram.drawing import shown

        return shown(self)

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
        with course.followed():
            updates = course.begin(*self._begun(course))
            see = course.last.see if course.is_followed else None
            while True:
                if not updates:
                    run: Any = super().stream(course.input, course.config, **course.options)
                    chunks = reduce(following, course.contexts(), run)
                    try:
                        yield from map(see, chunks) if see else chunks
                        if not (course.meter and course.meter.refused_a_call):  # else its node went on regardless
                            return
                        updates = course.ending(None)
                    except Exception as error:
                        updates = course.ending(error)
                    finally:
                        run.close()  # what runs for it ends before the run does, also where its reader leaves
                if course.saver and DISPATCHER in self.nodes:
                    for update in updates:  # each with the run's configuration: its metadata, its attempt's number
                        super().bulk_update_state(course.place_of(update), [update])
                    if len(updates) > 1:  # what finished beside a refused call; of a step limit the stream told all
                        course.last.keep(self.get_state(course.place).values)
                yield from course.told()
                if not course.goes_on:
                    return
                updates = []

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """Run and yield what LangGraph yields; see `stream`."""
        course = Course(self, input, config, kwargs, asynchronous=True)
        with course.followed():
            updates = course.begin(*await self._abegun(course))
            see = course.last.see if course.is_followed else None
            while True:
                if not updates:
                    run: Any = super().astream(course.input, course.config, **course.options)
                    chunks = reduce(afollowing, course.contexts(), run)
                    try:
                        async with aclosing(chunks) as stream:  # what runs for it is cancelled where its reader leaves
                            async for chunk in stream:
                                yield see(chunk) if see else chunk
                        if not (course.meter and course.meter.refused_a_call):
                            return
                        updates = course.ending(None)
                    except Exception as error:
                        updates = course.ending(error)
                    finally:
                        await asyncio.gather(*course.notes)
                if course.saver and DISPATCHER in self.nodes:
                    for update in updates:
                        await super().abulk_update_state(course.place_of(update), [update])
                    if len(updates) > 1:
                        course.last.keep((await self.aget_state(course.place)).values)
                for chunk in course.told():
                    yield chunk
                if not course.goes_on:
                    return
                updates = []

    def _begun(self, course: Course) -> tuple[CheckpointTuple | None, bool]:
        """The checkpoint that a run goes on from, and whether nothing is left there of the turn before it."""
        saver, place = course.saver, course.begun_at
        saved = saver.get_tuple(place) if saver and place else None
        return saved, bool(saved and place and course.may_open_a_turn and not self.get_state(place).next)

    async def _abegun(self, course: Course) -> tuple[CheckpointTuple | None, bool]:
        """The checkpoint that a run goes on from, and whether nothing is left there of the turn before it."""
        saver, place = course.saver, course.begun_at
        saved = await saver.aget_tuple(place) if saver and place else None
        return saved, bool(saved and place and course.may_open_a_turn and not (await self.aget_state(place)).next)


def as_bounded(original: CompiledStateGraph[Any, Any, Any, Any], attributes: dict[str, Any]) -> Any:
    """The same graph as a `BoundedGraph`.

    LangGraph's own constructor cannot take its private attributes back, so they are handed over as they are.
    """
    graph = BoundedGraph.__new__(BoundedGraph)
    vars(graph).update({**vars(original), **attributes})
    return graph
