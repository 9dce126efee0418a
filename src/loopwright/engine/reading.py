"""Reads a graph's builder into a `Topology`: every way that control can pass.

The builder is read, never ``get_graph()``, which loses routers without a path map, Commands and Sends.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from loopwright.engine.binding import BoundBuilder, Builder
from loopwright.engine.gate import NEW_RUN_NODE, Asker, is_engine_node
from loopwright.engine.loops import Loop
from loopwright.engine.rerouting import unwrapped
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
        if node == NEW_RUN_NODE or isinstance(spec.runnable, Asker) or spec.is_error_handler
    }
    edges = {
        Edge(edge.source, edge.target, "request", edge.label)
        if edge.target in gates and edge.source not in gates
        else edge
        for edge in _edges(builder)
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
        hidden=frozenset(hidden),
    )


def _loop_edges(loop: Loop) -> Iterator[LoopEdge]:
    """One for the loop, or one for each source where every source has its own fallback."""
    if isinstance(loop.exhausted, str):
        yield LoopEdge(loop.name, loop.gate, loop.target, loop.sources, loop.limit_text, loop.fallbacks)
        return
    stalled = (loop.stall.route,) if loop.stall and loop.stall.route else ()
    for source, route in loop.exhausted.items():
        yield LoopEdge(loop.name, loop.gate, loop.target, (source,), loop.limit_text, (route, *stalled))


def _edges(builder: Builder) -> Iterator[Edge]:
    for source, target in builder.edges:
        yield Edge(source, target, "static")
    for sources, target in builder.waiting_edges:
        for source in sources:
            yield Edge(source, target, "join")
    written = (node for node, spec in builder.nodes.items() if not spec.is_error_handler and not is_engine_node(node))
    anywhere = (*written, END)
    for source, branches in builder.branches.items():
        for branch in branches.values():
            for label, target in (branch.ends or dict.fromkeys(anywhere)).items():
                if branch.ends is None:
                    yield Edge(source, str(label), "assumed")
                else:
                    yield Edge(source, str(target), "conditional", None if label == target else str(label))
    yield from _jumps(builder, anywhere)


def _jumps(builder: Builder, anywhere: tuple[str, ...]) -> Iterator[Edge]:
    handled: dict[str, list[str]] = {}
    for node, spec in builder.nodes.items():
        if spec.error_handler_node:
            handled.setdefault(spec.error_handler_node, []).append(node)
    for node, spec in builder.nodes.items():
        # A handler runs in the superstep of the node that failed, so its jumps are that node's.
        kind = "handler" if spec.is_error_handler else "command"
        sources = handled.get(node, []) if spec.is_error_handler else [node]
        ends = spec.ends or ()
        for source, target in product(sources, ends):
            yield Edge(source, target, kind, ends[target] if isinstance(ends, dict) else None)
        if not ends and _may_jump(spec.runnable):
            yield from (Edge(source, target, "assumed") for source, target in product(sources, anywhere))


def _may_jump(runnable: Any) -> bool:
    """Whether a node that declares no destinations makes a ``Command`` with a goto in its own graph."""
    return _jumps_out(runnable) or any("goto" in words and "graph" not in words for words in _commands(runnable))


def _jumps_out(runnable: Any) -> bool:
    """Whether a node is a graph, one of whose nodes makes a ``Command`` with a goto in the graph around it."""
    inner = unwrapped(runnable)
    return isinstance(inner, CompiledStateGraph) and any(
        "graph" in words or _jumps_out(spec.runnable)
        for spec in inner.builder.nodes.values()
        for words in [*_commands(spec.runnable), set[str]()]
    )


def _commands(runnable: Any) -> list[set[str]]:
    """The keywords of every ``Command(...)`` in a node's source; ``**options`` could be a goto."""
    tree = source_tree(runnable)
    return [
        {keyword.arg or "goto" for keyword in node.keywords}
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Command"
    ]


def functions_of(runnable: Any) -> list[Any]:
    """The functions that a node runs, as far as they can be seen."""
    inner = unwrapped(runnable)
    found = [getattr(inner, name, None) for name in ("func", "afunc")]
    return [function for function in found if callable(function)]


def source_tree(runnable: Any) -> ast.AST | None:
    """The syntax tree of a node's function; None where the source cannot be read."""
    for function in functions_of(runnable):
        try:
            return ast.parse(textwrap.dedent(inspect.getsource(function)).strip().rstrip(","))
        except (OSError, TypeError, SyntaxError):
            continue
    return None


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
        values += [cell.cell_contents for cell in plain.__closure__ or () if _filled(cell)]
    yield from (value for value in values if isinstance(value, Pregel))


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
