"""Where routers and nodes that declare no destinations go, read from the source of their functions."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from types import CodeType, ModuleType
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send

from loopwright.engine.closures import is_filled, seen_by
from loopwright.engine.rerouting import unwrapped
from loopwright.engine.source_hints import (
    COMMAND,
    FUNCTIONS,
    SEND,
    UNKNOWN,
    Function,
    Symbol,
    bindings,
    bound_once,
    command_words,
    commands_in,
    goes_to_parent,
    returned_words,
)


def router_words(path: Any) -> frozenset[str] | None:
    """What a router returns, according to its source.

    Args:
        path: The router, as LangGraph keeps it.

    Returns:
        Every word that it can return, and the nodes of its Sends; None if its source does not tell: any node.
    """
    functions = _functions_run(path)
    words = [_read_router(function) for function in functions]
    if not words or None in words:
        return None
    return frozenset[str]().union(*cast("list[frozenset[str]]", words))


def command_destinations(runnable: Any) -> frozenset[str] | None:
    """Where the Commands of a node go that declares no destinations, according to its source.

    Args:
        runnable: The node, as LangGraph keeps it.

    Returns:
        The nodes in its own graph, none if it makes no such Command; None if its source does not tell: any node.
    """
    if jumps_out(runnable):
        return None
    words = [_read_node(function) for function in _functions_run(runnable)]
    return None if None in words else frozenset[str]().union(*cast("list[frozenset[str]]", words))


def undeclared_jumps(runnable: Any, anywhere: Iterable[str]) -> tuple[str, ...]:
    """The nodes among `anywhere` that a node which declares no destinations may jump to with a Command."""
    words = command_destinations(runnable)
    return tuple(node for node in anywhere if words is None or node in words)


def jumps_out(runnable: Any) -> bool:
    """Whether a node is a graph, one of whose nodes makes a ``Command`` with a goto in the graph around it."""
    inner = unwrapped(runnable)
    return isinstance(inner, CompiledStateGraph) and any(
        jumps_out(spec.runnable) or _names_a_parent(spec.runnable) for spec in inner.builder.nodes.values()
    )


def _names_a_parent(runnable: Any) -> bool:
    sources = [source for function in _functions_run(runnable) if (source := _source(inspect.unwrap(function)))]
    return any(goes_to_parent(call) for source in sources for call in commands_in(source.node, source.value))


def functions_of(runnable: Any) -> list[Any]:
    """The functions that a node runs, as far as they can be seen."""
    inner = unwrapped(runnable)
    found = [getattr(inner, name, None) for name in ("func", "afunc")]
    return [function for function in found if callable(function)]


def _functions_run(runnable: Any) -> list[Any]:
    """The functions of a node or router, each once: of a sync one, LangGraph makes the async one itself."""
    functions = functions_of(runnable)
    made = [f for f in functions if isinstance(f, partial) and getattr(f, "__wrapped__", None) in functions]
    return [function for function in functions if all(function is not other for other in made)]


def _read_router(function: Any) -> frozenset[str] | None:
    source = None if hasattr(function, "__wrapped__") else _source(function)
    return returned_words(source.node, source.value) if source else None


def _read_node(function: Any) -> frozenset[str] | None:
    inner = inspect.unwrap(function)
    if not _knows_commands(inner):
        return frozenset()
    source = _source(inner)
    words = command_words(source.node, source.value) if source else frozenset[str]()
    # What a decorator hands on, nobody knows; where no Command is in sight at all, none is assumed.
    return words if inner is function or not words else None


def _knows_commands(function: Any) -> bool:
    """Whether a function's code mentions a ``Command`` or a ``Send`` at all; most need not be read any further."""
    seen = seen_by(function)
    return (
        seen is None
        or not seen.names.isdisjoint({"Command", "Send"})
        or any(value is Command or value is Send for value in seen.values)
    )


# Functions and their source


@dataclass(frozen=True, slots=True)
class Source:
    """The syntax of a living function, and the values that it sees around it."""

    node: Function
    """Its syntax."""
    scopes: tuple[ast.AST, ...]
    """The functions around it from the inside out, and the module last."""
    code: CodeType
    """Its compiled code, which tells closure names from global ones."""
    cells: Mapping[str, Any]
    """Closure name -> its value."""
    names: Mapping[str, Any]
    """Global name -> its value."""

    def value(self, expression: ast.expr) -> Any:
        """The value of a name or attribute around the function, if it never changes."""
        if isinstance(expression, ast.Attribute):
            return _plain(_member(self._object(expression.value), expression.attr))
        return _plain(self._object(expression))

    def _object(self, expression: ast.expr) -> Any:
        if isinstance(expression, ast.Attribute):
            return _member(self._object(expression.value), expression.attr)
        if not isinstance(expression, ast.Name):
            return UNKNOWN
        name = expression.id
        if name in self.code.co_freevars:
            scope = next((scope for scope in self.scopes[:-1] if name in bindings(scope)), None)
            return self.cells.get(name, UNKNOWN) if scope and bound_once(scope, name) else UNKNOWN
        return self.names.get(name, UNKNOWN) if bound_once(self.scopes[-1], name) else UNKNOWN


def _member(owner: Any, name: str) -> Any:
    """An attribute of a module, class or enumeration, without running a property."""
    if isinstance(owner, type) and issubclass(owner, Enum):
        return owner.__members__.get(name, UNKNOWN)
    if isinstance(owner, Enum):
        return cast("Any", owner).value if name == "value" else UNKNOWN
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, UNKNOWN)
    if isinstance(owner, type):
        return next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), UNKNOWN)
    return UNKNOWN


def _plain(value: Any) -> Any:
    if value is Send or value is Command:
        return Symbol(SEND if value is Send else COMMAND)
    if isinstance(value, Enum):
        return value.value if isinstance(value, str) else UNKNOWN
    return value if isinstance(value, str) else UNKNOWN


def _source(function: Any) -> Source | None:
    """The source of a function; None where it cannot be found for certain."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    plain: Any = getattr(function, "__func__", function)
    if not hasattr(plain, "__code__"):
        plain = vars(type(plain)).get("__call__")
    code = getattr(plain, "__code__", None)
    if not isinstance(code, CodeType) or hasattr(plain, "__wrapped__"):
        return None
    lines = linecache.getlines(code.co_filename, plain.__globals__)
    found = _candidates("".join(lines)).get((code.co_firstlineno, code.co_name), [])
    if code.co_name == "<lambda>" and len(found) > 1:
        found = _lambda_of(code, found)
    if len(found) != 1:
        return None
    node, scopes = found[0]
    cells = {name: cell for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=False)}
    filled = {name: cell.cell_contents for name, cell in cells.items() if is_filled(cell)}
    return Source(node, scopes, code, filled, plain.__globals__)


Found = list[tuple[Function, tuple[ast.AST, ...]]]


@lru_cache(maxsize=64)
def _candidates(text: str) -> dict[tuple[int, str], Found]:
    """(First line, name) -> the functions there and the scopes around each."""
    found: dict[tuple[int, str], Found] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return found
    for node, scopes in _functions_in(tree):
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        first = min(node.lineno, *(line.lineno for line in decorators)) if decorators else node.lineno
        found.setdefault((first, name), []).append((node, scopes))
    return found


def _functions_in(tree: ast.AST) -> Iterator[tuple[Function, tuple[ast.AST, ...]]]:
    queue: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, (tree,))]
    while queue:
        node, scopes = queue.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FUNCTIONS):
                yield child, scopes
                queue.append((child, (child, *scopes)))
            else:
                queue.append((child, scopes))


def _lambda_of(code: CodeType, found: Found) -> Found:
    """The innermost of several lambdas on a line that holds all of a code object's instructions."""
    places = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]

    def holds(node: Function) -> bool:
        body = cast("ast.Lambda", node).body
        begin, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        return all((line, column) >= begin and (last, final) <= end for line, last, column, final in places)

    holding = [(node, scopes) for node, scopes in found if holds(node)]
    # A lambda inside another is in both; its own code is in the smaller one.
    depths = [len(scopes) for _, scopes in holding]
    deepest = [item for item, depth in zip(holding, depths, strict=True) if depth == max(depths)]
    return deepest if places else []
