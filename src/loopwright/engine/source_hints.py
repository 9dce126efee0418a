"""What a router's or node's source says of where it goes, read from the syntax tree alone.

Sound before clever: a destination counts as read only if every return is a constant, or something made of constants;
one return that cannot be read, and the answer is None: any node. Nothing here runs code or needs LangGraph.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""The syntax of a function."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

UNKNOWN = object()
"""The value of a name that cannot be known."""

SEND = "langgraph.types.Send"
COMMAND = "langgraph.types.Command"
"""What a `Values` answers for LangGraph's own classes; everything else that it answers is the value itself."""

MANY = 2
"""What a binding counts that may happen more than once, or whose value nobody can tell."""


class Symbol(str):
    """The full name of a class of LangGraph's, to tell it from a string of that content."""

    __slots__ = ()


Values: TypeAlias = Callable[[ast.expr], Any]
"""The value of a name or attribute that a function finds around it: a string, a `Symbol`, or `UNKNOWN`."""


class Unreadable(Exception):
    """A part of the source whose value cannot be told."""


# Routers


def returned_words(function: Function, values: Values) -> frozenset[str] | None:
    """What a router returns.

    Args:
        function: Its syntax.
        values: Tells the values of names that are not the function's own.

    Returns:
        Every string that it can return, alone, in a list or as the node of a ``Send``; None if that cannot be told.
    """
    if _yields(function):
        return None
    own = _without_own_names(function, values)
    try:
        words = [_words(value, own) for value in _returned(function)]
    except Unreadable:
        return None
    return frozenset[str]().union(*words) or None


def _words(value: ast.expr, values: Values) -> set[str]:
    match value:
        case ast.Constant(value=str(word)):
            return {word}
        case ast.Constant(value=None):
            return set()
        case ast.IfExp(body=body, orelse=other):
            return _words(body, values) | _words(other, values)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return set[str]().union(*(_words(item, values) for item in items))
        case ast.ListComp(elt=item):
            return _words(item, values)
        case ast.Call(func=called) if _is(values, called, SEND):
            return _words(_argument(value, 0, "node"), values)
        case ast.Name() | ast.Attribute() if isinstance(word := values(value), str) and not isinstance(word, Symbol):
            return {str.__str__(word)}
        case _:
            raise Unreadable


def _argument(call: ast.Call, place: int, name: str) -> ast.expr:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Unreadable
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in named or (name not in named and len(call.args) <= place):
        raise Unreadable
    return named[name] if name in named else call.args[place]


def _is(values: Values, called: ast.expr, name: str) -> bool:
    return isinstance(called, ast.Name | ast.Attribute) and values(called) == Symbol(name)


# Nodes


def command_words(function: Function, values: Values) -> frozenset[str] | None:
    """Where the Commands of a node go in its own graph.

    Args:
        function: Its syntax.
        values: Tells the values of names that are not the function's own.

    Returns:
        The destinations, none if its source shows no ``Command`` with a goto; None if they cannot be told.
    """
    if _sends_without_command(function, values):
        return None
    commands = [call for call in commands_in(function, values) if goes_on_here(call)]
    if not commands:
        return frozenset()
    if _yields(function):
        return None
    own = _without_own_names(function, values)
    read: list[ast.Call] = []
    try:
        words = [_goto_words(value, own, read) for value in _returned(function)]
    except Unreadable:
        return None
    # A Command that is kept in a variable or handed on could be changed before it is returned.
    if any(all(call is not other for other in read) for call in commands):
        return None
    return frozenset[str]().union(*words)


def _sends_without_command(function: Function, values: Values) -> bool:
    """Whether a node makes a ``Send`` that is no part of a Command: returned as it is, LangGraph goes there too."""
    within = {id(part) for call in commands_in(function, values) for part in ast.walk(call)}
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and id(node) not in within)
    return any(_is(values, call.func, SEND) for call in calls)


def commands_in(tree: ast.AST, values: Values) -> list[ast.Call]:
    """Every call of ``Command`` in a function, those of functions inside it too."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if _is_command(call, values)]


def goes_on_here(command: ast.Call) -> bool:
    """Whether a Command has a goto in its own graph; ``**options`` could hold one."""
    keywords = {keyword.arg: keyword.value for keyword in command.keywords}
    if None in keywords:
        return True
    graph = keywords.get("graph")
    return "goto" in keywords and (graph is None or (isinstance(graph, ast.Constant) and graph.value is None))


def goes_to_parent(command: ast.Call) -> bool:
    """Whether a Command is for another graph than its own, as far as its source says so."""
    return any(keyword.arg == "graph" for keyword in command.keywords)


def _is_command(call: ast.Call, values: Values) -> bool:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    return name == "Command" or _is(values, call.func, COMMAND)


def _goto_words(value: ast.expr, values: Values, read: list[ast.Call]) -> set[str]:
    match value:
        case ast.Call() if _is_command(value, values):
            read.append(value)
            return _words(_argument(value, 0, "goto"), values) if goes_on_here(value) else set()
        case ast.Constant() | ast.Dict():
            return set()
        case ast.IfExp(body=body, orelse=other):
            return _goto_words(body, values, read) | _goto_words(other, values, read)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return set[str]().union(*(_goto_words(item, values, read) for item in items))
        case _:
            raise Unreadable


# Scopes


def _returned(function: Function) -> Iterator[ast.expr]:
    """The values of a function's own returns; a bare one, or none at all, returns None, which is no destination."""
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    yield from (node.value for node in own_nodes(function) if isinstance(node, ast.Return) and node.value is not None)


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


def _without_own_names(function: Function, values: Values) -> Values:
    own = bindings(function)

    def value(expression: ast.expr) -> Any:
        base = expression
        while isinstance(base, ast.Attribute):
            base = base.value
        return UNKNOWN if not isinstance(base, ast.Name) or base.id in own else values(expression)

    return value


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module or function without those of the functions and classes inside it, which it yields bare."""
    body: Any = getattr(scope, "body", [])
    queue: list[ast.AST] = [*body] if isinstance(body, list) else [body]
    while queue:
        node = queue.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            queue += ast.iter_child_nodes(node)


@lru_cache(maxsize=4096)
def bindings(scope: ast.AST) -> Counter[str]:
    """Name -> how often a module or function binds it itself; what may happen more often counts as `MANY`."""
    found: Counter[str] = Counter()
    if isinstance(scope, FUNCTIONS):
        given = scope.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        found.update(argument.arg for argument in every if argument)
    for node in own_nodes(scope):
        for name, count in _bound(node):
            found[name] += count
    return found


def _bound(node: ast.AST) -> Iterable[tuple[str, int]]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [(name, 1)]
        case ast.Name(id=name, ctx=ast.Del()):
            return [(name, MANY)]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [(name, 1)]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [((alias.asname or alias.name).partition(".")[0], 1) for alias in names]
        case ast.For() | ast.AsyncFor() | ast.While():
            return [(name, MANY) for inner in ast.walk(node) for name in _stored(inner)]
        case ast.AugAssign(target=ast.Name(id=name)) | ast.ExceptHandler(name=str(name)):
            return [(name, MANY)]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [(name, MANY)]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return [(name, MANY) for name in names]
        case _:
            return []


def _stored(node: ast.AST) -> list[str]:
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


@lru_cache(maxsize=4096)
def reassigned_inside(scope: ast.AST) -> frozenset[str]:
    """Names that functions inside a module or function declare ``global`` or ``nonlocal``, so that they may change."""
    declared = (node.names for node in ast.walk(scope) if isinstance(node, ast.Global | ast.Nonlocal))
    return frozenset(name for names in declared for name in names)


def bound_once(scope: ast.AST, name: str) -> bool:
    """Whether a module or function gives a name its value exactly once, so that what it holds now it always holds."""
    return bindings(scope)[name] == 1 and name not in reassigned_inside(scope)
