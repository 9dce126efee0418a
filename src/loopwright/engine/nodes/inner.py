"""Graphs inside graphs: bounds those that are nodes, and those that a function or tool of a node or router holds.

A node that is a graph is replaced by its bounded copy. A function that calls a graph (as supervisors call their agents,
and a deep agent its subagents) holds it in its closure or in a default argument, so a copy of the function gets these
with the bounded graph in them; the original stays as it is. A graph that is held in a global name or in an object's
attribute is not reached: a warning and the certificate name it.
"""

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, cast

from langchain_core.runnables import Runnable
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from loopwright.engine.bind import BoundBuilder, gathers_messages
from loopwright.engine.events.reasons import MESSAGES
from loopwright.engine.events.schema import holding
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.nodes.fallback import FALLBACK, last_word
from loopwright.engine.proof.choice import choose
from loopwright.engine.proof.reach import PARTS, is_filled
from loopwright.engine.proof.read import read_destinations, read_topology, subgraphs
from loopwright.errors import UnboundedCycleError

logger = logging.getLogger("loopwright.loops")

MOST_LOOKED_AT = 5_000
"""More values than these are not looked through for graphs; what is behind them is not reached."""

_HELD = (*PARTS, "first", "middle", "last", "tools_by_name", "_tools_by_name")
"""Where runnables and tools keep what they run."""

_begun: ContextVar[frozenset[int]] = ContextVar("loopwright_graphs_begun", default=frozenset())
"""The ids of the graphs that are being bounded: one that holds itself stays as it is."""


def bounded_inside(builder: BoundBuilder, limit: int | None, warn_at: int, bounded: Callable[..., Any]) -> bool:
    """Bound the graphs inside a graph by `loopwright.bounded`, and tell whether one of them can reach a bound.

    The nodes of the builder, a copy, are replaced by copies. Without a limit, graphs that go round stay as they are;
    `warn_at` is for those that have messages.
    """
    nodes = {id(inner) for inner in subgraphs(builder).values()}
    made: dict[int, Any] = {}

    def swap(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Any:
        begun = _begun.get()
        if id(graph) in made:
            return made[id(graph)]
        made[id(graph)] = graph
        if isinstance(graph, BoundedGraph) or id(graph) in begun or (limit is None and id(graph) not in nodes):
            return graph
        # Without a limit it may not be bounded; the proof of the graph around names the cycle then.
        with suppress(UnboundedCycleError), holding(_begun, begun | {id(graph)}):
            tells = warn_at if MESSAGES in graph.builder.channels else 0
            speaks = gathers_messages(graph.builder) and FALLBACK not in graph.builder.nodes
            own = last_word if speaks and limit is not None else None
            within = bounded(graph, limit=limit, warn_at=tells, fallback=own)
            # The nodes of one that is a node are watched in any case: the proof rests on where they go.
            if within.builder.reports or id(graph) in nodes:
                made[id(graph)] = within
        return made[id(graph)]

    substitution = Substitution(swap)  # one for all: what nodes hold together, they go on to hold together
    for spec in builder.nodes.values():
        before, spec.runnable = spec.runnable, substitution.of(spec.runnable)
        if spec.runnable is not before:  # else what was read of it holds
            builder.destinations = None
    for branches in builder.branches.values():  # a router may hold the tools that its node runs
        routed = {name: substitution.of(branch) for name, branch in branches.items()}
        if any(routed[name] is not branch for name, branch in branches.items()):
            branches |= routed
            builder.destinations = None
    builder.destinations = read_destinations(builder)
    called = {id(graph): (graph, sender) for sender, does in builder.destinations.items() for graph in does.graphs}
    for graph, sender in called.values() if limit is not None else ():
        if not isinstance(graph, CompiledStateGraph) or isinstance(graph, BoundedGraph):
            continue
        if choose(read_topology(graph).ways()):
            logger.warning(
                "%r calls graph %r (%s) by a global name or an attribute, where no limit reaches it: bound it there",
                sender, graph.name, ", ".join(graph.builder.nodes),
            )  # fmt: skip
    return any(isinstance(new, BoundedGraph) and new.builder.reports for new in made.values())


class Substitution:
    """Replaces graphs within what a node runs, in a copy of what holds them.

    What takes a graph's place is given by `swap`; the graph itself leaves it.
    """

    def __init__(self, swap: Callable[[CompiledStateGraph[Any, Any, Any, Any]], Any]) -> None:
        self._swap = swap
        self._copies: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that no id is given twice

    def _holds(self, value: Any, seen: set[int]) -> bool:
        """Whether a graph within the value is replaced."""
        if id(value) in seen or len(seen) > MOST_LOOKED_AT:
            return False
        seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, CompiledStateGraph):
            return self._swap(cast("CompiledStateGraph[Any, Any, Any, Any]", value)) is not value
        # Every part is looked at, and not only up to the first: each graph is to be shown to `swap`.
        return any([self._holds(part, seen) for part in _parts(value)])

    def of(self, value: Any) -> Any:
        """The value with its graphs replaced; the very same if none is."""
        if isinstance(value, CompiledStateGraph):
            return self._swap(cast("CompiledStateGraph[Any, Any, Any, Any]", value))
        if id(value) in self._copies:
            return self._copies[id(value)]
        if not self._holds(value, set()):
            return value
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, MethodType):
            return getattr(self.of(value.__self__), value.__name__)
        if isinstance(value, partial):
            new = partial(
                self.of(value.func), *map(self.of, value.args),
                **{key: self.of(item) for key, item in value.keywords.items()},
            )  # fmt: skip
            vars(new).update({key: self.of(item) for key, item in vars(value).items()})
            return new
        if isinstance(value, tuple):
            items = [self.of(item) for item in cast("Sequence[Any]", value)]
            return cast("Any", value)._make(items) if hasattr(value, "_make") else tuple(items)
        if isinstance(value, Mapping | list):
            held = cast("Any", value)
            new: Any = copy.copy(held) if hasattr(held, "__setitem__") else dict(held)
            self._copies[id(value)] = new
            for key in [*held] if isinstance(value, Mapping) else range(len(held)):
                new[key] = self.of(held[key])
            return new
        return self._object(value)

    def _function(self, function: FunctionType) -> FunctionType:
        # A cell without a graph stays the same one: what functions count in it together, they go on to.
        cells = tuple(
            CellType() if is_filled(cell) and self._holds(cell.cell_contents, set()) else cell
            for cell in function.__closure__ or ()
        )
        new = FunctionType(function.__code__, function.__globals__, function.__name__, closure=cells)
        self._copies[id(function)] = new  # before its cells: one of them may hold the function itself
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            if cell is not old:
                cell.cell_contents = self.of(old.cell_contents)
        new.__defaults__, new.__kwdefaults__ = self.of(function.__defaults__), self.of(function.__kwdefaults__)
        for name in ("__qualname__", "__module__", "__doc__", "__annotations__"):
            setattr(new, name, getattr(function, name))
        own = {key: self.of(item) for key, item in vars(function).items()}
        same = all(own[key] is item for key, item in vars(function).items())
        new.__dict__ = vars(function) if same else own  # what it counts in its attributes, others may read
        return new

    def _object(self, value: Any) -> Any:
        new = value.model_copy() if isinstance(value, BaseModel) else copy.copy(value)
        self._copies[id(value)] = new
        for name, part in _attributes(value).items():
            # Written past pydantic and properties: the copy is as valid as the original.
            vars(new)[name] = self.of(part)
        for name, part in [*vars(new).items()]:
            if isinstance(part, MethodType) and part.__self__ is value:
                vars(new)[name] = MethodType(part.__func__, new)
        return new


def _attributes(value: Any) -> dict[str, Any]:
    return {name: vars(value)[name] for name in _HELD if name in getattr(value, "__dict__", {})}


def _parts(value: Any) -> list[Any]:
    """What may hold a graph within a value."""
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if is_filled(cell)]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, MethodType):
        return [value.__self__] if isinstance(value.__self__, CompiledStateGraph) else []
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values(), *vars(value).values()]
    if isinstance(value, Mapping):
        return [*cast("Mapping[Any, Any]", value).values()]
    if isinstance(value, list | tuple):
        return [*cast("Sequence[Any]", value)]
    if isinstance(value, Runnable) or "afunc" in getattr(value, "__dict__", {}):
        return [*_attributes(value).values()]
    return []
