"""What a router's or node's source says of where it goes, read from the syntax tree alone.

Sound before clever: a destination counts as read only if every return is a constant, or something made of constants;
one return that cannot be read, and the answer is None: any node. Nothing here runs code or needs LangGraph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from loopwright.engine.proof import syntax
from loopwright.engine.proof.syntax import Function, bindings, identifier, keywords_of, own_nodes, parameters

Nodes: TypeAlias = frozenset[str] | None
"""Where something goes; None: any node."""
NOWHERE: frozenset[str] = frozenset()

UNKNOWN = object()
"""The value of a name that cannot be known."""

SEND = "langgraph.types.Send"
COMMAND = "langgraph.types.Command"
"""What a `Values` answers for LangGraph's own classes; everything else that it answers is the value itself."""
_BY_NAME = {"Send": SEND, "Command": COMMAND}

GRAPH_MAKERS = frozenset({"StateGraph", "create_agent", "create_react_agent", "create_deep_agent"})
"""What makes graphs, by their names alone."""
_MAKER = re.compile(rf"(langgraph|langchain|deepagents)\..*\b({'|'.join(GRAPH_MAKERS)})")


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


# Routers


def returned_words(function: Helper) -> Nodes:
    """Every string that a router can return, alone, in a list or as the node of a ``Send``; None if nobody can tell."""
    with suppress(Unreadable):
        return frozenset(_Reading(function).returned(_Reading.words)) or None
    return None


def sent_words(function: Helper, *, commands: bool = False) -> frozenset[str]:
    """The nodes that a function names in a ``Send``, as far as they can be told: a path map does not hold them back.

    With `commands`, those that it names in a ``Command`` count as well; else as `returned_words`.
    """
    jumps = [call for call, kind in _made_in(function) if kind == SEND or (commands and goes_on_here(call))]
    if not (jumps or commands):
        return frozenset()
    reading = _Reading(function, whole=False)
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
    return [call for call, kind in _made_in(function) if kind == COMMAND]


def jumps_in(function: Helper) -> list[ast.Call]:
    """Every call that makes a ``Send``, or a ``Command`` with a goto in its own graph."""
    return [call for call, kind in _made_in(function) if kind == SEND or goes_on_here(call)]


@lru_cache(maxsize=256)  # a function is asked several times, one after the other
def _made_in(function: Helper) -> list[tuple[ast.Call, str]]:
    """Every call in a function that makes a Command or a Send, with which of them."""
    calls = ((call, _kind(function.values, call)) for call in syntax.calls_in(function.node))
    return [(call, kind) for call, kind in calls if kind]


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
    calls = syntax.calls_in(function)
    asks = (call.args for call in calls if getattr(call.func, "id", "") == "isinstance" and len(call.args) == 2)
    asked = {ast.unparse(one) for one, of in asks if any(identifier(part) == "Command" for part in ast.walk(of))}
    ways = [(call, [way for way in keywords_of(call).items() if way[0] in ("goto", "graph")]) for call in calls]
    same = {f"{one}.{name}" for one in asked for name in ("goto", "graph")}
    return [
        call for call, goes in ways
        if goes and all(identifier(value) == name and ast.unparse(value) in same for name, value in goes)
    ]  # fmt: skip


def goes_to_parent(command: ast.Call) -> bool:
    """Whether a Command may be for another graph than its own; ``**options`` could say so."""
    keywords = keywords_of(command)
    graph = keywords.get("graph")
    return None in keywords or (graph is not None and getattr(graph, "value", "") is not None)


def _argument(call: ast.Call, place: int, name: str) -> ast.expr:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Unreadable
    named = keywords_of(call)
    if None in named or (name not in named and len(call.args) <= place):
        raise Unreadable
    return named[name] if name in named else call.args[place]


def _kind(values: Values, call: ast.Call) -> str:
    """Whether a call makes a Command or a Send, by its name, or by what that stands for; an empty text for neither."""
    if found := _BY_NAME.get(identifier(call.func)):
        return found
    value = values(call.func) if isinstance(call.func, ast.Name | ast.Attribute) else UNKNOWN
    return str.__str__(value) if isinstance(value, Symbol) and value in (COMMAND, SEND) else ""


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
        self.own = bindings(node).keys() - {name for name in function.fixed if syntax.bound_once(node, name)}
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
        if syntax.yields(self.function):
            if part is not _Reading.gotos or self.commands or self.doubts is None:
                raise Unreadable
            return set()
        # A bare return, or none at all, returns None, which is no destination.
        return self.all_of(syntax.returned_values(self.function), part)

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
            case ast.Call() if _kind(self.outer, value) == SEND:
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
            case ast.Call() if _kind(self.outer, value) == SEND:
                return self.words(value)
            case ast.Call() if _kind(self.outer, value) == COMMAND:
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
            case ast.BinOp(left=left, op=ast.Add(), right=right) if syntax.is_list(left) or syntax.is_list(right):
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
                if isinstance(call.func, ast.Attribute) and call.func.attr in ("invoke", "ainvoke"):
                    with suppress(Unreadable):
                        return self.graphs(call.func.value)
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

    def graphs(self, value: ast.expr) -> set[str]:
        """Nothing, of what is a graph for certain: what it answers goes nowhere."""
        match value:
            case ast.Call(func=ast.Attribute(value=builder, attr="compile" | "with_config" | "add_node" | "add_edge")):
                return self.graphs(builder)
            case ast.Call(func=maker):
                return set() if _MAKER.fullmatch(str(self.values(maker))) else self.called(value, _Reading.graphs)
            case ast.Name(id=name):
                return self.local(name, _Reading.graphs)
            case _:
                return self.parts(value, _Reading.graphs)

    def helper(self, called: ast.expr) -> Helper | None:
        """The function that is called, if it is in sight."""
        if not isinstance(called, ast.Name | ast.Attribute):
            return None
        if isinstance(found := self.values(called), Helper):
            return found
        if isinstance(called, ast.Name) and syntax.bound_once(self.function, called.id):
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
        if name in parameters(self.function) and syntax.bound_once(self.function, name):
            changed = (getattr(syntax.filled(node, syntax.FILLING), "id", "") for node in own_nodes(self.function))
            if self.around and name in self.around[1] and (part in _GOING or name not in changed):
                return part(self.around[0], self.around[1][name])
            if part in _GOING and self.doubts is not None and not (self.around and part is _Reading.tables):
                return set()  # a state that is handed on
            raise Unreadable
        found = syntax.values_given(self.function, name)
        hidden = name in parameters(self.function) or name in syntax.reassigned_inside(self.function)
        unread = hidden and self.doubts is None
        if found is None and (part not in _GOING or unread or syntax.defines(self.function, name)):
            raise Unreadable
        self.following.add((name, part))
        try:
            return self.filled(name, part) if found is None else self.all_of(found, part)
        finally:
            self.following.discard((name, part))

    def filled(self, name: str, part: Callable[[_Reading, ast.expr], set[str]]) -> set[str]:
        """What is read of the values of a name of the function's own to which more is done than to give it those."""
        words, own = set[str](), name not in syntax.reassigned_inside(self.function)
        for node in (node for node in own_nodes(self.function) if isinstance(node, ast.stmt | ast.withitem)):
            named, targets = [*syntax.stored_in(node)], getattr(node, "targets", [getattr(node, "target", None)])
            whole = own and named.count(name) == 1 and any(getattr(each, "id", "") == name for each in targets)
            for field, value in ast.iter_fields(node) if name in named else ():
                if isinstance(value, ast.expr) and field not in ("target", "annotation", "optional_vars"):
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

FILLED = frozenset({"config", "error", "previous", "runtime", "store", "writer"})
"""The parameters of a node or router that LangGraph fills beside the state; others keep their defaults."""


def _arguments_of(call: ast.Call, helper: Helper) -> dict[str, ast.expr]:
    """Parameter -> the expression that a call hands over; none where ``*`` or ``**`` may change them."""
    if any(isinstance(value, ast.Starred) for value in call.args) or any(not word.arg for word in call.keywords):
        return {}
    found = dict(zip(syntax.positional(helper.node)[len(helper.fixed) :], call.args, strict=False))
    return found | {word.arg: word.value for word in call.keywords if word.arg}
