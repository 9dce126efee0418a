"""What a router's or node's source says of where it goes, read from the syntax tree alone.

Sound before clever: a destination counts as read only if every return is a constant, or something made of constants;
one return that cannot be read, and the answer is None: any node. Nothing here runs code or needs LangGraph.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

Nodes: TypeAlias = frozenset[str] | None
"""Where something goes; None: any node."""
NOWHERE: frozenset[str] = frozenset()

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""The syntax of a function."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*FUNCTIONS, ast.ClassDef)

UNKNOWN = object()
"""The value of a name that cannot be known."""

SEND = "langgraph.types.Send"
COMMAND = "langgraph.types.Command"
"""What a `Values` answers for LangGraph's own classes; everything else that it answers is the value itself."""

GRAPH_MAKERS = frozenset({"StateGraph", "create_agent", "create_react_agent", "create_deep_agent"})
"""What makes graphs, by their names alone."""

MANY = 2
"""What a binding counts that may happen more than once, or whose value nobody can tell."""


class Symbol(str):
    """The full name of a class of LangGraph's, to tell it from a string of that content."""

    __slots__ = ()


def text_of(value: Any) -> str | None:
    """The value if it is a string of the program's, not the name of something."""
    return str.__str__(value) if isinstance(value, str) and not isinstance(value, Symbol) else None


Values: TypeAlias = Callable[[ast.expr], Any]
"""The value of a name or attribute that a function finds around it: a string, a list or table of strings, a `Symbol`, a
`Helper`, a `Jump`, or `UNKNOWN`."""


def either(first: Nodes, second: Nodes) -> Nodes:
    """Where one of two goes."""
    return None if first is None or second is None else first | second


class Unreadable(Exception):
    """A part of the source whose value cannot be told."""


@lru_cache(maxsize=4096)
def every(tree: ast.AST) -> Sequence[ast.AST]:
    """A piece of the syntax and all its parts; kept, for functions and files are gone through many times."""
    found = [tree]
    for node in found:
        found += parts_of(node)
    return found


def identifier(node: ast.AST) -> str:
    """What a variable or an attribute is called; anything else has no name."""
    return getattr(node, "id", getattr(node, "attr", ""))


def parts_of(node: ast.AST) -> Sequence[ast.AST]:
    """What ``ast.iter_child_nodes`` gives, without contexts and operators, in a third of the time."""
    found: list[ast.AST] = []
    for name in _fields_of(type(node)):
        value: Any = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in cast("list[Any]", value) if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@lru_cache
def _fields_of(kind: type[ast.AST]) -> Sequence[str]:
    """The fields of a kind of syntax that may hold parts of it."""
    bare = ("ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment")
    return [name for name in kind._fields if name not in bare and kind is not ast.Constant]


# Routers


def returned_words(function: Helper) -> Nodes:
    """What a router returns.

    Returns:
        Every string that it can return, alone, in a list or as the node of a ``Send``; None if that cannot be told.
    """
    with suppress(Unreadable):
        return frozenset(_Reading(function).returned(_Reading.words)) or None
    return None


def sent_words(function: Helper, *, commands: bool = False) -> frozenset[str]:
    """The nodes that a function names in a ``Send``, as far as they can be told: a path map does not hold them back.

    With `commands`, those that it names in a ``Command`` count as well; else as `returned_words`.
    """
    reading = _Reading(function, whole=False)
    jumps = (call for call in jumps_in(function) if commands or _is(function.values, call, SEND))
    found = reading.all_of(jumps, _Reading.gotos)
    with suppress(Unreadable):  # what its helpers make
        found |= reading.returned(_Reading.gotos) if commands else set()
    return frozenset(found)


def parent_words(function: Helper, *, whole: bool = True) -> Nodes:
    """The nodes of the graph around its own that a function's Commands name; None if that cannot be told.

    Unless `whole`, as far as they can be told.
    """
    commands = (keywords_of(command) for command in commands_in(function) if goes_to_parent(command))
    gotos = [each.get("goto", each.get(None)) for each in commands]  # ``**options`` could hold one
    with suppress(Unreadable):
        return frozenset(_Reading(function, whole=whole).all_of(filter(None, gotos), _Reading.words))
    return None


# Nodes


def command_words(function: Helper, doubts: list[ast.expr] | None = None) -> Nodes:
    """Where the Commands of a node go in its own graph.

    Args:
        function: What the node runs.
        doubts: Takes what the node may return and what nobody read, a call of something unknown, say. Without it, such
            a part counts as any node.

    Returns:
        The destinations, none if its source shows no ``Command`` with a goto; None if they cannot be told.
    """
    reading = _Reading(function, doubts)
    with suppress(Unreadable):
        words = reading.returned(_Reading.gotos)
        # A Command or Send that is handed on could be changed, or return by another way.
        if all(any(call is other for other in reading.read) for call in reading.commands):
            return frozenset(words)
    return None


def commands_in(function: Helper) -> list[ast.Call]:
    """Every call of ``Command`` in a function, those of functions inside it too."""
    return [call for call in calls_in(function.node) if _is(function.values, call, COMMAND)]


def jumps_in(function: Helper) -> list[ast.Call]:
    """Every call that makes a ``Send``, or a ``Command`` with a goto in its own graph."""
    calls, values = calls_in(function.node), function.values
    return [call for call in calls if (goes_on_here(call) if _is(values, call, COMMAND) else _is(values, call, SEND))]


@lru_cache(maxsize=4096)
def calls_in(tree: ast.AST) -> list[ast.Call]:
    """Every call in a piece of the syntax."""
    return [node for node in every(tree) if isinstance(node, ast.Call)]


def keywords_of(call: ast.Call) -> dict[str | None, ast.expr]:
    """The named arguments of a call; what ``**`` brings stands under None."""
    return {keyword.arg: keyword.value for keyword in call.keywords}


def goes_on_here(command: ast.Call) -> bool:
    """Whether a Command has a goto in its own graph; ``**options`` could hold one."""
    keywords = keywords_of(command)
    if None in keywords:
        return True
    graph = keywords.get("graph")
    # LangGraph hands on what is for the parent; any other name it takes for its own.
    parent = getattr(graph, "attr", getattr(graph, "value", "")) in ("PARENT", "__parent__")
    return "goto" in keywords and not parent


def copies(function: ast.AST) -> list[ast.Call]:
    """The calls that give what a function asks whether it is a Command another update: they go wherever that goes.

    So does ``if isinstance(other, Command): return Command(goto=other.goto, graph=other.graph, update=...)``.
    """
    calls = calls_in(function)
    asked = {
        ast.unparse(call.args[0])
        for call in calls
        if getattr(call.func, "id", "") == "isinstance"
        and len(call.args) == 2
        and any(identifier(part) == "Command" for part in ast.walk(call.args[-1]))
    }
    ways = [(call, [way for way in keywords_of(call).items() if way[0] in ("goto", "graph")]) for call in calls]
    same = {f"{one}.{name}" for one in asked for name in ("goto", "graph")}
    return [
        call for call, goes in ways
        if goes and all(identifier(value) == name and ast.unparse(value) in same for name, value in goes)
    ]  # fmt: skip


def goes_to_parent(command: ast.Call) -> bool:
    """Whether a Command is for another graph than its own, as far as its source says so."""
    graph = keywords_of(command).get("graph")
    return graph is not None and getattr(graph, "value", "") is not None


def _argument(call: ast.Call, place: int, name: str) -> ast.expr:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Unreadable
    named = keywords_of(call)
    if None in named or (name not in named and len(call.args) <= place):
        raise Unreadable
    return named[name] if name in named else call.args[place]


def _is(values: Values, call: ast.Call, name: str) -> bool:
    """Whether a call makes a Command or a Send, by what its name stands for; where that is not known, by the name."""
    if identifier(call.func) == name.rpartition(".")[2]:
        return True
    value = values(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else UNKNOWN
    return isinstance(value, Symbol) and value == name


class Helper(NamedTuple):
    """A function as it is read, also one that `Values` answers: what that returns is followed."""

    node: Function
    """Its syntax."""
    values: Values
    """Tells the values of names that are not its own."""
    fixed: frozenset[str] = frozenset()
    """Parameters that `values` knows too: ``self`` of a method; the first parameter is then no argument of a call."""


class Jump(NamedTuple):
    """A Command or Send that was made elsewhere, as `Values` answers it."""

    words: Nodes
    """Where it goes."""


DEEPEST = 6
"""Helpers of helpers are followed this far."""


class _Reading:
    """One function as it is read, and the helpers that it calls.

    Args:
        function: The function.
        doubts: Takes what nobody read; see `command_words`.
        around: What is being read and called it, and with which arguments.
        whole: Whether one of several values that cannot be told makes the whole unreadable; else it is passed over.
    """

    def __init__(
        self, function: Helper, doubts: list[ast.expr] | None = None,
        around: tuple[_Reading, Mapping[str, ast.expr]] | None = None, *, whole: bool = True,
    ) -> None:  # fmt: skip
        node = function.node
        self.function, self.outer = node, function.values
        self.own = bindings(node).keys() - {name for name in function.fixed if bound_once(node, name)}
        self.doubts = doubts
        self.around = around
        self.whole: bool = around[0].whole if around else whole
        self.depth: int = around[0].depth + 1 if around else 0
        self.read: list[ast.Call] = around[0].read if around else []
        self.commands: list[ast.Call] = around[0].commands if around else []
        self.commands += jumps_in(function)
        self.following: set[tuple[str, Callable[[_Reading, ast.expr], set[str]]]] = set()

    def values(self, expression: ast.expr) -> Any:
        """The value of a name or attribute around the function; unknown, if the name is its own."""
        base = expression
        while isinstance(base, ast.Attribute):
            base = base.value
        return UNKNOWN if not isinstance(base, ast.Name) or base.id in self.own else self.outer(expression)

    def returned(self, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of every value that the function returns."""
        if yields(self.function):
            if part is not _Reading.gotos or self.commands or self.doubts is None:
                raise Unreadable
            return set()
        # A bare return, or none at all, returns None, which is no destination.
        return self.all_of(returned_values(self.function), part)

    def all_of(self, values: Iterable[ast.expr], part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of any of several values."""
        found: set[str] = set()
        for value in values:
            try:
                found |= part(self, value)
            except Unreadable:
                if self.whole:
                    raise
        return found

    def words(self, value: ast.expr, part: Callable[[_Reading, ast.expr], set[str]] | None = None) -> set[str]:
        """The nodes that a router's value or a Command's goto names; with `part`, what that reads of its parts."""
        part = part or _Reading.words
        match value:
            case ast.Constant(value=str(word)):
                return {word}
            case ast.Constant(value=None):
                return set()
            case ast.Call() if _is(self.outer, value, SEND):
                self.read.append(value)
                return self.words(_argument(value, 0, "node"))
            case ast.Call():
                return self.called(value, part)
            case ast.Starred(value=it):
                return self.items(it)
            case ast.Subscript(value=ast.Dict() | ast.Name() | ast.Attribute() as owner):
                return self.choices(owner)
            case ast.Name() | ast.Attribute():
                return self.named(value, part)
            case _:
                return self.parts(value, part)

    def items(self, value: ast.expr) -> set[str]:
        """The nodes that going through a value names: a table's keys; the letters of a text are not read."""
        if isinstance(value, ast.Dict) and None not in value.keys:
            return self.all_of(filter(None, value.keys), _Reading.words)
        if isinstance(value, ast.Constant | ast.Starred | ast.Subscript):
            raise Unreadable
        return self.words(value, _Reading.items)

    def gotos(self, value: ast.expr) -> set[str]:
        """The nodes that the Commands and Sends in a returned value name."""
        match value:
            case ast.Call() if _is(self.outer, value, SEND):
                return self.words(value)
            case ast.Call() if _is(self.outer, value, COMMAND):
                self.read += (node for node in ast.walk(value) if isinstance(node, ast.Call))
                return self.words(_argument(value, 0, "goto")) if goes_on_here(value) else set()
            case ast.Call(func=ast.Attribute(value=ast.Constant() | ast.JoinedStr())):  # a text's method
                return set()
            case ast.Call():
                return self.called(value, _Reading.gotos)
            case ast.Constant() | ast.Dict() | ast.JoinedStr() | ast.Compare() | ast.DictComp() | ast.Set():
                return set()
            case ast.BinOp(left=left, right=right):  # a Command has no operators; a list or table of them may
                return self.gotos(left) | self.gotos(right)
            case ast.Name() | ast.Attribute():
                return self.named(value, _Reading.gotos)
            case ast.Lambda() | ast.Subscript() | ast.UnaryOp():
                return self.doubt(value)
            case _:
                return self.parts(value, _Reading.gotos)

    def parts(self, value: ast.expr, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of a value that is one of several, or made of several."""
        match value:
            case ast.IfExp(body=body, orelse=other):
                return self.all_of((body, other), part)
            case ast.BoolOp(values=items):
                return self.all_of(items, part)
            case ast.Await(value=it) | ast.NamedExpr(value=it) | ast.Starred(value=it):
                return part(self, it)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if _is_list(left) or _is_list(right):
                return self.all_of((left, right), part)
            case ast.List() | ast.Tuple() | ast.ListComp():
                items = [value.elt] if isinstance(value, ast.ListComp) else value.elts
                return self.all_of(items, _Reading.words if part is _Reading.items else part)
            case _:
                raise Unreadable

    def doubt(self, value: ast.expr) -> set[str]:
        """A value that may be a Command, and that nobody read."""
        if self.doubts is None:
            raise Unreadable
        self.doubts.append(value)
        return set()

    def choices(self, owner: ast.expr) -> set[str]:
        """Everything that a table of names holds."""
        if isinstance(owner, ast.Dict):
            pairs = zip(owner.keys, owner.values, strict=True)
            held = [value if key else ast.Subscript(value, ast.Constant(None), ast.Load()) for key, value in pairs]
            return self.all_of(held, _Reading.words)
        table = self.values(owner)
        held = [*table.values()] if isinstance(table, dict) else table
        if isinstance(held, list | tuple) and all(text_of(word) is not None for word in held):
            return {*held}
        if isinstance(owner, ast.Name) and owner.id in bindings(self.function):
            return self.local(owner.id, _Reading.choices)
        raise Unreadable

    def called(self, call: ast.Call, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What a call returns, if it calls a helper; or the words of ``table.get(key, default)``."""
        helper = self.helper(call.func)
        if helper is None:
            if part in _GOING:
                if isinstance(call.func, ast.Attribute) and call.func.attr in ("copy", "model_copy") and not call.args:
                    return part(self, call.func.value)
                plain = identifier(call.func) in ("dict", "asdict", "model_dump")
                return set() if plain or self.values(call.func) == Jump(NOWHERE) else self.doubt(call)
            if part is _Reading.words and isinstance(call.func, ast.Attribute) and call.func.attr == "get":
                table = ast.Subscript(call.func.value, ast.Constant(None), ast.Load())
                return self.all_of((table, *call.args[1:]), _Reading.words)
            raise Unreadable
        arguments = _arguments_of(call, helper)
        reading: _Reading | None = self
        while reading is not None:
            if reading.function is helper.node:
                alike = {name for name, value in arguments.items() if getattr(value, "id", "") == name}
                if helper.fixed or alike != {*parameters(helper.node)}:
                    raise Unreadable  # another object, or other arguments: another answer
                return set()  # what it returns is being read already
            reading = reading.around[0] if reading.around else None
        if self.depth >= DEEPEST:
            raise Unreadable
        return _Reading(helper, self.doubts, (self, arguments)).returned(part)

    def helper(self, called: ast.expr) -> Helper | None:
        """The function that is called, if it is in sight."""
        if not isinstance(called, ast.Name | ast.Attribute):
            return None
        if isinstance(found := self.values(called), Helper):
            return found
        if isinstance(called, ast.Name) and bound_once(self.function, called.id):
            inner = (node for node in own_nodes(self.function) if getattr(node, "name", None) == called.id)
            node = next((node for node in inner if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)), None)
            if node is not None and not node.decorator_list:
                return Helper(node, self.values)
        return None

    def named(self, name: ast.Name | ast.Attribute, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of the values that a name can have."""
        value = self.values(name)
        router = part not in _GOING
        if isinstance(value, Jump):
            if value.words is None:
                raise Unreadable
            return {*value.words}
        held = [value] if isinstance(value, str) and part is not _Reading.items else value
        if isinstance(held, list | tuple) and all(text_of(word) is not None for word in held):
            return {str.__str__(word) for word in held} if router else set()
        if isinstance(name, ast.Name) and name.id in bindings(self.function):
            return self.local(name.id, part)
        if router:
            raise Unreadable
        return self.doubt(name)

    def local(self, name: str, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of the values that a name of the function's own can have."""
        if (name, part) in self.following:
            return set()
        if name in parameters(self.function) and bindings(self.function)[name] == 1:
            changed = (getattr(filled(node, _FILLING), "id", "") for node in own_nodes(self.function))
            if self.around and name in self.around[1] and (part in _GOING or name not in changed):
                return part(self.around[0], self.around[1][name])
            if part in _GOING and self.doubts is not None and not (self.around and part is _Reading.tables):
                return set()  # a state that is handed on
            raise Unreadable
        found = values_given(self.function, name)
        hidden = name in parameters(self.function) or name in reassigned_inside(self.function)
        if found is None and (part not in _GOING or (hidden and self.doubts is None)):
            raise Unreadable
        self.following.add((name, part))
        try:
            return self.filled(name, part) if found is None else self.all_of(found, part)
        finally:
            self.following.discard((name, part))

    def filled(self, name: str, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of the values of a name of the function's own to which more is done than to give it those."""
        words, own = set[str](), name not in reassigned_inside(self.function)
        for node in (node for node in own_nodes(self.function) if isinstance(node, ast.stmt)):
            named, targets = [*_stored_in(node)], getattr(node, "targets", [getattr(node, "target", None)])
            whole = own and named.count(name) == 1 and any(getattr(each, "id", "") == name for each in targets)
            for field, value in ast.iter_fields(node) if name in named else ():
                if isinstance(value, ast.expr) and field not in ("target", "annotation"):
                    try:  # of what is unpacked, or named on the way, a part may be a Command
                        words |= self.tables(value) if whole and field == "value" else self.doubt(value)
                    except Unreadable:
                        self.doubt(value)
        outer, given = self.around or (None, dict[str, ast.expr]())
        return words | part(outer, given[name]) if outer and name in given else words

    def tables(self, value: ast.expr) -> set[str]:
        """As `gotos`, of what is changed: a table or a copy of the state becomes no Command, but a list may get one."""
        match value:
            case ast.Dict() | ast.DictComp() | ast.Constant():
                return set()
            case ast.Call():
                return self.called(value, _Reading.tables)
            case ast.Name() if not isinstance(self.values(value), list | tuple):
                return self.named(value, _Reading.tables)
            case ast.Await() | ast.IfExp():
                return self.parts(value, _Reading.tables)
            case _:
                raise Unreadable


_GOING = (_Reading.gotos, _Reading.tables)


def _is_list(node: ast.expr | None) -> bool:
    return isinstance(node, ast.List | ast.ListComp)


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [argument.arg for argument in every if argument]


def positional(function: Function) -> list[str]:
    """The parameters that arguments without names are for."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


FILLED = frozenset({"config", "error", "previous", "runtime", "store", "writer"})
"""The parameters of a node or router that LangGraph fills beside the state; others keep their defaults."""


def _arguments_of(call: ast.Call, helper: Helper) -> dict[str, ast.expr]:
    """Parameter -> the expression that a call hands over; none where ``*`` or ``**`` may change them."""
    if any(isinstance(value, ast.Starred) for value in call.args) or any(not word.arg for word in call.keywords):
        return {}
    found = dict(zip(positional(helper.node)[len(helper.fixed) :], call.args, strict=False))
    return found | {word.arg: word.value for word in call.keywords if word.arg}


_ADDING = frozenset({"append", "extend", "insert"})
_SHARING = (ast.Name, ast.Subscript, ast.Starred, ast.IfExp, ast.BoolOp, ast.List, ast.Tuple)
_FILLING = frozenset({*_ADDING, "add", "update", "setdefault", "__setitem__", "__iadd__", "__ior__"})
LOOKING = frozenset({
    "len", "print", "bool", "str", "repr", "isinstance", "any", "all", "list", "tuple", "set", "sorted", "reversed",
    "dict", "min", "max", "sum", "enumerate", "zip", "add_conditional_edges", "Command", "Send",
})  # fmt: skip
"""What leaves a list or table that it is handed as it is."""


@lru_cache(maxsize=4096)
def values_given(function: Function, name: str) -> list[ast.expr] | None:
    """The values that a function gives to a name of its own, and what it adds to them; None if others may, too."""
    if name in reassigned_inside(function) or name in parameters(function):
        return None
    nodes = own_nodes(function)
    changed = [getattr(filled(node, _FILLING), "id", "") for node in nodes]
    given = [pair for node in nodes for pair in _given_in(node)]
    found = [value for target, value in given if name in stored(target)]
    added = [
        ast.Starred(node.args[-1]) if node.func.attr == "extend" else node.args[-1]
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING
        if node.args and getattr(node.func.value, "id", "") == name
    ]
    # What gets it, or a part of it, and is changed itself.
    having = [value for target, value in given if isinstance(value, _SHARING) and {*changed} & {*stored(target)}]
    shared = any(getattr(each, "id", "") == name for value in having for each in ast.walk(value))
    if shared or changed.count(name) != len(added) or len(found) != sum(name in stored(node) for node in nodes):
        return None
    lists = bool(added) or any(_is_list(value) or isinstance(value, ast.Dict) for value in filter(None, found))
    others = not found or any(_changes(node, name, lists) for node in nodes)
    return None if others else [*filter(None, found), *added]


def filled(node: ast.AST, methods: Set[str]) -> ast.AST | None:
    """The variable that a piece of the syntax changes, or a part of which: by its own method, or in place."""
    match node:
        case ast.Attribute(attr=name, ctx=ctx) if name in methods or not isinstance(ctx, ast.Load):
            pass
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            pass
        case _:
            return None
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _given_in(node: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    """What a piece of the syntax gives a value that can be read, and which: of a loop, the list of them."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [pair for target in targets for pair in _unpacked(target, value)]
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            return [(target, value)]
        case ast.AugAssign(target=target, op=ast.Add(), value=value) if _is_list(value):
            return [(target, value)]
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            return [(target, ast.Starred(value))]
        case _:
            return []


def _unpacked(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr | None]]:
    """What an assignment gives to what; of a tuple that is taken from one, each part on its own."""
    parts = [each.elts for each in (target, value) if isinstance(each, ast.Tuple | ast.List)]
    starred = any(isinstance(each, ast.Starred) for elts in parts for each in elts)
    if len(parts) < MANY or starred or len(parts[0]) != len(parts[1]):
        return [(target, value)]
    return [pair for one, its in zip(*parts, strict=True) for pair in _unpacked(one, its)]


def _changes(node: ast.AST, name: str, lists: bool) -> bool:
    """Whether a variable may be changed by a function inside, or a list by what it is handed to."""
    match node:
        case ast.Call(func=called, args=args, keywords=keywords):
            handed = (getattr(value, "id", "") for value in (*args, *(word.value for word in keywords)))
            return lists and name in handed and identifier(called) not in LOOKING
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))
        case _:
            return False


def _stored_in(statement: ast.stmt) -> Iterator[str]:
    for node in ast.iter_child_nodes(statement):
        part = node.pattern if isinstance(node, ast.match_case) else node
        for inner in ast.walk(part) if isinstance(part, ast.expr | ast.pattern) else ():
            yield from stored(inner)


# Scopes


def returned_values(function: ast.AST) -> list[ast.expr]:
    """What a function returns."""
    own = (node.value for node in own_nodes(function) if isinstance(node, ast.Return) and node.value)
    return [function.body] if isinstance(function, ast.Lambda) else [*own]


@lru_cache(maxsize=4096)
def own_nodes(scope: ast.AST) -> Sequence[ast.AST]:
    """The nodes of a module or function without those of the functions and classes inside it, which are there bare."""
    body: Any = getattr(scope, "body", [])
    queue, found = [*body] if isinstance(body, list) else [body], list[ast.AST]()
    while queue:
        found.append(node := queue.pop())
        if not isinstance(node, _SCOPES):
            queue += parts_of(node)
    return found


@lru_cache(maxsize=4096)
def yields(function: ast.AST) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


@lru_cache(maxsize=4096)
def bindings(scope: ast.AST) -> Counter[str]:
    """Name -> how often a module or function binds it itself; what may happen more often counts as `MANY`."""
    found: Counter[str] = Counter()
    if isinstance(scope, FUNCTIONS):
        found.update(parameters(scope))
    imported = set[tuple[str, str | None, int, str]]()  # again from the same place, it is the same
    for node in own_nodes(scope):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name):
            continue
        for name, count in _bound(node):
            found[name] += count
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            place = getattr(node, "module", None), getattr(node, "level", 0), alias.name
            imported.add((alias.asname or alias.name, *place))
    found.update(name.partition(".")[0] for name, *_ in imported)
    return found


def _bound(node: ast.AST) -> Iterable[tuple[str, int]]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [(name, 1)]
        case ast.Name(id=name, ctx=ast.Del()):
            return [(name, MANY)]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [(name, 1)]
        case ast.For() | ast.AsyncFor() | ast.While() | ast.comprehension():
            return [(name, MANY) for inner in ast.walk(node) for name in stored(inner)]
        case ast.AugAssign(target=ast.Name(id=name)):
            return [(name, MANY)]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return [(name, MANY) for name in names]
        case _:
            return [(name, MANY) for name in stored(node)]


def stored(node: ast.AST) -> list[str]:
    """The name that a node of the syntax gives a value to, if it is one: a variable, or one of a pattern or handler."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case _:
            return []


@lru_cache(maxsize=4096)
def reassigned_inside(scope: ast.AST) -> frozenset[str]:
    """Names that functions inside a module or function declare ``global`` or ``nonlocal``, so that they may change."""
    declared = (node.names for node in every(scope) if isinstance(node, ast.Global | ast.Nonlocal))
    return frozenset(name for names in declared for name in names)


def bound_once(scope: ast.AST, name: str) -> bool:
    """Whether a module or function gives a name its value exactly once, so that what it holds now it always holds."""
    return bindings(scope)[name] == 1 and name not in reassigned_inside(scope)
