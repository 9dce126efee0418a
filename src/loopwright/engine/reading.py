"""Reads a graph's builder into a `Topology`: every way that control can pass.

The builder is read, never ``get_graph()``, which loses routers without a path map, Commands and Sends.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from loopwright.engine.binding import BoundBuilder, Builder
from loopwright.engine.closures import is_filled
from loopwright.engine.destinations import command_destinations, functions_of, jumps_out, router_words
from loopwright.engine.gate import DISPATCHER, Asker, is_engine_node
from loopwright.engine.loops import Loop
from loopwright.engine.rerouting import WithoutSends, unwrapped
from loopwright.engine.topology import Edge, LoopEdge, Topology
from loopwright.errors import GraphError


def builder_of(graph: Any) -> Builder:
    """The builder of a graph, compiled or not.

    Args:
        graph: A ``StateGraph`` or a compiled one.

    Raises:
        GraphError: If it is neither.
    """
    builder = graph.builder if isinstance(graph, CompiledStateGraph) else graph
    if not isinstance(builder, StateGraph):
        raise GraphError(
            f"a StateGraph is needed, compiled or not, and this is a {type(graph).__name__}: {str(graph)[:100]}"
        )
    return builder


def read_topology(graph: Any, name: str | None = None) -> Topology:
    """Every node and edge of a graph.

    Args:
        graph: A ``StateGraph`` or a compiled one, with gates or without.
        name: The graph's name; by default that of the compiled graph.

    Returns:
        The topology. A router or Command that may go anywhere has an ``assumed`` edge to every node.
    """
    builder = builder_of(graph)
    loops = builder.loops if isinstance(builder, BoundBuilder) else ()
    gates = {loop.gate: loop for loop in loops}
    hidden = {
        node
        for node, spec in builder.nodes.items()
        if node == DISPATCHER or isinstance(spec.runnable, Asker) or spec.is_error_handler
    }
    told: dict[str, None] = {}
    edges = {
        Edge(edge.source, edge.target, "request", edge.label)
        if edge.target in gates and edge.source not in gates
        else edge
        for edge in _edges(builder, told)
        if edge.source not in gates
    }
    for loop in loops:
        edges.add(Edge(loop.gate, loop.target, "granted", loop.name))
        edges |= {Edge(loop.gate, route, "exhausted", loop.name) for route in loop.fallbacks}
    order = {node: place for place, node in enumerate([START, *builder.nodes, END])}
    return Topology(
        name=name or getattr(graph, "name", None) or "LangGraph",
        nodes=tuple(builder.nodes),
        edges=tuple(
            sorted(edges, key=lambda e: (order.get(e.source, 0), order.get(e.target, 0), e.kind, e.label or ""))
        ),
        loops=tuple(edge for loop in loops for edge in _loop_edges(loop)),
        read_from_source=tuple(told),
        hidden=frozenset(hidden),
    )


def _loop_edges(loop: Loop) -> Iterator[LoopEdge]:
    """One for the loop, or one for each source where every source has its own fallback."""
    if isinstance(loop.exhausted, str):
        yield LoopEdge(loop.name, loop.gate, loop.target, loop.sources, loop.limit_text, loop.fallbacks)
        return
    for source, route in loop.exhausted.items():
        yield LoopEdge(loop.name, loop.gate, loop.target, (source,), loop.limit_text, (route, *loop.own_routes))


def _edges(builder: Builder, told: dict[str, None]) -> Iterator[Edge]:
    """Every edge; the nodes whose source tells where they go are added to `told`."""
    for source, target in builder.edges:
        yield Edge(source, target, "static")
    for sources, target in builder.waiting_edges:
        for source in sources:
            yield Edge(source, target, "join")
    written = (node for node, spec in builder.nodes.items() if not spec.is_error_handler and not is_engine_node(node))
    anywhere = (*written, END)
    for source, branches in builder.branches.items():
        for branch in branches.values():
            yield from _routes(source, branch, anywhere, told)
    yield from _jumps(builder, anywhere, told)


def _routes(source: str, branch: Any, anywhere: tuple[str, ...], told: dict[str, None]) -> Iterator[Edge]:
    ends: dict[Any, str] | None = branch.ends
    # A path map of every node may be one that binding made, for a router that had none.
    open_map = ends is None or (isinstance(branch.path, WithoutSends) and set(anywhere) <= set(ends))
    words = router_words(branch.path) if open_map else None
    if ends is None and words is None:
        yield from (Edge(source, target, "assumed") for target in anywhere)
        return
    if words is not None:
        told[source] = None
    for label, target in (ends or {node: node for node in anywhere}).items():
        # A way that leads into a gate was declared by a loop, and stays.
        if words is None or label in words or label != target:
            yield Edge(source, str(target), "conditional", None if label == target else str(label))


def _jumps(builder: Builder, anywhere: tuple[str, ...], told: dict[str, None]) -> Iterator[Edge]:
    handled: dict[str, list[str]] = {}
    for node, spec in builder.nodes.items():
        if spec.error_handler_node:
            handled.setdefault(spec.error_handler_node, []).append(node)
    called = called_graphs(builder)
    for node, spec in builder.nodes.items():
        # A handler runs in the superstep of the node that failed, so its jumps are that node's.
        kind = "handler" if spec.is_error_handler else "command"
        sources = handled.get(node, []) if spec.is_error_handler else [node]
        ends = spec.ends or ()
        for source, target in product(sources, ends):
            yield Edge(source, target, kind, ends[target] if isinstance(ends, dict) else None)
        if ends:
            continue
        words = None if any(map(jumps_out, called.get(node, ()))) else command_destinations(spec.runnable)
        if words is not None and not words:
            continue
        if words:
            told[node] = None
        targets = anywhere if words is None else [target for target in anywhere if target in words]
        yield from (Edge(*way, "assumed" if words is None else kind) for way in product(sources, targets))


def subgraphs(builder: Builder) -> dict[str, CompiledStateGraph[Any, Any, Any, Any]]:
    """The nodes that are compiled graphs themselves, by name."""
    found: dict[str, CompiledStateGraph[Any, Any, Any, Any]] = {}
    for node, spec in builder.nodes.items():
        inner = unwrapped(spec.runnable)
        if isinstance(inner, CompiledStateGraph):
            found[node] = cast("CompiledStateGraph[Any, Any, Any, Any]", inner)
    return found


def called_graphs(builder: Builder) -> dict[str, list[Pregel[Any, Any, Any, Any]]]:
    """The graphs that a node's function can reach by a closure, a global name or its object, by node.

    A graph that is called inside a node inherits the caller's step limit, so the caller must leave it room.
    """
    found: dict[str, list[Pregel[Any, Any, Any, Any]]] = {}
    for node, spec in builder.nodes.items():
        graphs = {id(value): value for function in functions_of(spec.runnable) for value in _reachable(function)}
        if graphs:
            found[node] = [*graphs.values()]
    return found


def _reachable(function: Any) -> Iterator[Pregel[Any, Any, Any, Any]]:
    owner = getattr(function, "__self__", None)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    values: list[Any] = [owner, *(vars(owner).values() if hasattr(owner, "__dict__") else ())]
    if code := getattr(plain, "__code__", None):
        names = plain.__globals__
        values += [names[name] for name in code.co_names if name in names]
        values += [cell.cell_contents for cell in plain.__closure__ or () if is_filled(cell)]
    yield from (value for value in values if isinstance(value, Pregel))
