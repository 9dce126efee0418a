"""Counters that somebody wrote by hand: they may bound a cycle, and nobody proves that they do.

A counter is a key of the state that a node counts up and that a router, or a node with Commands, compares with a limit.
It may be reset, count the wrong thing or be compared the wrong way round, so it is named and not counted on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from loopwright.check.found import FoundGraph
from loopwright.check.values import FunctionValue
from loopwright.engine.proof.source import own_nodes, values_given

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A counter that may bound a cycle."""

    key: str
    """The state key, or ``len(key)`` for the length of a list there."""
    where: str
    """The function that compares it."""
    limit: int | str | None
    """What it is compared with: a number, the state key that holds it, or None if that is neither."""

    @property
    def message(self) -> str:
        """What to say of it."""
        return f"the counter `{self.key}` in `{self.where}` may bound it; we do not count on it"

    @property
    def bound(self) -> str:
        """The limit of a `Loop` that would replace it, as source code."""
        if isinstance(self.limit, str):
            return f"StateLimit({self.limit!r}, default=3, ceiling=10)"
        return str(self.limit if self.limit is not None else 5)


def counter_of(cycle: Sequence[str], graph: FoundGraph) -> HandWritten | None:
    """The hand-written counter that may bound a cycle.

    Args:
        cycle: The nodes of the cycle.
        graph: The graph that it is in.
    """
    counting = [function for node in graph.nodes.values() for function in node.functions]
    for function in _deciders(cycle, graph):
        for key, limit in _compared(function):
            is_length = key.startswith("len(") and isinstance(limit, int)
            if is_length or any(_counts(other, key) for other in (*counting, function)):
                return HandWritten(key, function.name, limit)
    return None


def _deciders(cycle: Sequence[str], graph: FoundGraph) -> Iterator[FunctionValue]:
    for route in graph.routes:
        if route.source in cycle and len(set((route.targets or {"": "", " ": " "}).values())) > 1:
            yield from route.functions
    for name in cycle:
        if name in graph.nodes and graph.nodes[name].words != frozenset():
            yield from graph.nodes[name].functions


def _compared(function: FunctionValue) -> Iterator[tuple[str, int | str | None]]:
    """The state keys that a function compares, with what they are compared with."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _ORDER):
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                length = any(getattr(getattr(part, "func", None), "id", "") == "len" for part in ast.walk(one))
                for key in _keys(one, function):
                    yield f"len({key})" if length else key, _limit(other, function)


def _limit(node: ast.expr, function: FunctionValue) -> int | str | None:
    known = node.value if isinstance(node, ast.Constant) else function.frame.settled(node)
    if isinstance(known, int):
        return known if known > 0 else None
    return next(_keys(node, function), None)


def _keys(expression: ast.expr, function: FunctionValue, depth: int = 0) -> Iterator[str]:
    """The keys of the state that an expression reads, straight or by variables of the function's own."""
    for node in ast.walk(expression):
        match node:
            case (
                ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(key)))
                | ast.Call(func=ast.Attribute(value=ast.Name(), attr="get"), args=[ast.Constant(value=str(key)), *_])
                | ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(), ast.Constant(value=str(key)), *_])
            ):
                yield key
            case ast.Attribute(value=ast.Name(id=owner), attr=key) if owner in _parameters(function):
                yield key
            case ast.Name(id=name) if depth < 3:
                for value in values_given(function.node, name) or ():
                    yield from _keys(value, function, depth + 1)
            case _:
                pass


def _parameters(function: FunctionValue) -> list[str]:
    return [argument.arg for argument in function.node.args.args]


def _counts(function: FunctionValue, key: str) -> bool:
    """Whether a function counts a key of the state up or down."""
    return any(_counted(value, function) for node in ast.walk(function.node) for value in _given_to(node, key))


def _given_to(node: ast.AST, key: str) -> Iterable[ast.expr | None]:
    """What a node of the syntax gives a key of the state, or a variable of its name."""
    match node:
        case ast.Dict(keys=keys, values=values):
            named = zip(keys, values, strict=True)
            return [value for name, value in named if isinstance(name, ast.Constant) and name.value == key]
        case ast.AugAssign(target=ast.Subscript(slice=ast.Constant(value=name))) if name == key:
            return [None]
        case ast.AugAssign(target=ast.Attribute(attr=name)) if name == key:
            return [None]
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=name))], value=value) if name == key:
            return [value]
        case ast.keyword(arg=name, value=value) if name == key:
            return [value]
        case _:
            return []


def _counted(value: ast.expr | None, function: FunctionValue) -> bool:
    """Whether a value is a count: one more than something, or a one that a reducer adds."""
    match value:
        case None | ast.BinOp(op=ast.Add() | ast.Sub()):
            return True
        case ast.Constant(value=int(number)):
            return number == 1
        case ast.Name(id=name):
            added = any(
                isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name
                for node in own_nodes(function.node)
            )
            return added or any(isinstance(inner, ast.BinOp) for inner in values_given(function.node, name) or ())
        case _:
            return False
