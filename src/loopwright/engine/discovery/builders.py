"""What the methods of LangGraph's builders do to a graph that is being read."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from loopwright.engine.discovery.expressions import Call, evaluate, iterated, return_annotation
from loopwright.engine.discovery.found import END, START, FoundGraph, FoundNode, FoundRoute, Place
from loopwright.engine.discovery.values import ClassValue, Frame, FunctionValue, GraphValue, Made, Words, text_of
from loopwright.engine.source_hints import UNKNOWN, Symbol, command_words, returned_words
from loopwright.engine.topology import Edge

NO_WORDS: frozenset[str] = frozenset()
TOOLS = "tools"
"""LangGraph's own name for a node that runs tools."""


class Arguments:
    """The arguments of one call, each evaluated once."""

    def __init__(self, node: ast.Call, frame: Frame, call: Call) -> None:
        self.place = place_of(node, frame)
        self.call = call
        self.starred = any(isinstance(value, ast.Starred) for value in node.args)
        self.complete = not self.starred and all(keyword.arg for keyword in node.keywords)
        self.given = [evaluate(value, frame, call) for value in node.args if not isinstance(value, ast.Starred)]
        self.named = {keyword.arg: evaluate(keyword.value, frame, call) for keyword in node.keywords if keyword.arg}

    def take(self, place: int | None, name: str, default: Any = None) -> Any:
        """The argument at a place or of a name."""
        if place is not None and place < len(self.given):
            return self.given[place]
        return self.named.get(name, default)

    def without_first(self) -> Arguments:
        """The same arguments behind the first."""
        self.given = self.given[1:]
        return self


def place_of(node: ast.Call, frame: Frame) -> Place:
    """The lines of a call; in a chain of methods, from its own method's name on."""
    line = (node.func.end_lineno if isinstance(node.func, ast.Attribute) else None) or node.lineno
    return Place(frame.file, line, node.end_lineno or line)


def add_node(graph: FoundGraph, given: Arguments) -> None:
    """``add_node(name, action)`` or ``add_node(action)``."""
    first = given.take(0, "node", UNKNOWN)
    name = text_of(first)
    action = given.take(1, "action") if name is not None else first
    if name is None and given.take(1, "action") is None:
        name = name_of(action)
    if name is None:
        return graph.refuse(given.place, "the name of a node is no constant")
    node = FoundNode(given.place)
    graph.nodes[name] = node
    if isinstance(action, GraphValue):
        node.graph = action.graph
    node.words, node.declared = _commands(action, given.call)
    if (destinations := given.take(None, "destinations")) is not None:
        names = iterated(destinations)
        if names is None or not all(text_of(name) is not None for name in names):
            return graph.refuse(given.place, f"the destinations of node {name!r} are no constants")
        node.declared = tuple(str(name) for name in names)
    handler = given.take(None, "error_handler")
    node.handler_words = NO_WORDS if handler is None else _commands(handler, given.call)[0]
    return None


def name_of(action: Any) -> str | None:
    """The name that LangGraph gives to a node without one."""
    match action:
        case FunctionValue(name=name) | ClassValue(name=name):
            return name
        case GraphValue(graph=graph):
            return graph.compiled_as
        case Made(of=of, options=options):
            if of.rpartition(".")[2] == "ToolNode":
                return text_of(options.get("name", TOOLS))
            return None
        case Symbol():
            return action.rpartition(".")[2]
        case _:
            return None


def _commands(action: Any, call: Call) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """The destinations that a node's source shows, and those that its annotation declares."""
    if not isinstance(action, FunctionValue):
        return NO_WORDS, ()
    words = command_words(action.node, action.frame.settled)
    if action.decorated and words:
        words = None
    annotated = return_annotation(action, call)
    if isinstance(annotated, Words) and annotated.command:
        return words, tuple(str(text_of(word)) for word in annotated.words)
    return words, ()


def add_edge(graph: FoundGraph, given: Arguments) -> None:
    """``add_edge(a, b)``, or ``add_edge([a, b], c)``, which waits for all."""
    first, end = given.take(0, "start_key", UNKNOWN), text_of(given.take(1, "end_key", UNKNOWN))
    starts = [first] if text_of(first) is not None else iterated(first)
    if starts is None or end is None or not all(text_of(start) is not None for start in starts):
        return graph.refuse(given.place, "the ends of an edge are no constants")
    kind = "static" if text_of(first) is not None else "join"
    graph.edges += [(Edge(str(start), end, kind), given.place) for start in starts]
    return None


def add_conditional_edges(graph: FoundGraph, given: Arguments) -> None:
    """``add_conditional_edges(source, path, path_map)``."""
    _route(graph, given, given.take(0, "source", UNKNOWN), given.take(1, "path", UNKNOWN), given.take(2, "path_map"))


def set_conditional_entry_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_conditional_entry_point(path, path_map)``."""
    _route(graph, given, START, given.take(0, "path", UNKNOWN), given.take(1, "path_map"))


def _route(graph: FoundGraph, given: Arguments, start: Any, path: Any, path_map: Any) -> None:
    source = text_of(start)
    if source is None:
        return graph.refuse(given.place, "the source of a conditional edge is no constant")
    if isinstance(path_map, list | dict):
        targets = cast("dict[Any, Any]", path_map if isinstance(path_map, dict) else {name: name for name in path_map})
        if not all(text_of(target) is not None for target in targets.values()):
            return graph.refuse(given.place, f"the path map behind {source!r} is not made of constants")
        mapped = {str(label): str(target) for label, target in targets.items()}
        graph.routes.append(FoundRoute(given.place, source, mapped, declared=True))
        return None
    if path_map is not None and not isinstance(path_map, tuple):
        return graph.refuse(given.place, f"the path map behind {source!r} is not made of constants")
    words, declared = router_words(path, given.call)
    targets = None if words is None else {word: word for word in sorted(words)}
    graph.routes.append(FoundRoute(given.place, source, targets, declared))
    return None


def router_words(path: Any, call: Call) -> tuple[frozenset[str] | None, bool]:
    """What a router can return, None for anything, and whether an annotation declares it."""
    if isinstance(path, Symbol) and path.rpartition(".")[2] == "tools_condition":
        return frozenset({TOOLS, END}), True
    if not isinstance(path, FunctionValue):
        return None, False
    annotated = return_annotation(path, call)
    if isinstance(annotated, Words) and not annotated.command:
        return frozenset(str(text_of(word)) for word in annotated.words), True
    return None if path.decorated else returned_words(path.node, path.frame.settled), False


def add_sequence(graph: FoundGraph, given: Arguments) -> None:
    """``add_sequence([a, b, c])``, each a node or a pair of name and node."""
    items = iterated(given.take(0, "nodes", UNKNOWN))
    if items is None:
        return graph.refuse(given.place, "the nodes of a sequence are not known")
    before: str | None = None
    for item in items:
        first, action = item if isinstance(item, tuple) and len(item) == 2 else (name_of(item), item)
        name = text_of(first)
        if name is None:
            return graph.refuse(given.place, "the name of a node is no constant")
        node = FoundNode(given.place, graph=action.graph if isinstance(action, GraphValue) else None)
        node.words, node.declared = _commands(action, given.call)
        graph.nodes[name] = node
        if before is not None:
            graph.edges.append((Edge(before, name, "static"), given.place))
        before = name
    return None


def set_entry_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_entry_point(a)``."""
    given.given = [START, given.take(0, "key", UNKNOWN)]
    add_edge(graph, given)


def set_finish_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_finish_point(a)``."""
    given.given = [given.take(0, "key", UNKNOWN), END]
    add_edge(graph, given)


def set_node_defaults(graph: FoundGraph, given: Arguments) -> None:
    """``set_node_defaults(...)``: only a default error handler could change where control goes."""
    handler = given.take(None, "error_handler")
    if handler is not None and _commands(handler, given.call)[0] != NO_WORDS:
        graph.refuse(given.place, "a default error handler makes Commands")


METHODS: dict[str, Callable[[FoundGraph, Arguments], None]] = {
    "add_conditional_edges": add_conditional_edges,
    "add_edge": add_edge,
    "add_node": add_node,
    "add_sequence": add_sequence,
    "set_conditional_entry_point": set_conditional_entry_point,
    "set_entry_point": set_entry_point,
    "set_finish_point": set_finish_point,
    "set_node_defaults": set_node_defaults,
}
"""The methods that change a builder."""

HARMLESS = frozenset({"validate", "get_graph"})
"""Methods of a builder that change nothing."""
