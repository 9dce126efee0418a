"""What the methods of LangGraph's builders do to a graph that is being read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from loopwright.check.expressions import evaluate, items_of, iterated, return_annotation
from loopwright.check.found import END, NOWHERE, START, FoundGraph, FoundNode, FoundRoute, Place, either
from loopwright.check.values import (
    MORE,
    Chain,
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    InstanceValue,
    Made,
    OneOf,
    SetValue,
    Words,
    is_unknown,
    member,
    text_of,
)
from loopwright.engine.proof import source
from loopwright.engine.proof.graph import Edge
from loopwright.engine.proof.source import UNKNOWN, Nodes, Symbol

if TYPE_CHECKING:
    from loopwright.check.calls import Calls

TOOLS = "tools"
"""LangGraph's own name for a node that runs tools."""


class Arguments:
    """The arguments of one call, each evaluated once."""

    def __init__(self, node: ast.Call, frame: Frame, call: Calls) -> None:
        self.place = place_of(node, frame)
        self.call = call
        values = items_of(node.args, frame, call)
        self.given = [value for value in values if value is not MORE]
        self.starred = len(self.given) < len(values)
        self.complete = not self.starred
        self.lost = [*self.given] if self.starred else list[Any]()
        """What is handed to a parameter that nobody knows."""
        self.named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = evaluate(keyword.value, frame, call)
            if keyword.arg:
                self.named[keyword.arg] = value
            elif isinstance(value, dict) and all(text_of(key) is not None for key in value):
                self.named |= cast("dict[str, Any]", value)
            else:
                self.complete = False
                self.lost.append(value)

    @property
    def every(self) -> list[Any]:
        """All that is handed over."""
        return [*self.given, *self.named.values(), *self.lost]

    def take(self, place: int | None, name: str, default: Any = None) -> Any:
        """The argument at a place or of a name."""
        if place is not None and place < len(self.given):
            return self.given[place]
        return self.named.get(name, default)

    def known(self, *names: str) -> list[Any]:
        """The first arguments, of these names; `UNKNOWN` for those that are not given."""
        return [self.take(place, name, UNKNOWN) for place, name in enumerate(names)]


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
        return graph.missed.append((given.place, "the name of a node is no constant"))
    node = _node(action, given, graph, name)
    if (destinations := given.take(None, "destinations")) is not None:
        names = iterated(destinations)
        if names is None or not all(text_of(each) is not None for each in names):
            return graph.refuse(given.place, f"the destinations of node {name!r} are no constants")
        node.declared, node.unread = tuple(str(each) for each in names), None
    if (handler := given.take(None, "error_handler")) is not None:
        handled = _node(handler, given, graph, name)
        node.handler_words = handled.ways
        node.parent = either(node.parent, handled.parent)
        node.functions = (*node.functions, *handled.functions)
        node.unread = node.unread or handled.unread
    before = graph.nodes.get(name)  # LangGraph takes a name once: one of two ways adds this one
    graph.nodes[name] = _both(before, node, graph, name) if before else node


def name_of(action: Any) -> str | None:
    """The name that LangGraph gives to a node without one."""
    match action:
        case FunctionValue(name=name) | ClassValue(name=name) | InstanceValue(of=ClassValue(name=name)):
            return name
        case GraphValue(graph=graph):
            return graph.compiled_as
        case Made(of=of, options=options) if of.rpartition(".")[2] == "ToolNode":
            return text_of(options.get("name", TOOLS))
        case Symbol():
            return action.rpartition(".")[2]
        case _:
            return None


def _node(action: Any, given: Arguments, graph: FoundGraph, name: str) -> FoundNode:
    """What is known of where an action goes."""
    node = FoundNode(given.place)
    match action:
        case GraphValue():
            node.graph = action.graph
        case FunctionValue():
            _read_function(node, action.entered(), given.call)
        case InstanceValue():
            read = _read_methods(node, action, ("__call__", "invoke", "ainvoke"), given.call)
            node.unread = node.unread if read else f"{action.of.name} is run, and no __call__ of it was found"
        case Chain(parts=parts):
            for part in [_node(part, given, graph, name) for part in parts]:
                node = _both(node, part, graph, name)
                node.unread = part.unread  # what the last one returns counts
        case OneOf(parts=parts):
            return reduce(FoundNode.merged, (_node(part, given, graph, name) for part in parts))
        case Made(of=of) if of.rpartition(".")[2] == "ToolNode":
            read_tools(node, action.options.get("tools", action.given[0] if action.given else UNKNOWN), given.call)
            wrappers = (action.options.get(key, []) for key in ("wrap_tool_call", "awrap_tool_call"))
            read_tools(node, [each for each in wrappers if each != []], given.call)
        case Made() | Symbol():
            of = action.of if isinstance(action, Made) else str.__str__(action)
            # What these packages make may be a graph, or return Commands.
            makers = ("langgraph", "deepagents", "langchain.agents", "trustcall", "langmem")
            if of.startswith((".", *makers)) or given.call.project.has(of, given.place.file):
                node.unread = f"{of} was not read"
            elif not of.startswith("loopwright."):
                graph.assumptions[f"{of} is no graph and returns no Command with a goto"] = None
            for part in [_node(value, given, graph, name) for value in handed(action)]:
                node = _both(node, part, graph, name)  # which of them runs, it decides
        case _:
            node.unread = "what it runs was not found, or other code may put something else there"
    return node


def _both(node: FoundNode, other: FoundNode, graph: FoundGraph, name: str) -> FoundNode:
    """A node that may do what either of two does."""
    if node.graph and other.graph and node.graph is not other.graph:
        graph.missed.append((other.place, f"node {name!r} is one of several graphs"))
    return node.merged(other)


def handed(value: Any) -> Iterator[FunctionValue | InstanceValue | Chain | GraphValue]:
    """The functions and graphs among what something of a package was given."""
    match value:
        case FunctionValue() | InstanceValue() | Chain() | GraphValue(compiled=True):
            yield value
        case Made():
            yield from handed([*value.given, *value.options.values()])
        case OneOf(parts=parts):
            yield from (part for part in parts if isinstance(part, FunctionValue))
        case _:
            for item in cast("list[Any]", value) if isinstance(value, list | tuple) else ():
                yield from handed(item)


def _read_function(node: FoundNode, action: FunctionValue, call: Calls) -> None:
    """Note where a function's Commands go, in its own graph and in the one around it."""
    doubts, helper = list[ast.expr](), action.helper
    words = source.command_words(helper, doubts)
    node.shown |= source.sent_words(helper, commands=True) if words is None else words
    parent = source.parent_words(helper)
    if call.project.jumps_out:
        reach = call.project.reach(call.file)
        words = either(words, reach.of(action.node).inside)  # what it calls may jump out, too
        parent = either(parent, reach.of(action.node, own=False).own)
    node.parent, jumps = either(node.parent, parent), call.project.jumps or source.jumps_in(helper)
    node.words = either(node.words, NOWHERE if words is None and node.parent == NOWHERE and not jumps else words)
    node.functions += (action,)
    annotated = return_annotation(action, call)
    if isinstance(annotated, Words) and annotated.command:
        node.declared = (*node.declared, *(str(text_of(word)) for word in annotated.words))
        return
    if action.unread:
        node.unread = node.unread or "a decorator of its function was not read"
    elif doubts and call.project.jumps:
        node.unread = node.unread or f"{action.name}() returns {ast.unparse(doubts[0])}, which may be a Command"


def _read_methods(node: FoundNode, owner: InstanceValue, names: Sequence[str], call: Calls) -> bool:
    """Note where the Commands of an object's methods go, and tell whether it has any of them."""
    methods = [method for name in names if isinstance(method := member(owner, name), FunctionValue)]
    for method in methods:
        _read_function(node, method, call)
    return bool(methods)


def read_tools(node: FoundNode, tools: Any, call: Calls) -> None:
    """Note where the Commands of tools go; tools that nobody read make none where no file has a function that does."""
    node.runs_tools = True
    for tool in iterated(tools) or [UNKNOWN]:
        if isinstance(tool, FunctionValue):
            _read_function(node, tool, call)
        elif isinstance(tool, InstanceValue):
            _read_methods(node, tool, ("_run", "_arun"), call)
        elif isinstance(tool, Made | OneOf) and (wrapped := [*handed(tool)]):
            read_tools(node, wrapped, call)
        elif isinstance(tool, Made) and tool.of.rpartition(".")[2] == "create_handoff_tool":
            name = text_of(tool.options.get("agent_name"))
            node.parent = either(node.parent, None if name is None else frozenset({name}))
        elif is_unknown(tool) and call.project.jumps and tools not in ([], ()):
            node.unread = node.unread or "its tools were not read, and may return Commands"


def _edge(graph: FoundGraph, given: Arguments, ends: Sequence[Any]) -> None:
    """``add_edge(a, b)``, or ``add_edge([a, b], c)``, which waits for all."""
    first, end = ends[0], text_of(ends[1])
    kind = "join" if text_of(first) is None else "static"
    starts = iterated(first) if kind == "join" else [first]
    if starts is None or end is None or not all(text_of(start) is not None for start in starts):
        return graph.missed.append((given.place, "the ends of an edge are no constants"))
    graph.edges += [(Edge(str(start), end, kind), given.place) for start in starts]


def add_sequence(graph: FoundGraph, given: Arguments) -> None:
    """``add_sequence([a, ("b", action), ...])``."""
    steps = iterated(given.take(0, "nodes", UNKNOWN))
    if steps is None:
        return graph.missed.append((given.place, "the nodes of a sequence are no constants"))
    names, given.named = list[Any](), {}
    for step in steps:
        given.given = [*step] if isinstance(step, tuple) else [name_of(step) or UNKNOWN, step]
        names.append(given.given[0])
        add_node(graph, given)
    for ends in pairwise(names):
        _edge(graph, given, ends)


def _route(graph: FoundGraph, given: Arguments, source_and_path: Sequence[Any], path_map: Any) -> None:
    """``add_conditional_edges(source, path, path_map)``."""
    start, path = source_and_path
    as_it_is = isinstance(path, FunctionValue) and not path.given  # of others, LangGraph reads no annotation
    start, path = text_of(start), member(path, "__call__") if isinstance(path, InstanceValue) else path
    if start is None:
        return graph.missed.append((given.place, "the source of a conditional edge is no constant"))
    parts = path.parts if isinstance(path, OneOf) else [path]  # what wraps it may hand it back as it is
    functions = tuple(each.entered() for each in parts if isinstance(each, FunctionValue))
    sent = NOWHERE.union(*(source.sent_words(each.helper) for each in functions))
    if path_map is None or isinstance(path_map, tuple | SetValue):  # LangGraph looks into no tuple or set
        words, declared = router_words(functions[0] if functions and len(parts) == 1 else path, given.call, as_it_is)
        targets = None if words is None else tuple(sorted(words))
    else:
        known = [*path_map.values()] if isinstance(path_map, dict) else path_map
        listed, declared = isinstance(known, list), True
        targets = tuple(str(each) for each in known if text_of(each) is not None) if listed else ()
        if not listed or len(targets) < len(known):  # what is known of it is a way all the same
            graph.missed.append((given.place, f"the path map behind {start!r} is not made of constants"))
    graph.routes.append(FoundRoute(given.place, start, targets, declared, sent, functions))


def router_words(path: Any, call: Calls, as_it_is: bool) -> tuple[Nodes, bool]:
    """What a router can return, None for anything, and whether its annotation declares it, given as it is."""
    if isinstance(path, Symbol) and path.rpartition(".")[2] == "tools_condition":
        return frozenset({TOOLS, END}), True
    if not isinstance(path, FunctionValue):
        return None, False
    annotated = return_annotation(path, call)
    if isinstance(annotated, Words) and not annotated.command and as_it_is:
        return frozenset(str(text_of(word)) for word in annotated.words), True
    return None if path.unread else source.returned_words(path.helper), False


METHODS: dict[str, Callable[[FoundGraph, Arguments], None]] = {
    "add_node": add_node,
    "add_sequence": add_sequence,
    "add_edge": lambda graph, given: _edge(graph, given, given.known("start_key", "end_key")),
    "set_entry_point": lambda graph, given: _edge(graph, given, [START, *given.known("key")]),
    "set_finish_point": lambda graph, given: _edge(graph, given, [*given.known("key"), END]),
    "add_conditional_edges":
        lambda graph, given: _route(graph, given, given.known("source", "path"), given.take(2, "path_map")),
    "set_conditional_entry_point":
        lambda graph, given: _route(graph, given, [START, *given.known("path")], given.take(1, "path_map")),
}  # fmt: skip
"""The methods that change a builder."""

HARMLESS = frozenset({"validate", "get_graph", "set_node_defaults"})
"""Methods of a builder that change nothing, unless they are given an error handler."""
