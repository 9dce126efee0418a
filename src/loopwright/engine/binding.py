"""Puts gates into a graph that we did not write, and leaves the original untouched.

Only a copy of the builder changes: the loop's edges go to the gate instead of the target, and the gate goes on. No
private part of LangGraph is used, but for a builder's node defaults, which have no public reader.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_type_hints

from langchain_core.runnables import Runnable
from langgraph.channels.base import BaseChannel
from langgraph.graph import END, StateGraph
from pydantic import BaseModel, create_model
from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12

from loopwright.engine.books import (
    LEDGER,
    REQUESTS,
    SPENT,
    STOP_REASON,
    Ledger,
    Owned,
    Requests,
    Spending,
    StopReasons,
    fresh_books,
)
from loopwright.engine.budgets import Budget
from loopwright.engine.destinations import undeclared_jumps
from loopwright.engine.gate import DISPATCHER, Asker, Dispatcher, Gate, GateState, is_engine_node
from loopwright.engine.loops import Loop, StateLimit
from loopwright.engine.rerouting import Rerouted, WithoutSends
from loopwright.engine.spending import check_budgets, meter_nodes
from loopwright.errors import GraphError, LoopDeclarationError, unknown_name_message

Builder = StateGraph[Any, Any, Any, Any]


class BoundBuilder(Builder):
    """A copy of a builder with gates in it; made by `bind`, never by hand."""

    loops: tuple[Loop, ...]
    """The loops whose gates it holds."""
    budget: Budget | None
    """What a run may spend."""

    @property
    def metered(self) -> bool:
        """Whether what a run spends is counted: it has a budget, or one of its loops has."""
        return self.budget is not None or any(loop.budget for loop in self.loops)


def bind(builder: Builder, loops: Sequence[Loop], budget: Budget | None = None) -> BoundBuilder:
    """Copy a builder and put a gate into every loop.

    Args:
        builder: The graph before compilation; not changed.
        loops: The declarations.
        budget: What a run may spend.

    Returns:
        The copy, ready to compile.

    Raises:
        LoopDeclarationError: If a loop names an unknown node, state key or scope, an edge that is not there, or shares
            what only one loop may have.
    """
    bound = copy_builder(builder)
    bound.loops, bound.budget = tuple(loops), budget
    _check_names(builder, bound.loops)
    check_budgets(builder, bound.loops, budget)
    view = _viewer(builder.state_schema)
    _add_channels(bound)
    if bound.metered:
        meter_nodes(bound)
    for loop in bound.loops:
        destinations = tuple(dict.fromkeys((loop.target, *loop.fallbacks)))
        _add_node(bound, loop.gate, Gate(loop, view, bound.metered), destinations)
        for source in loop.sources:
            _redirect(bound, loop, source, _entrance(bound, loop, source))
    if bound.loops or budget:
        _add_node(bound, DISPATCHER, Dispatcher(), (budget.exhausted or END,) if budget else ())
    return bound


def _add_node(bound: BoundBuilder, name: str, node: Runnable[Any, Any], destinations: tuple[str, ...] = ()) -> None:
    # A dict's subclass is not among the kinds of class that LangGraph's annotation lists; it takes it all the same.
    schema: Any = GateState
    bound.add_node(name, node, input_schema=schema, destinations=destinations)


def copy_builder(builder: Builder) -> BoundBuilder:
    """A copy of a builder that can be changed without changing the original; it has no loops yet."""
    bound = BoundBuilder.__new__(BoundBuilder)
    vars(bound).update(vars(builder))
    bound.nodes = {name: dataclasses.replace(spec) for name, spec in builder.nodes.items()}
    bound.edges = set(builder.edges)
    bound.waiting_edges = set(builder.waiting_edges)
    bound.branches = defaultdict(dict, {source: dict(branches) for source, branches in builder.branches.items()})
    bound.channels = dict(builder.channels)
    bound.managed = dict(builder.managed)
    bound.schemas = {schema: dict(channels) for schema, channels in builder.schemas.items()}
    bound.compiled = False
    bound.loops, bound.budget = (), None
    _settle_defaults(bound)
    return bound


def _settle_defaults(bound: BoundBuilder) -> None:
    """Give a builder's node defaults to the nodes that it has now, as compiling would, and not to those added later.

    Gates must neither be cached nor timed out nor have their errors handled.
    """
    fresh = vars(StateGraph(bound.state_schema)).get("_node_defaults")
    if vars(bound).get("_node_defaults", fresh) == fresh:
        return
    if not any(spec.is_error_handler and name.startswith("__") for name, spec in bound.nodes.items()):
        bound.compile()
        bound.compiled = False
    vars(bound)["_node_defaults"] = fresh


def _entrance(bound: BoundBuilder, loop: Loop, source: str) -> str:
    """Where the source's edge goes: the gate, or a note-taker before it if it matters which source asks."""
    if not loop.asks_by_source:
        return loop.gate
    entrance = f"{loop.gate}.{source}"
    _add_node(bound, entrance, Asker(loop, source))
    bound.add_edge(entrance, loop.gate)
    return entrance


# Names


def _check_names(builder: Builder, loops: tuple[Loop, ...]) -> None:
    names = [loop.name for loop in loops]
    owners: dict[str, str] = {}
    edges: dict[tuple[str, str], str] = {}
    for loop in loops:
        if names.count(loop.name) > 1:
            raise LoopDeclarationError(loop.name, "two loops have this name; a ledger entry belongs to one loop")
        _check_nodes(builder, loop)
        _check_keys(builder, loop)
        _check_scope(loop, {other.name: other for other in loops})
        for key in filter(None, (loop.counter, loop.history)):
            if owners.setdefault(key, loop.name) != loop.name:
                message = (
                    f"state key {key!r} belongs to loop {owners[key]!r}; a counter or history has exactly one writer"
                )
                raise LoopDeclarationError(loop.name, message)
        for source in loop.sources:
            edge = (source, loop.target)
            if edges.setdefault(edge, loop.name) != loop.name:
                message = f"the edge {source} -> {loop.target} belongs to loop {edges[edge]!r} already"
                raise LoopDeclarationError(loop.name, message)


def _check_nodes(builder: Builder, loop: Loop) -> None:
    for node in (loop.target, *loop.sources, *(route for route in loop.fallbacks if route != END)):
        if node not in builder.nodes:
            raise LoopDeclarationError(loop.name, unknown_name_message("node", node, builder.nodes))
    if loop.gate in builder.nodes:
        raise LoopDeclarationError(loop.name, f"the graph has a node {loop.gate!r} already; is it bounded twice?")


def _check_keys(builder: Builder, loop: Loop) -> None:
    limit_key = loop.limit.key if isinstance(loop.limit, StateLimit) else None
    for key in filter(None, (loop.counter, loop.history, limit_key)):
        if isinstance(key, str) and key not in builder.channels:
            raise LoopDeclarationError(loop.name, unknown_name_message("state key", key, builder.channels))


def _check_scope(loop: Loop, loops: Mapping[str, Loop]) -> None:
    seen = [loop.name]
    while loop.scope != "run":
        if loop.scope not in loops:
            known = ["run", *(name for name in loops if name != loop.name)]
            raise LoopDeclarationError(loop.name, unknown_name_message("scope", loop.scope, known))
        loop = loops[loop.scope]
        if loop.name in seen:
            raise LoopDeclarationError(loop.name, f"its scope leads back to itself: {' -> '.join([*seen, loop.name])}")
        seen.append(loop.name)


# State


def _viewer(schema: type[Any]) -> Callable[[Mapping[str, Any]], Any]:
    """How to show the plain state to a loop's callables: as the graph's own schema."""
    if not isinstance(cast("Any", schema), type):
        raise GraphError(
            f"the state {schema!r} has no keys, and gates need some; use a TypedDict, dataclass or pydantic model"
        )
    if not (issubclass(schema, BaseModel) or dataclasses.is_dataclass(schema)):
        return lambda state: state
    known = set(get_type_hints(schema))
    return lambda state: schema(**{key: value for key, value in state.items() if key in known})


def _add_channels(bound: BoundBuilder) -> None:
    if LEDGER in bound.channels:
        raise LoopDeclarationError(LEDGER, f"the state key {LEDGER!r} is reserved; is the graph bounded twice?")
    schema = dict(bound.schemas[bound.state_schema])
    for loop in bound.loops:
        if loop.counter and loop.counter_by == "engine":
            schema[loop.counter] = bound.channels[loop.counter] = Owned(int, loop.counter)
        if loop.history:
            schema[loop.history] = bound.channels[loop.history] = Owned(list, loop.history)
    stop_reason = StopReasons(Any, STOP_REASON)
    hidden: dict[str, BaseChannel[Any, Any, Any]] = {LEDGER: Ledger(dict, LEDGER)}
    if bound.metered:
        hidden[SPENT] = Spending(dict, SPENT)
    if any(loop.asks_by_source for loop in bound.loops):
        hidden[REQUESTS] = Requests(dict, REQUESTS)
    bound.channels |= {**hidden, STOP_REASON: stop_reason}
    bound.schemas[GateState] = {**schema, **hidden, STOP_REASON: stop_reason}
    # A new input resets the books, so it may write to their channels; nodes that read the same schema see none of them.
    books = {key: bound.channels[key] for key in fresh_books(bound.loops, structure="", metered=bound.metered)}
    entry = _twin(bound.input_schema)
    bound.schemas[entry] = {**bound.schemas[bound.input_schema], **books}
    bound.input_schema = entry
    if STOP_REASON not in bound.schemas[bound.output_schema]:
        output = _with_stop_reason(bound.output_schema)
        bound.schemas[output] = {**bound.schemas[bound.output_schema], STOP_REASON: stop_reason}
        bound.output_schema = output


def _with_stop_reason(schema: type[Any]) -> type[Any]:
    """The output schema with the key ``stop_reason``, in the same kind of class."""
    return _twin(schema, {STOP_REASON: (Any, None)})


def _twin(schema: type[Any], extra: Mapping[str, tuple[Any, Any]] | None = None) -> type[Any]:
    """Another class with the fields of a state schema, and some more: name -> type and default."""
    name, added = schema.__name__, dict(extra or {})
    if issubclass(schema, BaseModel):
        return create_model(name, __base__=schema, **cast("dict[str, Any]", added))
    if dataclasses.is_dataclass(schema):
        frozen = cast("Any", schema).__dataclass_params__.frozen
        fields = [(key, kind, default) for key, (kind, default) in added.items()]
        return dataclasses.make_dataclass(name, fields, bases=(schema,), kw_only=True, frozen=frozen)
    hints = {**get_type_hints(schema, include_extras=True), **{key: kind for key, (kind, _) in added.items()}}
    # Only the fields that were added may be missing.
    total = getattr(schema, "__total__", True) and not added
    return cast("type[Any]", TypedDict(name, hints, total=total))  # type: ignore[operator]


# Edges


def _redirect(bound: BoundBuilder, loop: Loop, source: str, entrance: str) -> None:
    """Send every edge of the source that enters the loop's target to the entrance instead."""
    found = [
        _redirect_static(bound, loop, source, entrance),
        _redirect_joins(bound, loop, source, entrance),
        _redirect_branches(bound, loop, source, entrance),
        _redirect_commands(bound, loop, source, entrance),
    ]
    if not any(found):
        raise LoopDeclarationError(
            loop.name,
            f"there is no edge {source} -> {loop.target}. A node that jumps with Command must declare it: "
            f"annotate its return type as Command[Literal[{loop.target!r}, ...]] or pass destinations to add_node.",
        )


def _redirect_static(bound: BoundBuilder, loop: Loop, source: str, entrance: str) -> bool:
    if (source, loop.target) not in bound.edges:
        return False
    bound.edges.remove((source, loop.target))
    bound.edges.add((source, entrance))
    return True


def _redirect_joins(bound: BoundBuilder, loop: Loop, source: str, entrance: str) -> bool:
    found = False
    for starts, end in list(bound.waiting_edges):
        if source not in starts or end != loop.target:
            continue
        if not set(starts) <= set(loop.sources) or loop.asks_by_source:
            raise LoopDeclarationError(
                loop.name,
                f"{loop.target!r} waits for {list(starts)} together: "
                "name all of them as sources, with one fallback and no limits of their own",
            )
        bound.waiting_edges.remove((starts, end))
        bound.waiting_edges.add((starts, entrance))
        found = True
    # The other sources of the same join find it moved already.
    return found or any(source in starts and end == loop.gate for starts, end in bound.waiting_edges)


def _redirect_branches(bound: BoundBuilder, loop: Loop, source: str, entrance: str) -> bool:
    found = False
    for name, branch in bound.branches.get(source, {}).items():
        # A router without a path map may return any node's name: then every name is its own label.
        ends = branch.ends or {node: node for node in (*bound.nodes, END) if not is_engine_node(node)}
        if loop.target not in ends.values():
            continue
        found = True
        moved = {label: entrance if end == loop.target else end for label, end in ends.items()}
        bound.branches[source][name] = branch._replace(path=WithoutSends(branch.path, loop), ends=moved)
    return found


def _redirect_commands(bound: BoundBuilder, loop: Loop, source: str, entrance: str) -> bool:
    spec = bound.nodes[source]
    written = (node for node, its in bound.nodes.items() if not its.is_error_handler and not is_engine_node(node))
    ends = spec.ends or undeclared_jumps(spec.runnable, (*written, END))
    if loop.target not in ends:
        return False
    if isinstance(ends, dict):
        spec.ends = {entrance if end == loop.target else end: label for end, label in ends.items()}
    else:
        spec.ends = tuple(entrance if end == loop.target else end for end in ends)
    spec.runnable = Rerouted(cast("Runnable[Any, Any]", spec.runnable), source, loop, entrance)
    return True
