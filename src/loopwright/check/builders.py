"""What the methods of LangGraph's builders do to a graph that is being read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
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
    member,
    text_of,
)
from loopwright.engine.proof import source
from loopwright.engine.proof.graph import Edge
from loopwright.engine.proof.source import UNKNOWN, Symbol

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
        self.named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = evaluate(keyword.value, frame, call)
            if keyword.arg:
                self.named[keyword.arg] = value
            elif isinstance(value, dict) and all(text_of(key) is not None for key in value):
                self.named |= cast("dict[str, Any]", value)
            else:
                self.complete = False

    def take(self, place: int | None, name: str, default: Any = None) -> Any:
        """The argument at a place or of a name."""
        if place is not None and place < len(self.given):
            return self.given[place]
        return self.named.get(name, default)


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
        return graph.miss(given.place, "the name of a node is no constant")
    node = _node(action, given, graph, name)
    parts = ((each, part) for each in node.functions for part in source.every(each.node))
    named = (each.around(part) for each, part in parts if isinstance(part, ast.Name | ast.Attribute))
    if inside := len({id(value.graph) for value in named if isinstance(value, GraphValue)}):
        graph.assumptions[f"{name} calls {inside} graph(s) inside; their steps and passes are not counted here"] = None
    if (destinations := given.take(None, "destinations")) is not None:
        names = iterated(destinations)
        if names is None or not all(text_of(each) is not None for each in names):
            return graph.refuse(given.place, f"the destinations of node {name!r} are no constants")
        node.declared, node.unread = tuple(str(each) for each in names), None
    handler = given.take(None, "error_handler")
    if handler is not None:
        handled = _node(handler, given, graph, name)
        node.handler_words = handled.ways
        node.parent = either(node.parent, handled.parent)
        node.functions = (*node.functions, *handled.functions)
        node.unread = node.unread or handled.unread
    if other := graph.nodes.get(name):  # LangGraph takes a name once: one of two ways adds this one
        if other.graph and node.graph and other.graph is not node.graph:
            graph.miss(given.place, f"node {name!r} is one of several graphs")
        node = other.merged(node)
    graph.nodes[name] = node


def name_of(action: Any) -> str | None:
    """The name that LangGraph gives to a node without one."""
    match action:
        case FunctionValue(name=name) | ClassValue(name=name):
            return name
        case GraphValue(graph=graph):
            return graph.compiled_as
        case InstanceValue():
            return action.of.name
        case Made(of=of, options=options) if of.rpartition(".")[2] == "ToolNode":
            return text_of(options.get("name", TOOLS))
        case Symbol():
            return action.rpartition(".")[2]
        case _:
            return None


AGENT_PACKAGES = ("langgraph", "deepagents", "langchain.agents", "trustcall", "langmem")
"""What these packages make may be a graph, or return Commands."""


def _node(action: Any, given: Arguments, graph: FoundGraph, name: str) -> FoundNode:
    """What is known of where an action goes."""
    node = FoundNode(given.place)
    match action:
        case GraphValue():
            node.graph = action.graph
        case FunctionValue():
            _read_function(node, action.entered(), given.call)
        case InstanceValue():
            _read_object(node, action, given.call)
        case Chain(parts=parts):
            for part in [_node(part, given, graph, name) for part in parts]:
                _add(node, part, graph, name)
                node.unread = part.unread  # what the last one returns counts
        case OneOf(parts=parts):
            return reduce(FoundNode.merged, (_node(part, given, graph, name) for part in parts))
        case Made(of=of) if of.rpartition(".")[2] == "ToolNode":
            read_tools(node, action.options.get("tools", action.given[0] if action.given else UNKNOWN), given.call)
            wrappers = (action.options.get(key, []) for key in ("wrap_tool_call", "awrap_tool_call"))
            read_tools(node, [each for each in wrappers if each != []], given.call)
        case Made() | Symbol():
            of = action.of if isinstance(action, Made) else str.__str__(action)
            if of.startswith((".", *AGENT_PACKAGES)) or given.call.project.has(of, given.place.file):
                node.unread = f"{of} was not read"
            elif not of.startswith("loopwright."):
                graph.assumptions[f"{of} is no graph and returns no Command with a goto"] = None
            for part in [_node(value, given, graph, name) for value in handed(action)]:
                _add(node, part, graph, name)
                node.unread = node.unread or part.unread  # which of them runs, it decides
        case _:
            node.unread = "what it runs was not found"
    return node


def _add(node: FoundNode, part: FoundNode, graph: FoundGraph, name: str) -> None:
    """Add what a part of a node runs to what the node runs."""
    if node.graph and part.graph and node.graph is not part.graph:
        graph.miss(part.place, f"node {name!r} is one of several graphs")
    node.graph = node.graph or part.graph
    node.words, node.parent = either(node.words, part.ways), either(node.parent, part.parent)
    node.functions += part.functions


def handed(value: Any) -> Iterator[FunctionValue | InstanceValue | Chain | GraphValue]:
    """The functions and graphs among what something of a package was given."""
    match value:
        case FunctionValue() | InstanceValue() | Chain() | GraphValue(compiled=True):
            yield value
        case Made():
            yield from handed([*value.given, *value.options.values()])
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from handed(item)
        case OneOf(parts=parts):
            yield from parts
        case _:
            pass


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


def _read_object(node: FoundNode, action: InstanceValue, call: Calls) -> None:
    """Note where the Commands of an object go that is called."""
    found = (member(action, method) for method in ("__call__", "invoke", "ainvoke"))
    methods = [method for method in found if isinstance(method, FunctionValue)]
    for method in methods:
        _read_function(node, method, call)
    node.unread = node.unread if methods else f"{action.of.name} is run, and no __call__ of it was found"


def read_tools(node: FoundNode, tools: Any, call: Calls) -> None:
    """Note where the Commands of tools go; tools that nobody read make none where no file has a function that does."""
    node.runs_tools = True
    for tool in iterated(tools) or [UNKNOWN]:
        if isinstance(tool, FunctionValue):
            _read_function(node, tool, call)
        elif isinstance(tool, InstanceValue):
            for method in (member(tool, name) for name in ("_run", "_arun")):
                if isinstance(method, FunctionValue):
                    _read_function(node, method, call)
        elif isinstance(tool, Made | OneOf) and (wrapped := [*handed(tool)]):
            read_tools(node, wrapped, call)
        elif isinstance(tool, Made) and tool.of.rpartition(".")[2] == "create_handoff_tool":
            name = text_of(tool.options.get("agent_name"))
            node.parent = either(node.parent, None if name is None else frozenset({name}))
        elif tool is UNKNOWN and call.project.jumps and tools not in ([], ()):
            node.unread = node.unread or "its tools were not read, and may return Commands"


def add_edge(graph: FoundGraph, given: Arguments) -> None:
    """``add_edge(a, b)``, or ``add_edge([a, b], c)``, which waits for all."""
    first, end = given.take(0, "start_key", UNKNOWN), text_of(given.take(1, "end_key", UNKNOWN))
    starts = [first] if text_of(first) is not None else iterated(first)
    if starts is None or end is None or not all(text_of(start) is not None for start in starts):
        return graph.miss(given.place, "the ends of an edge are no constants")
    kind = "static" if text_of(first) is not None else "join"
    graph.edges += [(Edge(str(start), end, kind), given.place) for start in starts]


def add_sequence(graph: FoundGraph, given: Arguments) -> None:
    """``add_sequence([a, ("b", action), ...])``."""
    steps = iterated(given.take(0, "nodes", UNKNOWN))
    if steps is None:
        return graph.miss(given.place, "the nodes of a sequence are no constants")
    names, given.named = list[Any](), {}
    for step in steps:
        given.given = [*step] if isinstance(step, tuple) else [name_of(step) or UNKNOWN, step]
        names.append(given.given[0])
        add_node(graph, given)
    for given.given in map(list, pairwise(names)):
        add_edge(graph, given)


def add_conditional_edges(graph: FoundGraph, given: Arguments) -> None:
    """``add_conditional_edges(source, path, path_map)``."""
    _route(graph, given, given.take(0, "source", UNKNOWN), given.take(1, "path", UNKNOWN), given.take(2, "path_map"))


def set_conditional_entry_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_conditional_entry_point(path, path_map)``."""
    _route(graph, given, START, given.take(0, "path", UNKNOWN), given.take(1, "path_map"))


def _route(graph: FoundGraph, given: Arguments, start: Any, path: Any, path_map: Any) -> None:
    as_it_is = isinstance(path, FunctionValue) and not path.given  # of others, LangGraph reads no annotation
    start, path = text_of(start), member(path, "__call__") if isinstance(path, InstanceValue) else path
    path = path.entered() if isinstance(path, FunctionValue) else path
    if start is None:
        return graph.miss(given.place, "the source of a conditional edge is no constant")
    functions = (path,) if isinstance(path, FunctionValue) else ()
    sent = NOWHERE.union(*(source.sent_words(each.helper) for each in functions))
    if path_map is not None and not isinstance(path_map, tuple):  # LangGraph looks into no tuple
        known = [*path_map.values()] if isinstance(path_map, dict) else path_map
        listed = isinstance(known, list) and not isinstance(known, SetValue)
        if not listed or not all(text_of(target) is not None for target in known):
            return graph.miss(given.place, f"the path map behind {start!r} is not made of constants")
        mapped = {str(target): str(target) for target in known}
        graph.routes.append(FoundRoute(given.place, start, mapped, declared=True, sent=sent, functions=functions))
        return None
    words, declared = router_words(path, given.call, as_it_is)
    targets = None if words is None else {word: word for word in sorted(words)}
    graph.routes.append(FoundRoute(given.place, start, targets, declared, sent, functions))


def router_words(path: Any, call: Calls, as_it_is: bool) -> tuple[frozenset[str] | None, bool]:
    """What a router can return, None for anything, and whether its annotation declares it, given as it is."""
    if isinstance(path, Symbol) and path.rpartition(".")[2] == "tools_condition":
        return frozenset({TOOLS, END}), True
    if not isinstance(path, FunctionValue):
        return None, False
    annotated = return_annotation(path, call)
    if isinstance(annotated, Words) and not annotated.command and as_it_is:
        return frozenset(str(text_of(word)) for word in annotated.words), True
    return None if path.unread else source.returned_words(path.helper), False


def set_entry_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_entry_point(a)``."""
    given.given = [START, given.take(0, "key", UNKNOWN)]
    add_edge(graph, given)


def set_finish_point(graph: FoundGraph, given: Arguments) -> None:
    """``set_finish_point(a)``."""
    given.given = [given.take(0, "key", UNKNOWN), END]
    add_edge(graph, given)


METHODS: dict[str, Callable[[FoundGraph, Arguments], None]] = {
    method.__name__: method for method in (
        add_conditional_edges, add_edge, add_node, add_sequence, set_conditional_entry_point, set_entry_point,
        set_finish_point,
    )
}  # fmt: skip
"""The methods that change a builder."""

HARMLESS = frozenset({"validate", "get_graph", "set_node_defaults"})
"""Methods of a builder that change nothing, unless they are given an error handler."""
