"""Counters and other ends that somebody wrote by hand: they may bound a cycle, and nobody proves that they do.

A counter is what passes count, in the state or around the graph, and what a router, or a node with Commands, compares.
It may be reset, count the wrong thing or be compared the wrong way round, so it is named and not counted on.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard

from loopwright.check.found import END, NOWHERE, FoundGraph, FoundNode
from loopwright.check.values import ClassValue, FunctionValue, InstanceValue, Made, member, rebound_names, text_of
from loopwright.engine.proof import source, syntax
from loopwright.engine.proof.source import UNKNOWN, Symbol
from loopwright.engine.proof.syntax import Function, every, identifier, own_nodes, returned_values

Given: TypeAlias = tuple[str, ast.expr | None, FunctionValue]
"""What a function gives to a key: the key, the value (None where it is added to the key's own), the function."""

_Seen: TypeAlias = tuple[tuple[ast.AST, str], ...]
_STEPS = frozenset({"remaining_steps", "is_last_step", "langgraph_step"})  # in which LangGraph itself counts

_CLOCKS = ("time.time", "time.monotonic", "time.perf_counter", "datetime.datetime.now", "datetime.datetime.utcnow")
_COPYING = ("dict", "replace", "_replace", "update", "copy", "model_copy", "evolve")
_SAYING = frozenset({"critical", "debug", "echo", "error", "exception", "info", "log", "print", "warn", "warning"})


def counter_of(cycle: Sequence[str], graph: FoundGraph, read: dict[Any, Any]) -> tuple[str, str] | None:
    """What may bound a cycle of a graph: what to say of it, and the limit of a `Loop` in its stead, as source code.

    `read`: what was found of its functions, kept for the next cycle, and for the graph that is made again elsewhere.
    """
    nodes = [graph.nodes[name] for name in cycle if name in graph.nodes]
    working = [each for node in nodes for each in _functions(node)]
    # What a tool compares makes its answer, and the model may ask again.
    noting = [each for node in nodes for each in _functions(node, tools=False)]
    deciding, late = [*_deciders(cycle, graph)], _last_ways(cycle, graph, read)
    around = [each for node in graph.nodes.values() for each in node.functions]
    run = (tuple(map(key_of, each)) for each in (working, noting, deciding, around))
    if (at := (*cycle, id(graph.state), *late.items(), *run)) in read:
        return read[at]
    working, noting, deciding = (with_helpers(each, read) for each in (working, noting, deciding))
    # What a router writes into the state is lost; what it does to an object around it stays.
    found = (*_given(working), *_given(deciding, outside=True))
    decides, notes = ({each.node for each in of} for of in (deciding, noting))
    asking = [*{key_of(each): each for each in (*deciding, *noting)}.values()]
    given = [(key, value and _bare(value), function) for key, value, function in found]
    filled, kept = {key for key, _, _ in given}, _reducers(graph.state)
    counted = {
        key for key, value, function in given
        if value is None or (_is_count(key, value, function) and (_number(value) != 1 or not _is_set(key, graph.state)))
    }  # fmt: skip
    # What a constant sets back counts nothing; a reducer may not let it.
    counted -= {
        key for key, each, at in given
        if key not in kept and isinstance(each, ast.Constant) and each.value != 1 and not _begins(key, each, at)
    }  # fmt: skip
    counted |= _STEPS | (filled & {key for key, every in kept.items() if every})
    # A node may note for the router that it is enough; what else nodes compare counts no passes.
    steps = counted - {key for key, by, _ in given if isinstance(by, ast.BinOp) and not any(map(_number, ast.walk(by)))}
    # A limit that a pass writes anew is none, but for a constant, or its own value again.
    new = [each for each in given if not isinstance(each[1], ast.Constant)]
    moved = {k for k, by, at in new if by is None or isinstance(by, ast.BinOp) or k not in _keys(by, at, of=[at.state])}
    for function in asking:
        for one, other in _compared(function, late.get(function.node) if function.node not in notes else None):
            if (pair := (one, other, *key_of(function))) not in read:
                of = {*_keys(other, function, of=[function.state])} if _is_length(other, function) else set[str]()
                read[pair] = function, _limit(other, function), _is_length(one, function), of, [*_keys(one, function)]
            _, limit, length, of, keys = read[pair]
            if limit in moved or of & moved or (length and function.node not in decides):
                continue
            length = length and limit not in filled and (limit is not None or bool(of - filled))
            for key in keys:
                far = bool(of) or isinstance(limit, str)
                long = length and key in filled and (far or int(limit or 0) > _index(key, function))
                if long if length else key in (counted if function.node in decides else steps):
                    named = f"len({key})" if long else key
                    said = f"the counter `{named}` in `{function.name}` may bound it; we do not count on it"
                    return read.setdefault(at, (said, _bound(limit, key, around)))
    for named, function in (*_asked(given, counted, cycle, asking, decides), *_deadlines(filled, deciding)):
        return read.setdefault(at, (f"the {named} in `{function.name}` may bound it; we do not count on it", "..."))
    return read.setdefault(at, None)


def _asked(
    given: Sequence[Given], counted: Set[str], cycle: Sequence[str], asking: Iterable[FunctionValue], decides: Set[Any]
) -> Iterator[tuple[str, FunctionValue]]:
    """What decisions ask beside counters, and what every pass moves the same way: its name, and who asks."""
    written: dict[str, list[Given]] = {key: [each for each in given if each[0] == key] for key, _, _ in given}
    ways = {key: {type(getattr(value, "op", None)) for _, value, _ in each} for key, each in written.items()}
    # A list that is cleared gets no longer, unless what is filled afterwards is returned.
    returned = (value for node in {function.node for *_, function in given} for value in returned_values(node))
    cleared = {id(part) for value in returned for part in ast.walk(value) if getattr(part, "elts", None) == []}
    left = {key: [each for each in of if id(each[1]) not in cleared] for key, of in written.items()}
    for function in asking:
        # A router may return a yes or no, for a path map of True and False.
        tests: dict[ast.expr, ast.If | ast.IfExp | None] = {
            value: None for value in returned_values(function.node)
            if isinstance(value, ast.Compare | ast.BoolOp) or isinstance(getattr(value, "op", None), ast.Not)
        }  # fmt: skip
        tests |= {node.test: node for node in every(function.node) if isinstance(node, ast.If | ast.IfExp)}
        for key, asked in {key: way for test, way in tests.items() for key in _keys(test, function)}.items():
            if function.node not in decides and key not in _STEPS:  # a node may ask LangGraph for its last answer
                continue
            if key in counted and ways.get(key, {ast.Sub}) == {ast.Sub}:
                yield f"counter `{key}`", function
            elif (rests := left.get(key)) and all(_is_rest(*each) for each in rests):
                yield f"counter `len({key})`", function
            elif asked and key in written and all(_is_raised(*each[1:]) for each in written[key]):
                yield from [] if _goes_on(asked, cycle) else [(f"flag `{key}`", function)]


def _goes_on(node: ast.If | ast.IfExp, cycle: Sequence[str]) -> bool:
    """Whether the way that is taken when what a condition asks holds names a node of the cycle."""
    denied = any(isinstance(part, ast.Not) for part in ast.walk(node.test))
    way: Any = node.orelse if denied else node.body
    parts = (part for line in (way if isinstance(way, list) else [way]) for part in ast.walk(line))
    return any(isinstance(part, ast.Constant) and part.value in cycle for part in parts)


def _deadlines(filled: Set[str], deciding: Iterable[FunctionValue]) -> Iterator[tuple[str, FunctionValue]]:
    """Ends by the clock, where no pass sets them anew, and who asks."""
    comparing = ((each, node) for each in deciding for node in every(each.node) if isinstance(node, ast.Compare))
    for function, node in comparing:
        parts = (function.around(part) for part in _parts(node, function) if isinstance(part, ast.expr))
        timed = sum(isinstance(part, Symbol) and part.startswith(_CLOCKS) for part in parts) == 1
        known = ((key, function.around(ast.Name(key))) for key in _keys(node, function))
        starts = {key for key, value in known if value is UNKNOWN or isinstance(value, Made)}
        if timed and starts and filled.isdisjoint(starts):
            yield "deadline", function


def _is_raised(value: ast.expr | None, function: FunctionValue) -> bool:
    """Whether a value is True, given at the end of a function that has no other way out."""
    body: Any = function.node.body
    last = [*ast.walk(body[-1] if isinstance(body, list) else body)]
    return getattr(value, "value", None) is True and len(returned_values(function.node)) == 1 and value in last


def _parts(expression: ast.expr, function: FunctionValue, seen: _Seen = ()) -> Iterator[ast.AST]:
    """The parts of an expression, of what its variables were given and of what its helpers return."""
    for part in ast.walk(expression):
        yield part
        for value, giving, then in _followed(part, function, seen):
            yield from _parts(value, giving, then)


def _followed(
    part: ast.AST, function: FunctionValue, seen: _Seen = ()
) -> Iterator[tuple[ast.expr, FunctionValue, _Seen]]:
    """What a variable is given, or a helper returns that is called; who gives it, and what was followed by then."""
    step = function.node, getattr(part, "id", "")
    if len(seen) > 2 or step in seen:
        return
    helper = function.around(part.func) if isinstance(part, ast.Call) else None
    if isinstance(part, ast.Name):
        yield from ((_bare(value), function, (*seen, step)) for value in _values(function.node, part.id))
    elif isinstance(helper, FunctionValue):
        yield from ((value, helper, (*seen, step)) for value in returned_values(helper.node))


def _reducers(state: Any) -> dict[str, bool]:
    """The keys of a state that no write makes less, by their reducers; whether each write is a step up."""
    found: dict[str, bool] = {}
    for of, item in ((each, item) for each in getattr(state, "order", list)()[::-1] for item in each.node.body):
        match item:
            case ast.AnnAssign(target=ast.Name(id=key), annotation=ast.Subscript(slice=ast.Tuple(elts=[_, reducer]))):
                known = of.frame.settled(reducer)
                function = known.node if isinstance(known, FunctionValue) else reducer
                returned = returned_values(function)
                kept = returned and all(_keeps(value, function) for value in returned)
                if kept or known == "operator.add" or getattr(reducer, "id", "") == "max":
                    found[key] = any(isinstance(value, ast.BinOp) and _number(value.right) for value in returned)
            case _:
                pass
    return found


def _is_set(key: str, state: Any) -> bool:
    """Whether what is written to a key takes the place of what it had: a plain value, or no key of the state."""
    if not isinstance(state, ClassValue):
        return False
    lines = (line for of in state.order() for line in of.node.body if isinstance(line, ast.AnnAssign))
    kinds = [{*re.findall(r"\w+", ast.unparse(line.annotation))} for line in lines if identifier(line.target) == key]
    plain = {"int", "float", "bool", "str", "None", "Optional", "NotRequired", "Required"}
    return all(kind <= plain for kind in kinds) if kinds else state.is_plain


def _keeps(value: ast.expr, reducer: Any) -> bool:
    """Whether what a reducer returns is what there was, or that and more."""
    names = (part.id for part in ast.walk(getattr(value, "left", value)) if isinstance(part, ast.Name))
    more = isinstance(value, ast.Name | ast.Call) or isinstance(getattr(value, "op", None), ast.Add | ast.Or)
    return more and [name for name in names if name != "max"][:1] == syntax.parameters(reducer)[:1]


def _is_rest(key: str, value: ast.expr | None, function: FunctionValue, seen: Sequence[str] = ()) -> bool:
    """Whether a value is what a key has, without some of its items."""
    match value:
        case ast.Subscript(value=whole, slice=ast.Slice(ast.Constant(), None) | ast.Slice(None, ast.UnaryOp())):
            return key in _keys(whole, function)
        case ast.Subscript(value=whole, slice=ast.Slice(ast.expr() as first, None)):
            return isinstance(function.around(first), int) and key in _keys(whole, function)
        case ast.ListComp(elt=ast.Name(id=item), generators=[ast.comprehension(iter=whole, ifs=[_, *_]) as each]):
            return getattr(each.target, "id", "") == item and key in _keys(whole, function)
        case ast.Name(id=name):
            called = [node for node in own_nodes(function.node) if isinstance(node, ast.Attribute)]
            taken = any(getattr(node.value, "id", "") == name and node.attr in ("pop", "popleft") for node in called)
            values, then = [] if name in seen else _values(function.node, name), (*seen, name)
            rests = ((taken and key in _keys(of, function)) or _is_rest(key, of, function, then) for of in values)
            return name in seen or (values != [] and all(rests))
        case _:
            return False


def _bound(limit: int | str | None, key: str, functions: Sequence[FunctionValue]) -> str:
    """The limit of a `Loop` that lets the counter end it first; a blank where nothing tells it."""
    if key in _STEPS:  # it says what is left, and not how many passes that is
        return "..."
    if isinstance(limit, str):
        return f"StateLimit(key={limit!r}, default=..., ceiling=...)"
    if isinstance(limit, int) and limit <= 0:  # counted down from the most that anything gives it
        given = [value for name, value, _ in _given(functions) if name == key]
        calls = [call for function in functions for call in syntax.calls_in(function.node) if len(call.args) == 2]
        given += (call.args[1] for call in calls if key == getattr(call.args[0], "value", ""))
        limit = max((int(_number(value) or 0) for value in given), default=0)
    return f"{limit + 1}" if limit else "..."


def _deciders(cycle: Sequence[str], graph: FoundGraph) -> Iterator[FunctionValue]:
    for route in graph.routes:
        if route.source in cycle and (not route.targets or len({*route.targets}) > 1):
            yield from route.functions
    for name in cycle:
        node = graph.nodes.get(name)
        out = node.graph.parent_words() if node and node.graph else NOWHERE
        if node and {node.words, node.handler_words, out} != {NOWHERE}:
            yield from _functions(node)


def _last_ways(cycle: Sequence[str], graph: FoundGraph, read: dict[Any, Any]) -> dict[ast.AST, int]:
    """Router -> the last line of it on which it may go on in a cycle; helper that is asked behind that alone -> 0."""
    found, words, late = dict[ast.AST, int](), {*graph.nodes, END}, set[ast.AST]()
    ways = [(route, target) for at, target in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
            for route in graph.routes if route.source == at and target in words]  # fmt: skip
    timely = [each for route, _ in ways if route.declared for each in route.functions]
    for function, target in [(each, to) for route, to in ways if not route.declared for each in route.functions]:
        values = [(value, _leaves(value, function)) for value in returned_values(function.node)]
        last = max((value.end_lineno or 0 for value, to in values if target in to or not to <= words), default=0)
        found[function.node] = last = max(last, found.get(function.node, 0))
        for call in syntax.calls_in(function.node):
            if isinstance(helper := function.around(call.func), FunctionValue):
                late.add(helper.node) if call.lineno > last else timely.append(helper)
    early = {each.node for each in with_helpers(timely, read)}
    return {at: line for at, line in (dict.fromkeys(late, 0) | found).items() if at not in early}


def _leaves(value: ast.expr, function: FunctionValue) -> set[Any]:
    """The words that an expression may be; what is no constant as `UNKNOWN`."""
    if isinstance(value, ast.IfExp):
        return _leaves(value.body, function) | _leaves(value.orelse, function)
    outside = isinstance(value, ast.Name | ast.Attribute) and _is_outside(value, function)
    known = value.value if isinstance(value, ast.Constant) else function.around(value) if outside else UNKNOWN
    return {known if text_of(known) is not None else UNKNOWN}


def _functions(node: FoundNode, *, tools: bool = True) -> Iterator[FunctionValue]:
    """What a node runs, in the graphs inside it, too; without `tools` that only answer a model, and end nothing."""
    waiting, seen = [node], set[int]()
    while waiting:
        node = waiting.pop(0)
        for each in node.functions:
            raised = (part for part in every(each.node) if isinstance(part, ast.Raise))
            if tools or not node.runs_tools or any(raised) or source.commands_in(each.helper):
                yield each
        if node.graph and id(node.graph) not in seen:
            seen.add(id(node.graph))
            waiting += node.graph.nodes.values()


def with_helpers(functions: Iterable[FunctionValue], read: dict[Any, Any], deep: int = 3) -> list[FunctionValue]:
    """Functions, and what they call, some calls `deep`; what each calls is kept in `read`."""
    found = dict[Any, tuple[int, FunctionValue]]()

    def follow(functions: Iterable[Any], depth: int) -> None:
        for function in functions:
            function = member(function, "__call__") if isinstance(function, InstanceValue) else function
            if isinstance(function, FunctionValue) and found.get(at := key_of(function), (-1,))[0] < depth:
                found[at] = depth, function
                if depth and at not in read:
                    read[at] = function, [*_used(function)]  # with itself, or another could get its id
                follow(read[at][1] if depth else (), depth - 1)

    follow(functions, deep)
    return [function for _, function in found.values()]


def key_of(function: FunctionValue) -> tuple[Any, ...]:
    """What tells a function from others of its syntax: a wrapper, or a method, is one for each that it wraps."""
    return function.node, id(function.frame), id(function.bound), id(function.given)


def _used(function: FunctionValue) -> Iterator[Any]:
    """What a function calls, and the methods and properties that it asks of its state and of objects around it."""
    for node in every(function.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name)):
                order = function.bound.of.order() if isinstance(function.bound, InstanceValue) else ()
                yield from (each.members.get(name) for each in order)
            case ast.Call(func=called):
                yield function.around(called)
            case ast.Attribute(value=owner, attr=name):
                held, of_state = function.around(owner), _of_state(owner, function)
                unknown = held is UNKNOWN and (of_state or _is_outside(owner, function))  # one of these, if any
                scopes = [*function.frame.scopes()] if unknown and not hasattr(dict, name) else []
                classes = [value for scope in scopes for value in scope.names.values() if isinstance(value, ClassValue)]
                kinds = [held.of] if isinstance(held, InstanceValue) else classes
                methods = (each for of in kinds if isinstance(each := of.find(name), FunctionValue))
                yield from (each if of_state else replace(each, bound=held) for each in methods)
            case _:
                pass


def _compared(function: FunctionValue, last: int | None = None) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a function compares with what, both ways round, up to the `last` line, where it decides anything."""
    idle = {id(part) for node in every(function.node) if _is_idle(node, function) for part in ast.walk(node.test)}
    for node in every(function.node):
        if isinstance(node, ast.Compare) and id(node) not in idle and (last is None or node.lineno <= last):
            for op, one, other in zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False):
                if not isinstance(op, ast.Is | ast.IsNot):
                    yield from [(one, other)] if isinstance(op, ast.In | ast.NotIn) else [(one, other), (other, one)]


def _is_idle(node: ast.AST, function: FunctionValue) -> TypeGuard[ast.If]:
    """Whether nothing comes of a condition but a message."""
    if not isinstance(node, ast.If) or any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return False
    lines = [line for line in (*node.body, *node.orelse) if not isinstance(line, ast.Pass)]
    calls: list[Any] = [getattr(line.value, "func", line) if isinstance(line, ast.Expr) else line for line in lines]
    told = [of for of in calls if identifier(of) in _SAYING]
    return told == calls and not any(isinstance(function.around(of), FunctionValue) for of in told)


def _limit(node: ast.expr, function: FunctionValue) -> int | str | None:
    """What a counter is compared with: a number, the state key that holds it, or None if that is neither."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
        first, second = _limit(node.left, function), _limit(node.right, function)
        if isinstance(first, int) and isinstance(second, int):
            return first * second if isinstance(node.op, ast.Mult) else first + second
    known = node.value if isinstance(node, ast.Constant) else function.around(node)
    key = None if _is_length(node, function) else next(_keys(node, function, of=(function.state,)), None)
    return known if isinstance(known, int) else key


def _is_length(node: ast.expr, function: FunctionValue) -> bool:
    called = [part.func for part in _parts(node, function) if isinstance(part, ast.Call)]
    helpers = (helper for helper in map(function.around, called) if isinstance(helper, FunctionValue))
    counts = (part for helper in helpers for part in own_nodes(helper.node) if isinstance(part, ast.AugAssign))
    return len({getattr(each, "id", "") for each in called} & {"len", "sum"}) == 1 or any(counts)  # not both


@lru_cache(maxsize=4096)
def _values(function: Function, name: str) -> list[ast.expr]:
    """What a function gives a variable of its own, as far as it is seen."""
    known, found = syntax.values_given(function, name), list[ast.expr]()
    for node in own_nodes(function) if known is None and name in syntax.bindings(function) else ():
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[_, _, *_] as parts)], value=value) if any(
                isinstance(part, ast.Starred) and getattr(part.value, "id", "") == name for part in parts
            ):
                found.append(ast.Subscript(value, ast.Slice(ast.Constant(1)), ast.Load()))
            case ast.Assign(targets=[*_, ast.Name(id=other)], value=value) if other == name:
                found.append(value)
            case ast.AugAssign(target=ast.Name(id=other) as target, op=op, value=value) if other == name:
                found.append(ast.BinOp(target, op, value))
            case ast.For(iter=items) if any(
                isinstance(each, ast.AugAssign) and getattr(each.target, "id", "") == name and _number(each.value) == 1
                for each in ast.walk(node)
            ):  # it is how many of them there are
                found.append(ast.Call(ast.Name("len"), [items], []))
            case _:
                pass
    return [*(found if known is None else known), *_captured(function, name)]


def _is_outside(held: ast.expr, function: FunctionValue) -> bool:
    """Whether a variable, or what it has, is none of the function's own: it lives as long as the graph."""
    held = held.func if isinstance(held, ast.Call) and getattr(held.func, "attr", "") == "get" else held
    while isinstance(held, ast.Attribute | ast.Subscript):
        held = held.value
    name, own = getattr(held, "id", None), syntax.bindings(function.node)
    return name is not None and (name not in own or name in rebound_names(function.node) or name in function.fixed)


def _keys(expression: ast.AST, function: FunctionValue, seen: _Seen = (), of: Sequence[str] = ()) -> Iterator[str]:
    """The keys whose number an expression is, straight or by variables of the function's own; of some objects alone."""
    match expression:
        case (
            ast.Subscript(value=owner, slice=place)
            | ast.Call(func=ast.Attribute(value=owner, attr="get" | "setdefault"), args=[place, *_])
            | ast.Call(func=ast.Name(id="getattr"), args=[owner, place, *_])
        ) if (key := _word(place, function)) and (not of or (isinstance(owner, ast.Name) and owner.id in of)):
            yield key
        case ast.Attribute(value=ast.Name(id=owner), attr=key) if owner in (of or syntax.parameters(function.node)):
            yield key
        case ast.Attribute(value=owner, attr=key) if not of and _of_state(expression, function):
            yield key
            yield from _keys(owner, function, seen)  # what gives that another value, gives it to this, too
        case (
            ast.Subscript(value=owner, slice=ast.Name() | ast.Subscript() | ast.Attribute() | ast.Call())
            | ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[_, *_])
        ) if not of:  # a table of counters
            yield from _keys(owner, function, seen)
        case ast.Attribute(attr=key) | ast.Name(id=key) if not of and _is_outside(expression, function):
            yield key
        case ast.Call(func=ast.Attribute(value=whole, attr="copy")):
            yield from _keys(whole, function, seen, of)
        case ast.Subscript() | ast.Attribute() | ast.BinOp(op=ast.Mod()):
            pass  # a part of it, or what something makes of it, is another thing
        case _:
            for value, giving, then in _followed(expression, function, seen):
                yield from _keys(value, giving, then, of and (giving.state,))
            called = getattr(expression, "func", None)
            for node in ast.iter_child_nodes(expression) if not isinstance(called, ast.Attribute) else ():
                yield from _keys(node, function, seen, of) if node is not called else ()


def _captured(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a name stands for that the patterns of ``match`` give a value."""
    matches = (node for node in every(function) if isinstance(node, ast.Match))
    waiting: list[tuple[Any, Any]] = [(case.pattern, node.subject) for node in matches for case in node.cases]
    for pattern, of in waiting:
        keys = getattr(pattern, "keys", getattr(pattern, "kwd_attrs", ()))
        parts = [ast.Subscript(of, ast.Constant(str(getattr(key, "value", key)))) for key in keys]
        inner = getattr(pattern, "kwd_patterns", getattr(pattern, "patterns", ()))
        waiting += zip(inner, parts or getattr(of, "elts", ()), strict=False)
        yield from [of] if getattr(pattern, "name", "") == name else []


def _index(key: str, function: FunctionValue) -> int:
    """The farthest item of a list that a function reads by its number: to ask whether it is there counts no passes."""
    taken = (node for node in every(function.node) if isinstance(node, ast.Subscript))
    parts = (part for node in taken if key in _keys(node.value, function) for part in ast.walk(node.slice))
    return max((int(abs(_number(part) or 0)) for part in parts), default=0)


def _given(functions: Iterable[FunctionValue], outside: bool = False) -> Iterator[Given]:
    """What functions give to keys; with `outside`, only to objects and variables around them."""
    for function, node in ((each, node) for each in functions for node in every(each.node)):
        match node:
            case (
                ast.AugAssign(target=held)
                | ast.Assign(targets=[held])
                | ast.Call(func=ast.Attribute(value=held, attr="append" | "add"))
            ) if _is_outside(held, function) or not (
                outside or isinstance(held, ast.Name) or (isinstance(node, ast.Call) and not _of_state(held, function))
            ):
                key = identifier(held) or _word(getattr(held, "slice", held), function)
                if isinstance(held, ast.Subscript) and not key:  # a table of counters
                    key = next(_keys(held.value, function), None)
                value = node.value if isinstance(node, ast.Assign) else None
                yield from [(key, value, function)] if isinstance(key, str) else []
            case _ if outside:
                pass
            case ast.Call(func=called, keywords=words) if _writes(called, function):
                yield from ((word.arg, word.value, function) for word in words if word.arg)
            case ast.Dict(keys=keys, values=values):
                for name, value in zip(keys, values, strict=True):
                    if name and (key := _word(name, function)):
                        yield key, value, function
            case _:
                pass


def _writes(called: ast.expr, function: FunctionValue) -> bool:
    """Whether the named arguments of a call may be keys of the state: those of another package's are its own."""
    known = function.around(called)
    own = isinstance(known, ClassValue | FunctionValue | InstanceValue)
    return own or identifier(called) in _COPYING or (known is UNKNOWN and isinstance(called, ast.Name))


def _of_state(held: ast.expr, function: FunctionValue, deep: bool = True) -> bool:
    """Whether something is a part of the state, or of a part that has a name, by the names and texts of its places."""
    while isinstance(held, ast.Attribute | ast.Subscript):
        if isinstance(held, ast.Subscript) and not isinstance(getattr(held.slice, "value", None), str):
            return False
        held = held.value
    parts = _values(function.node, held.id) if isinstance(held, ast.Name) and deep else ()
    named = any(isinstance(each, ast.Attribute | ast.Subscript) and _of_state(each, function, False) for each in parts)
    return named or (isinstance(held, ast.Name) and held.id == function.state)


def _begins(key: str, value: ast.expr, function: FunctionValue) -> bool:
    """Whether a value is given to a key only where that is not there yet."""
    return any(
        isinstance(node, ast.If) and isinstance(node.test, ast.Compare)
        and isinstance(node.test.ops[0], ast.NotIn | ast.Is)
        and key in (getattr(node.test.left, "value", ""), *_keys(node.test.left, function))
        and any(value in ast.walk(line) for line in node.body)
        for node in every(function.node)
    )  # fmt: skip


def _bare(value: ast.expr) -> ast.expr:
    """A value without the way that leaves it as it is, and without a name for it: ``n + 1 if bad else n``."""
    match value:
        case ast.NamedExpr(value=inner):
            return _bare(inner)
        case (
            ast.IfExp(body=ast.BinOp(left=left) as more, orelse=same)
            | ast.IfExp(body=same, orelse=ast.BinOp(left=left) as more)
        ) if ast.unparse(left) == ast.unparse(same):
            return more
        case _:
            return value


def _word(place: ast.expr, function: FunctionValue) -> str | None:
    """The text of a key, written out or by a name that stands for it alone."""
    return text_of(place.value if isinstance(place, ast.Constant) else function.around(place))


def _number(value: ast.AST | None) -> int | float | None:
    known = value.value if isinstance(value, ast.Constant) else None
    return known if isinstance(known, int | float) else None


def _is_count(key: str, value: ast.expr, function: FunctionValue) -> bool:
    match value:
        case ast.BinOp(left=ast.BinOp(), op=ast.Mult() | ast.Div()):
            return False  # a mean, say
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            text = any(isinstance(getattr(each, "value", each), str | ast.JoinedStr) for each in (left, right))
            return key in _keys(value, function) and not text
        case ast.Constant(value=1):  # for a reducer that adds
            return True
        case ast.Call(func=of, args=[step]) if isinstance(known := function.around(of), ClassValue) and known.is_enum:
            return _is_count(key, step, function)
        case _:
            sums = [each for each, *_ in _followed(value, function) if isinstance(each, ast.BinOp)]
            # A variable may be around the function, and count itself.
            keys = {key, getattr(value, "id", key) if _is_outside(value, function) else key}
            if isinstance(value, ast.Call):  # of a helper that adds a number
                return any(isinstance(each.op, ast.Add | ast.Sub) and _number(each.right) for each in sums)
            return any(not keys.isdisjoint(_keys(each, function)) for each in sums)
