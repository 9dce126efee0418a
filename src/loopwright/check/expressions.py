"""Values of expressions, as far as constants and names tell them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, cast

from loopwright.check.found import Place
from loopwright.check.values import (
    MAKERS,
    MORE,
    Chain,
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    Made,
    SetValue,
    Words,
    builders_in,
    is_unknown,
    member,
    part_of,
    rebound_names,
    same,
    text_of,
    unknown,
)
from loopwright.engine.proof.source import UNKNOWN, Symbol
from loopwright.engine.proof.syntax import Function

if TYPE_CHECKING:  # it evaluates calls, which may do something to graphs, and bounds the work
    from loopwright.check.calls import Calls

MOST_ITEMS = 10_000
"""More items than these are not counted out; what depends on them is unknown."""

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Add: operator.add, ast.Sub: operator.sub, ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}  # fmt: skip

MOST_NUMBERS = 100
"""More numbers in a row than these are not counted out: what they number is hardly written down here."""

_BUILTINS = {name: Symbol(f"builtins.{name}") for name in ("dict", "list", "set", "str")}
_BUILTINS["__import__"] = Symbol("importlib.import_module")


def evaluate(node: ast.expr | None, frame: Frame, call: Calls) -> Any:
    """The value of an expression; `UNKNOWN` where constants do not tell it."""
    call.step()
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
        case ast.Name(id=name):
            return _BUILTINS.get(name, UNKNOWN) if (value := frame.look_up(name)) is UNKNOWN else value
        case ast.Attribute():
            return call.attribute(evaluate(node.value, frame, call), node, frame)
        case ast.Call():
            return call(node, frame)
        case ast.Lambda():
            return FunctionValue(node, frame, defaults=defaults_in(node, frame, call))
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            of = list if isinstance(node, ast.List) else SetValue if isinstance(node, ast.Set) else tuple
            return of(items_of(items, frame, call))
        case ast.Dict():
            return _dictionary(node, frame, call)
        case ast.Subscript():
            return _subscript(node, frame, call)
        case ast.Await(value=inner) | ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return evaluate(inner, frame, call)
        case ast.NamedExpr(target=target, value=inner):
            return _named(target.id, evaluate(inner, frame, call), frame)
        case _:
            return _combined(node, frame, call)


def _combined(node: ast.expr | None, frame: Frame, call: Calls) -> Any:
    match node:
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _piped(_operands(frame, call, left, right))
        case ast.Compare(ops=[op], left=left, comparators=[right]):
            return _compared(op, *_operands(frame, call, left, right))
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mod() | ast.FloorDiv() as op, left=left, right=right):
            return _sum(op, *_operands(frame, call, left, right))
        case ast.JoinedStr(values=parts):
            texts = [evaluate(part, frame, call) for part in parts]
            return "".join(map(str, texts)) if all(map(_is_constant, texts)) else UNKNOWN
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehended(node, frame, call)
        case ast.IfExp(test=test, body=body, orelse=other):
            known = truth(test, frame, call)
            if known is None:
                return same([call.aside(partial(evaluate, part, frame, call)) for part in (body, other)])
            return evaluate(body if known else other, frame, call)
        case ast.BoolOp(op=op, values=parts):
            others = (call.aside(partial(evaluate, part, frame, call)) for part in parts[1:])
            values = [evaluate(parts[0], frame, call), *others]
            if all(_is_constant(value) or iterated(value) is not None for value in values[:-1]):
                return next((value for value in values[:-1] if bool(value) is isinstance(op, ast.Or)), values[-1])
            return unknown(*values)
        case None:
            return None
        case _:
            parts = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
            found = _operands(frame, call, *parts)  # a graph may be made or handed on in any part
            for graph in builders_in(*found) if isinstance(node, ast.Yield) else ():
                place = Place(frame.file, node.lineno, node.end_lineno or node.lineno)
                graph.refuse(place, "it is yielded to what may change it")
            return UNKNOWN


def _operands(frame: Frame, call: Calls, *nodes: ast.expr) -> list[Any]:
    """The values of the parts of an expression, of which Python may run methods."""
    values = [evaluate(node, frame, call) for node in nodes]
    call.operated(*values)
    return values


def _named(name: str, value: Any, frame: Frame) -> Any:
    """Give a name its value within an expression, which may not be reached: one that had another is then unknown."""
    while isinstance(frame.node, ast.expr) and not isinstance(frame.node, ast.Lambda) and frame.parent:
        frame = frame.parent  # a comprehension has no such names
    frame.names[name] = unknown(frame.names[name], value) if name in frame.names else value
    return value


def truth(test: ast.expr, frame: Frame, call: Calls) -> bool | None:
    """Whether a condition holds; None if constants do not tell."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = truth(test.operand, frame, call)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        parts, decides = [truth(part, frame, call) for part in test.values], isinstance(test.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    value = evaluate(test, frame, call)
    return bool(value) if _is_constant(value) else None


def _compared(op: ast.cmpop, left: Any, right: Any) -> Any:
    """Whether a comparison of what is known holds; numbers alone are put in order."""
    if isinstance(op, ast.Is | ast.IsNot):  # what is None is often an option, given elsewhere: both ways are read
        there = right is None and isinstance(left, FunctionValue | GraphValue)
        return isinstance(op, ast.IsNot) if there else UNKNOWN
    if isinstance(op, ast.In | ast.NotIn) and isinstance(right, list | tuple | dict) and _is_constant(left):
        items = iterated(right)
        lost = items is None or any(map(is_unknown, items))
        return UNKNOWN if lost else (left in items) is isinstance(op, ast.In)
    ordered = isinstance(op, ast.Eq | ast.NotEq) or (isinstance(left, int) and isinstance(right, int))
    compared = _OPERATORS.get(type(op)) if ordered and _is_constant(left) and _is_constant(right) else None
    return compared(left, right) if compared else UNKNOWN


def _is_constant(value: Any) -> bool:
    if isinstance(value, str):  # a text that is no name any more could double until the memory is full
        return not isinstance(value, Symbol) and len(value) <= MOST_ITEMS
    return value is None or isinstance(value, int | float)


def bind(target: ast.expr, value: Any, frame: Frame, call: Calls) -> None:
    """Give the names, attributes and items of an assignment's target their values."""
    match target:
        case ast.Name(id=name):
            frame.names[name] = value
            for outer in [*frame.scopes()][1:] if name in rebound_names(frame.node) else ():
                if name in outer.names:  # whether the function is called, and when, nobody knows
                    before = outer.names[name]
                    fresh = before is None and isinstance(value, GraphValue)
                    outer.names[name] = value if fresh else unknown(before, value)
                    break
        case ast.Attribute() | ast.Subscript():
            call.store(target, value, frame)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            fits = isinstance(value, list | tuple) and len(value) == len(targets)
            values = value if fits else [part_of(value)] * len(targets)
            for inner, item in zip(targets, values, strict=True):
                bind(inner, item, frame, call)
        case ast.Starred(value=inner):
            bind(inner, unknown(value), frame, call)
        case _:
            pass


def iterated(value: Any) -> Sequence[Any] | None:
    """The items that a loop over a value goes through; None if they are not known."""
    if isinstance(value, ClassValue):
        if not value.is_enum:
            return None
        members = (member(value, name) for name in value.members if name[0] != "_")
        value = [each for each in members if not isinstance(each, FunctionValue)]
    if isinstance(value, dict) or text_of(value) is not None:
        value = [*value]
    if isinstance(value, list | tuple) and len(value) <= MOST_ITEMS and not any(item is MORE for item in value):
        return [*value]
    return None


def defaults_in(node: Function, frame: Frame, call: Calls) -> tuple[tuple[str, Any], ...]:
    """The parameters of a function that have defaults, with their values."""
    its = node.args
    last = zip([*its.posonlyargs, *its.args][::-1], its.defaults[::-1], strict=False)
    pairs = (*last, *zip(its.kwonlyargs, its.kw_defaults, strict=True))
    return tuple((argument.arg, evaluate(value, frame, call)) for argument, value in pairs if value)


def items_of(nodes: Sequence[ast.expr], frame: Frame, call: Calls) -> list[Any]:
    """The values of expressions; `MORE` for what a ``*`` brings where that is not known."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            inner = iterated(held := evaluate(node.value, frame, call))
            values += [MORE, part_of(held)] if inner is None else inner
        else:
            values.append(evaluate(node, frame, call))
    return values


def _dictionary(node: ast.Dict, frame: Frame, call: Calls) -> Any:
    pairs: list[tuple[Any, Any]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        known = evaluate(value, frame, call)
        if key is None and not isinstance(known, dict):
            return UNKNOWN
        pairs += known.items() if key is None else [(evaluate(key, frame, call), known)]
    return _table(pairs)


def _table(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A table of what is known; a key that is not is another one than those before."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        with suppress(TypeError):  # a key that cannot be one: the program fails there, or it is a value of ours
            if not is_unknown(key) and not isinstance(key, type(MORE)):
                found[key] = value
                continue
        found[type(MORE)() if MORE in found else MORE] = value
    return found


def _comprehended(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame, call: Calls) -> Any:
    """What a comprehension makes of items that are known; else what it does to graphs."""
    inner = Frame(node, frame.file, frame.name, frame)
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    items: Sequence[Any] | None = None
    for clause in node.generators:
        [source] = _operands(inner, call, clause.iter)
        items = iterated(source) if node.generators == [clause] and not call.hurries else None
        bind(clause.target, part_of(source), inner, call)
        for condition in clause.ifs:
            evaluate(condition, inner, call)
    clause, made = node.generators[0], list[tuple[Any, ...]]()
    for item in items or ():
        bind(clause.target, item, inner, call)
        kept = [truth(condition, inner, call) for condition in clause.ifs]
        if None in kept:
            items = None  # nobody knows which of them are there
            bind(clause.target, unknown(item), inner, call)
            break
        if all(kept):
            made.append(tuple(evaluate(part, inner, call) for part in parts))
    if items is None:
        held = unknown(*made, *(evaluate(part, inner, call) for part in parts))
        return {MORE: held} if isinstance(node, ast.DictComp) else held
    return builtin("dict", [made], {}) if isinstance(node, ast.DictComp) else [value for (value,) in made]


_READ: Sequence[Any] = (dict, enumerate, len, list, pairwise, range, reversed, sorted, tuple, zip)
_BUILTINS_READ: dict[str, Any] = {each.__name__: each for each in _READ}


def builtin(name: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What a builtin makes of values that are known; `UNKNOWN` if they are not, or it is another one."""
    whole = (int, dict) if name == "dict" else int
    values = [value if isinstance(value, whole) else iterated(value) for value in given]
    ordered = name == "sorted" and not all(_is_constant(item) for value in given for item in iterated(value) or ())
    if name not in _BUILTINS_READ or None in values or ordered:
        return UNKNOWN
    with suppress(TypeError, ValueError):
        made = _BUILTINS_READ[name](*values, **named)
        if isinstance(made, dict) and any(map(is_unknown, made)):  # it stands for several keys
            return unknown(*cast("dict[Any, Any]", made).values())
        if not isinstance(made, range) or len(made) <= MOST_NUMBERS:
            return made if isinstance(made, int | dict | tuple) else [*made]
    return UNKNOWN


_TEXT_METHODS = frozenset({"capitalize", "format", "join", "lower", "replace", "split", "strip", "title", "upper"})
_WIDE = re.compile(r"\{[^{}]*:[^{}]*(\{|\d{5})")
"""A place in a text for a value that may get a huge width."""


def of_text(text: str, method: str, given: Sequence[Any]) -> Any:
    """What a method of a text makes of what is known."""
    values = [iterated(value) if isinstance(value, list | tuple) else value for value in given]
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    known = all(map(_is_constant, (text, *parts))) and not (method == "format" and _WIDE.search(text))
    if method not in _TEXT_METHODS or not known:
        return UNKNOWN
    with suppress(TypeError, ValueError, LookupError):
        return getattr(text, method)(*values)
    return UNKNOWN


def _sum(op: ast.operator, first: Any, second: Any) -> Any:
    """A sum of numbers, texts or lists that are known, or a difference or remainder of numbers."""
    if isinstance(first, int) and isinstance(second, int):
        return _OPERATORS[type(op)](first, second) if second or isinstance(op, ast.Add | ast.Sub) else UNKNOWN
    lists = type(first) is type(second) and isinstance(first, list | tuple)
    texts = _is_constant(first) and _is_constant(second) and None not in (text_of(first), text_of(second))
    known = None not in (iterated(first), iterated(second)) if lists else texts
    return first + second if isinstance(op, ast.Add) and known else UNKNOWN


def _subscript(node: ast.Subscript, frame: Frame, call: Calls) -> Any:
    [owner] = _operands(frame, call, node.value)
    if isinstance(owner, Symbol):
        return _annotation(owner, node.slice, frame, call)
    if isinstance(owner, list | tuple | dict | str) and MORE not in [*owner]:
        part = node.slice
        ends = [part.lower, part.upper, part.step] if isinstance(part, ast.Slice) else [part]
        at: list[Any] = [None if end is None else evaluate(end, frame, call) for end in ends]
        with suppress(LookupError, TypeError, ValueError):
            return cast("dict[Any, Any]", owner)[slice(*at) if isinstance(part, ast.Slice) else at[0]]
    return part_of(owner)


def _annotation(owner: Symbol, inside: ast.expr, frame: Frame, call: Calls) -> Any:
    """``Literal[...]``, ``Command[Literal[...]]``, and these within ``Union``, ``Optional`` or ``Annotated``."""
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    name = owner.rpartition(".")[2]
    if name in MAKERS:  # StateGraph[State, None, State, State]
        return owner
    if owner.startswith("typing.") and name == "Literal":
        words = items_of(parts, frame, call)
        flat = [word for item in words for word in (item.words if isinstance(item, Words) else (item,))]
        return UNKNOWN if UNKNOWN in flat or MORE in flat else Words(tuple(flat))
    values = [evaluate(_unquoted(part), frame, call) for part in parts]
    if name == "Command":
        first = values[0]
        return Words(first.words, command=True) if isinstance(first, Words) and not first.command else owner
    if owner.startswith("typing.") and name in ("Union", "Optional"):  # within ``a | b``, LangGraph sees no Command
        return next((value for value in values if isinstance(value, Words) and value.command), UNKNOWN)
    return UNKNOWN


def _piped(values: Sequence[Any]) -> Any:
    """A chain of runnables, if one of the values can be none but a part of one; or two tables together."""
    if all(isinstance(value, dict) for value in values):
        return _table(pair for value in values for pair in value.items())
    if any(isinstance(value, Chain | FunctionValue | Made) for value in values):
        parts = (value.parts if isinstance(value, Chain) else (value,) for value in values)
        return Chain(tuple(chain.from_iterable(parts)))
    return UNKNOWN


def _unquoted(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.parse(node.value, mode="eval").body
    return node


def return_annotation(function: FunctionValue, call: Calls) -> Any:
    """What a function is annotated to return: `Words`, or `UNKNOWN`."""
    annotation = getattr(function.node, "returns", None)
    return UNKNOWN if annotation is None else evaluate(_unquoted(annotation), function.frame, call)


def fill(held: list[Any] | dict[Any, Any], *added: Any) -> None:
    """Note that something is done to a list or table: what is in it from now on, nobody tells, but for builders."""
    if isinstance(held, list):
        held += [MORE, unknown(*added)] if added or MORE not in held else []
    else:
        held[MORE] = unknown(held.get(MORE), *added)
