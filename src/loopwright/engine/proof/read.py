"""Reads a graph's builder into a `Topology`: every way that control can pass.

The builder is read, never ``get_graph()``, which loses routers without a path map, Commands and Sends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.events.reasons import MESSAGES
from loopwright.engine.gate import DISPATCHER, GateState, is_engine_node
from loopwright.engine.jumps import WatchedRouter
from loopwright.engine.loop import Loop
from loopwright.engine.proof.destinations import NOTHING, Behaviour, behaviour_of, router_words
from loopwright.engine.proof.graph import Edge, EdgeKind, Topology, ways_out
from loopwright.engine.proof.reach import followed_once, unwrapped
from loopwright.errors import GraphError, unknown_name_message

Builder = StateGraph[Any, Any, Any, Any]

NEEDED_KEYS = "__loopwright_needed_keys__"
"""Where the input schema of a node keeps which of its keys the state must have without it."""

ADDED_KEY = "__loopwright_added_key__"
"""Where such a node keeps the key of the messages to which it adds, though the state may replace them."""

Sender: TypeAlias = str | tuple[str, str]
"""A node by its name, or a router by its source and its name."""


def builder_of(graph: Any) -> Builder:
    """The builder of a graph, compiled or not; what is neither is a `GraphError`."""
    builder = graph.builder if isinstance(graph, CompiledStateGraph) else graph
    if not isinstance(builder, StateGraph):
        raise GraphError(
            f"a StateGraph is needed, compiled or not, and this is a {type(graph).__name__}: {str(graph)[:100]}"
        )
    return builder


@followed_once()
def read_destinations(builder: Builder) -> Mapping[Sender, Behaviour]:
    """What every node and router does, as it declares it or as its source shows it.

    Reading source takes time, so it is done once for a graph and handed on to the copy that gets the gates; it is read
    again only for nodes that came later.
    """
    before: Mapping[Sender, Behaviour] | None = getattr(builder, "destinations", None)
    written = {node: spec for node, spec in builder.nodes.items() if not is_engine_node(node)}
    if before is not None and before.keys() >= written.keys():
        return before
    found: dict[Sender, Behaviour] = {}
    for node, spec in written.items():
        read = behaviour_of(spec.runnable)
        # LangGraph holds no Command to what is declared, so a declaration adds to what can be read.
        jumps = read.shown if read.jumps is None else read.jumps
        found[node] = replace(read, jumps=jumps.union(spec.ends)) if spec.ends else read
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            read = behaviour_of(branch.path)
            # A path map translates words; what is sent goes past it.
            if isinstance(branch.path, WatchedRouter):  # read before, and held to it
                words = branch.path.ways.known
            else:
                words = read.sent.union(branch.ends.values()) if branch.ends else router_words(branch.path)
            found[source, name] = replace(read, jumps=words)
    return found


def anywhere_in(builder: Builder) -> tuple[str, ...]:
    """Where a router or Command that declares nothing may go: every node of the user's, and the end."""
    written = (node for node, spec in builder.nodes.items() if not spec.is_error_handler and not is_engine_node(node))
    return (*written, END)


def read_topology(graph: Any, name: str | None = None) -> Topology:
    """Every node and edge of a graph, compiled or not, with gates or without.

    A router or Command that may go anywhere has an ``assumed`` edge to every node.

    Raises:
        GraphError: If it is no graph, or an edge of a builder names a node that was not added, or a node a state key.
    """
    builder = builder_of(graph)
    loops: tuple[Loop, ...] = getattr(builder, "loops", ())
    gates = {loop.gate: loop for loop in loops}
    hidden = {node for node, spec in builder.nodes.items() if node == DISPATCHER or spec.is_error_handler}
    edges = {
        replace(edge, kind="request") if edge.target in gates and edge.kind != "join" else edge
        for edge in _edges(builder)
        if edge.source not in gates
    }
    for loop in loops:
        edges.add(Edge(loop.gate, loop.target, "granted", loop.name))
        edges |= {Edge(loop.gate, route, "exhausted", loop.name) for route in loop.fallbacks}
    called: str = name or getattr(graph, "name", None) or "LangGraph"
    order = {node: place for place, node in enumerate([START, *builder.nodes, END])}
    for strange in sorted({node for edge in edges for node in (edge.source, edge.target)} - order.keys()):
        written = (node for node in builder.nodes if not is_engine_node(node))
        raise GraphError(f"graph {called!r}: an edge names an {unknown_name_message('node', strange, written)}")
    _check_keys(builder, called)
    ordered = sorted(edges, key=lambda e: (order[e.source], order[e.target], e.kind, e.label or ""))
    return Topology(called, tuple(builder.nodes), tuple(ordered), loops, frozenset(hidden))


def _check_keys(builder: Builder, called: str) -> None:
    schemas = ((schema, keys) for schema, keys in builder.schemas.items() if schema is not GateState)
    known = {key for schema, keys in schemas if not hasattr(schema, NEEDED_KEYS) for key in keys}
    for node, spec in builder.nodes.items():
        for key in sorted(getattr(spec.input_schema, NEEDED_KEYS, set[str]()) - known):
            more = " Say where the answer goes, for example to='answer'." if key == MESSAGES else ""
            problem = unknown_name_message("state key", key, known)
            raise GraphError(f"graph {called!r}: node {node!r} names an {problem}{more}")


def _edges(builder: Builder) -> Iterator[Edge]:
    yield from (Edge(source, target, "static") for source, target in builder.edges)
    yield from (Edge(source, target, "join") for sources, target in builder.waiting_edges for source in sources)
    yield from (edge for edges, _sends in ways_of(builder) for edge in edges)


def ways_of(builder: Builder) -> Iterator[tuple[list[Edge], bool]]:
    """The edges of every router, node and error handler of a graph, its gates too, and whether it could ``Send``."""
    known, anywhere = read_destinations(builder), {node: node for node in anywhere_in(builder)}
    gated: Mapping[str, Mapping[str, Loop]] = getattr(builder, "gated", {})
    through = {node: anywhere | {end: loop.gate for end, loop in its.items()} for node, its in gated.items()}
    for source, branches in builder.branches.items():
        gates, ways = gated.get(source, {}), through.get(source, anywhere)
        for name, branch in branches.items():
            does = known[source, name]
            # A router without a path map goes round where a loop says so, whatever its source shows.
            may = None if does.jumps is None else does.jumps | gates.keys()
            written = branch.path.labels if isinstance(branch.path, WatchedRouter) else branch.ends
            if gates and not written:
                written = {end: end for end in anywhere if may is None or end in may}
            ends = {label: ways.get(end, end) for label, end in (written or {}).items()}
            named = [(str.__str__(end), None if label == end else _text(label)) for label, end in ends.items()]
            yield ways_out(source, "conditional", named, does.jumps, ways), does.sends
    handled: dict[str | None, list[str]] = {}
    for node, spec in builder.nodes.items():
        handled.setdefault(spec.error_handler_node, []).append(node)
    for node, spec in builder.nodes.items():
        # A handler runs in the superstep of the node that failed, so its jumps are that node's.
        kind: EdgeKind = "handler" if spec.is_error_handler else "command"
        labels = spec.ends if isinstance(spec.ends, dict) else dict.fromkeys(spec.ends or ())
        does, ways = known.get(node, NOTHING), through.get(node, anywhere)
        named = [(str.__str__(ways.get(end, end)), label) for end, label in labels.items()]
        for source in handled.get(node, []) if spec.is_error_handler else [node]:
            yield ways_out(source, kind, named, does.jumps, ways), does.sends


def _text(label: Any) -> str:
    """A label as text; that of an ``Enum`` of texts is its value."""
    return str.__str__(label) if isinstance(label, str) else str(label)


def subgraphs(builder: Builder) -> dict[str, CompiledStateGraph[Any, Any, Any, Any]]:
    """The nodes that are compiled graphs themselves, by name."""
    runnables = {node: unwrapped(spec.runnable) for node, spec in builder.nodes.items()}
    return {node: inner for node, inner in runnables.items() if isinstance(inner, CompiledStateGraph)}
