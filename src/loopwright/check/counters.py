"""Counters that somebody wrote by hand: they may bound a cycle, and nobody proves that they do.

A counter is a key of the state that a node counts up and that a router, or a node with Commands, compares with a limit.
It may be reset, count the wrong thing or be compared the wrong way round, so it is named and not counted on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loopwright.check.found import NOWHERE, FoundGraph, FoundNode
from loopwright.check.values import ClassValue, FunctionValue, InstanceValue
from loopwright.engine.proof.source import own_nodes, parameters, values_given

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def counter_of(cycle: Sequence[str], graph: FoundGraph) -> tuple[str, str] | None:
    """The hand-written counter that may bound a cycle.

    Args:
        cycle: The nodes of the cycle.
        graph: The graph that it is in.

    Returns:
        What to say of it, and the limit of a `Loop` that would replace it, as source code.
    """
    nodes = [graph.nodes[name] for name in cycle if name in graph.nodes]
    working = _with_helpers(each for node in nodes for each in _functions(node))
    given = [*_given(working.values())]
    counted = {key for key, value, function in given if value is None or _is_count(key, value, function)}
    # What a constant sets back counts nothing.
    counted -= {key for key, value, _ in given if isinstance(value, ast.Constant) and value.value != 1}
    counted.add("remaining_steps")  # LangGraph's own
    filled = {key for key, _, _ in given}
    # A node may note for the router that it is enough; what else nodes compare counts no passes.
    sums = ((key, value) for key, value, _ in given if isinstance(value, ast.BinOp))
    stepped = counted - {key for key, value in sums if not any(map(_number, ast.walk(value)))}
    deciding = _with_helpers(_deciders(cycle, graph))
    for function in (deciding | working).values():
        for one, other in _compared(function):
            limit, length = _limit(other, function), _is_length(one, function)
            if length and function.node not in deciding:
                continue
            length = length and limit not in (None, *filled)
            for key in _keys(one, function):
                long = length and key in filled and (isinstance(limit, str) or (limit or 0) > _index(key, function))
                if long if length else key in (counted if function.node in deciding else stepped):
                    named = f"len({key})" if long else key
                    said = f"the counter `{named}` in `{function.name}` may bound it; we do not count on it"
                    return said, _bound(limit, key, graph)
    # A list that every pass makes shorter, and that somebody asks whether there is more in it.
    for key in {key for key, _, _ in given if all(_is_rest(*each) for each in given if each[0] == key)}:
        for function in deciding.values():
            tests = (node.test for node in ast.walk(function.node) if isinstance(node, ast.If | ast.IfExp))
            if any(key in _keys(test, function) for test in tests):
                return f"the counter `len({key})` in `{function.name}` may bound it; we do not count on it", "..."
    return None


def _is_rest(key: str, value: ast.expr | None, function: FunctionValue) -> bool:
    """Whether a value is what a key has, without its first or last items."""
    match value:
        case ast.Subscript(value=whole, slice=ast.Slice(lower=ast.Constant(value=int(first)), upper=None)) if first > 0:
            return key in _keys(whole, function)
        case ast.Subscript(value=whole, slice=ast.Slice(lower=None, upper=ast.UnaryOp(op=ast.USub()))):
            return key in _keys(whole, function)
        case ast.Name(id=name):
            own = [*own_nodes(function.node)]
            taken = {
                node.func.value.id
                for node in own
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("pop", "popleft") and isinstance(node.func.value, ast.Name)
            }  # fmt: skip
            if name in taken:
                return any(key in _read_in(each, function) for each in values_given(function.node, name) or ())
            return any(
                isinstance(node, ast.Assign)
                and isinstance(target := node.targets[0], ast.Tuple)
                and len(target.elts) > 1
                and any(isinstance(part, ast.Starred) and getattr(part.value, "id", "") == name for part in target.elts)
                and key in _keys(node.value, function)
                for node in own
            )
        case _:
            return False


def _read_in(value: ast.expr, function: FunctionValue) -> Iterator[str]:
    """The keys of a list, or of a copy of it: ``list(x)``, ``x.copy()``, ``x[:]``."""
    match value:
        case ast.Call(func=ast.Attribute(value=whole, attr="copy")) | ast.Subscript(value=whole, slice=ast.Slice()):
            yield from _keys(whole, function)
        case _:
            yield from _keys(value, function)


def _bound(limit: int | str | None, key: str, graph: FoundGraph) -> str:
    """The limit of a `Loop` that lets the counter end it first; a blank where nothing tells it."""
    if key == "remaining_steps":  # it says what is left, and not how many passes that is
        return "..."
    if isinstance(limit, str):
        return f"StateLimit(key={limit!r}, default=3, ceiling=10)"
    if isinstance(limit, int) and limit <= 0:  # counted down from the most that anything gives it
        functions = [function for node in graph.nodes.values() for function in node.functions]
        given = [value for name, value, _ in _given(functions) if name == key]
        for node in (node for function in functions for node in ast.walk(function.node)):
            match node:
                case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), value]) if name == key:
                    given.append(value)
                case _:
                    pass
        limit = max((int(_number(value) or 0) for value in given), default=0)
    return f"{limit + 1}" if limit else "..."


def _deciders(cycle: Sequence[str], graph: FoundGraph) -> Iterator[FunctionValue]:
    for route in graph.routes:
        if route.source in cycle and len(set((route.targets or {"": "", " ": " "}).values())) > 1:
            yield from route.functions
    for name in cycle:
        node = graph.nodes.get(name)
        out = node.graph.parent_words() if node and node.graph else NOWHERE
        if node and {node.words, node.handler_words, out} != {NOWHERE}:
            yield from _functions(node)


def _functions(node: FoundNode) -> Iterator[FunctionValue]:
    """What a node runs, in the graphs inside it, too."""
    yield from node.functions
    for inner in node.graph.nodes.values() if node.graph else ():
        yield from _functions(inner)


def _with_helpers(functions: Iterable[FunctionValue]) -> dict[ast.AST, FunctionValue]:
    """Functions by their syntax, and what they call, three calls deep."""
    found: dict[ast.AST, FunctionValue] = {}
    left: dict[ast.AST, int] = {}

    def follow(functions: Iterable[Any], depth: int) -> None:
        for function in functions:
            if isinstance(function, FunctionValue) and left.get(function.node, -1) < depth:
                found.setdefault(function.node, function)
                left[function.node] = depth
                follow(_used(function) if depth else (), depth - 1)

    follow(functions, 3)
    return found


def _used(function: FunctionValue) -> Iterator[Any]:
    """What a function calls, and the methods and properties of the state's own class that it asks."""
    arguments = function.node.args
    annotations = {each.arg: each.annotation for each in (*arguments.posonlyargs, *arguments.args)}
    state = annotations.get(function.state)
    of = function.around(state) if state is not None else None
    for node in ast.walk(function.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name)):
                order = [*function.bound.of.order()] if isinstance(function.bound, InstanceValue) else []
                own = next(
                    (n for n, each in enumerate(order) if function.node in map(_node_of, each.members.values())), 0
                )
                yield next((each.members[name] for each in order[own + 1 :] if name in each.members), None)
            case ast.Call(func=called):
                yield function.around(called)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == function.state:
                yield of.find(name) if isinstance(of, ClassValue) else None
            case _:
                pass


def _node_of(value: Any) -> ast.AST | None:
    return value.node if isinstance(value, FunctionValue) else None


def _compared(function: FunctionValue) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a function compares with what, both ways round."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Compare):
            for op, one, other in zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False):
                yield from ((one, other), (other, one)) if isinstance(op, _ORDER) else ()


def _limit(node: ast.expr, function: FunctionValue) -> int | str | None:
    """What a counter is compared with: a number, the state key that holds it, or None if that is neither."""
    known = node.value if isinstance(node, ast.Constant) else function.around(node)
    if isinstance(known, int):
        return known
    return None if _is_length(node, function) else next(_keys(node, function, of=(function.state,)), None)


def _is_length(node: ast.expr, function: FunctionValue) -> bool:
    if isinstance(node, ast.Name):
        given = values_given(function.node, node.id) or ()
        return any(_is_length(value, function) for value in given if not isinstance(value, ast.Name))
    called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    helpers = (helper for helper in map(function.around, called) if isinstance(helper, FunctionValue))
    counts = (part for helper in helpers for part in own_nodes(helper.node) if isinstance(part, ast.AugAssign))
    return any(getattr(each, "id", "") in ("len", "sum") for each in called) or any(counts)


def _keys(expression: ast.AST, function: FunctionValue, depth: int = 0, of: Sequence[str] = ()) -> Iterator[str]:
    """The keys whose number an expression is, straight or by variables of the function's own; of some objects alone."""
    match expression:
        case (
            ast.Subscript(value=owner, slice=ast.Constant(value=str(key)))
            | ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(key)), *_])
            | ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(key)), *_])
        ) if not of or (isinstance(owner, ast.Name) and owner.id in of):
            yield key
        case ast.Attribute(value=ast.Name(id=owner), attr=key) if owner in (of or parameters(function.node)):
            yield key
        case ast.Name(id=name):
            given = [*(values_given(function.node, name) or ()), *_captured(function.node, name)]
            for value in given if depth < 3 else ():
                yield from _keys(value, function, depth + 1, of)
        case ast.Subscript() | ast.Attribute() | ast.Call(func=ast.Attribute()):
            pass  # a part of it, or what something makes of it, is another thing
        case _:
            for node in ast.iter_child_nodes(expression):
                yield from _keys(node, function, depth, of)


def _captured(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a name stands for that the patterns of ``match`` give a value."""
    for node in ast.walk(function):
        if isinstance(node, ast.Match):
            for case in node.cases:
                yield from _paired(node.subject, case.pattern, name)


def _paired(subject: ast.expr, pattern: ast.pattern, name: str) -> Iterator[ast.expr]:
    pairs: list[tuple[ast.expr, ast.pattern | None]] = []
    match pattern:
        case ast.MatchAs(pattern=inner, name=captured):
            if captured == name:
                yield subject
            pairs = [(subject, inner)]
        case ast.MatchOr(patterns=patterns):
            pairs = [(subject, each) for each in patterns]
        case ast.MatchSequence(patterns=patterns) if isinstance(subject, ast.Tuple | ast.List):
            pairs = [*zip(subject.elts, patterns, strict=False)]
        case ast.MatchMapping(keys=keys, patterns=patterns):
            pairs = [(ast.Subscript(subject, key, ast.Load()), each) for key, each in zip(keys, patterns, strict=True)]
        case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
            pairs = [(ast.Attribute(subject, key, ast.Load()), each) for key, each in zip(names, patterns, strict=True)]
        case _:
            pass
    for part, inner in pairs:
        if inner is not None:
            yield from _paired(part, inner, name)


def _index(key: str, function: FunctionValue) -> int:
    """The farthest item of a list that a function reads by its number: to ask whether it is there counts no passes."""
    taken = (node for node in ast.walk(function.node) if isinstance(node, ast.Subscript))
    parts = (part for node in taken if key in _keys(node.value, function) for part in ast.walk(node.slice))
    return max((int(abs(_number(part) or 0)) for part in parts), default=0)


def _given(functions: Iterable[FunctionValue]) -> Iterator[tuple[str, ast.expr | None, FunctionValue]]:
    """What functions give to keys: the key, the value (None where it is added to the key's own), the function."""
    for function, node in ((each, node) for each in functions for node in ast.walk(each.node)):
        match node:
            case ast.AugAssign(target=ast.Subscript(slice=ast.Constant(value=str(key))) | ast.Attribute(attr=key)):
                yield key, None, function
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(key)))], value=value):
                yield key, value, function
            case ast.keyword(arg=str(key), value=value):
                yield key, value, function
            case ast.Dict(keys=keys, values=values):
                for name, value in zip(keys, values, strict=True):
                    if isinstance(name, ast.Constant):
                        yield str(name.value), value, function
            case _:
                pass


def _number(value: ast.AST | None) -> int | float | None:
    known = value.value if isinstance(value, ast.Constant) else None
    return known if isinstance(known, int | float) else None


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))


def _is_count(key: str, value: ast.expr, function: FunctionValue) -> bool:
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return key in _keys(value, function) and not any(map(_is_text, (left, right)))
        case ast.Constant(value=1):  # for a reducer that adds
            return True
        case ast.Name(id=name):
            added = (node.target for node in own_nodes(function.node) if isinstance(node, ast.AugAssign))
            return any(isinstance(target, ast.Name) and target.id == name for target in added) or any(
                isinstance(inner, ast.BinOp) for inner in values_given(function.node, name) or ()
            )
        case ast.Call(func=called) if isinstance(helper := function.around(called), FunctionValue):
            returned = (getattr(node, "value", None) for node in own_nodes(helper.node) if isinstance(node, ast.Return))
            return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add | ast.Sub) for each in returned)
        case _:
            return False
