"""Where routers and nodes that declare no destinations go, read from the source of their functions."""

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, lru_cache, partial, reduce
from os.path import abspath, dirname
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send

from loopwright.engine.proof import source, syntax
from loopwright.engine.proof.changes import OWN, Asked, changes_in, changes_of, may_differ
from loopwright.engine.proof.reach import (
    LIBRARIES,
    Reach,
    file_of,
    functions_of,
    is_filled,
    is_of_library,
    reach_of,
    unwrapped,
)
from loopwright.engine.proof.source import NOWHERE, UNKNOWN, Helper, Nodes, either
from loopwright.engine.proof.syntax import Function, every, identifier


def router_words(path: Any) -> Nodes:
    """The words that a router can return, and the nodes of its Sends; None if its source does not tell: any node."""
    inner = unwrapped(path)
    # Of a chain, only the last part says where it goes, and that is seldom a function.
    functions = functions_of(inner) if "func" in getattr(inner, "__dict__", {}) else []
    return reduce(either, (_read(each, source.returned_words) for each in functions)) if functions else None


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a node or router can do, according to the source of what it runs."""

    jumps: Nodes
    """Where its Commands go in its own graph, none if it makes no such Command, and where a router leads."""
    sends: bool
    """Whether it could return a ``Send``; a graph, if one of its nodes could. What cannot be read could."""
    sent: frozenset[str]
    """The nodes that its source names in a ``Send``; there may be more."""
    shown: frozenset[str]
    """The nodes that its source names in a ``Send`` or a ``Command``; there may be more."""
    graphs: tuple[Pregel[Any, Any, Any, Any], ...]
    """The graphs that its function can call."""


_JUMPING = {"ParentCommand", *source.GRAPH_MAKERS}
"""What a node names that makes a graph while it runs, or leaves its own."""

NOTHING = Behaviour(NOWHERE, False, NOWHERE, NOWHERE, ())
"""What does nothing that a proof has to know."""


def behaviour_of(runnable: Any, within: tuple[int, ...] = ()) -> Behaviour:
    """Read what a node or router can do, not again what is `within` (ids): a graph may call itself."""
    inner = unwrapped(runnable)
    if isinstance(inner, CompiledStateGraph):
        nodes = () if id(inner) in within else inner.builder.nodes.values()
        sends = any(behaviour_of(spec.runnable, (*within, id(inner))).sends for spec in nodes)
        out = [function for spec in nodes for function in reach_of(spec.runnable).mentioning]
        helpers = [helper for each in out if (helper := _source(each, within=True))]
        read = (source.parent_words(helper, whole=False) or () for helper in helpers)
        return Behaviour(None if jumps_out(inner) else NOWHERE, sends, NOWHERE, NOWHERE.union(*read), ())
    reach = reach_of(runnable)
    graphs = tuple(reach.graphs.values())
    inside = [behaviour_of(graph, within) for graph in graphs]
    sends = reach.sends or not reach.complete or any(graph.sends for graph in inside)
    found = [_behaviour(function) for function in reach.mentioning]
    words = reduce(either, (each.jumps for each in found), NOWHERE)
    if words is None and (roots := functions_of(runnable)):
        # What a helper makes goes where its caller says, if everything that the node itself returns can be followed.
        words = reduce(either, (_read(function, source.command_words) for function in roots))
    # A graph that is made while the node runs jumps out as one that was there, and a ParentCommand can be raised.
    made = not _JUMPING.isdisjoint(reach.names) and _names_a_parent(reach)
    unread = not reach.complete or made or any(map(jumps_out, graphs))
    return Behaviour(
        jumps=None if unread else words,
        sends=sends or any(each.sends for each in found),
        sent=NOWHERE.union(*(each.sent for each in found)),
        shown=NOWHERE.union(*(each.shown for each in (*found, *inside))),
        graphs=graphs,
    )


def jumps_out(runnable: Any) -> bool:
    """Whether a node is a graph, one of whose nodes makes a ``Command`` with a goto in the graph around it."""
    inner = unwrapped(runnable)
    specs = inner.builder.nodes.values() if isinstance(inner, CompiledStateGraph) else ()
    return any(jumps_out(spec.runnable) or _names_a_parent(reach_of(spec.runnable)) for spec in specs)


def _names_a_parent(reach: Reach) -> bool:
    return not reach.complete or any(
        helper is None or any(map(source.goes_to_parent, _made(source.commands_in, helper, function)))
        for function in reach.mentioning
        for helper in (_source(function, within=True),)
    )


def _made(reading: Callable[[Helper], list[ast.Call]], helper: Helper, function: Any) -> list[ast.Call]:
    """What a function makes itself: what a library hands on comes from tools and nodes, which are read."""
    handed_on = source.copies(helper.node) if is_of_library(function) else []
    return [each for each in reading(helper) if each not in handed_on]


def _read(function: Any, reading: Callable[[Helper], Nodes]) -> Nodes:
    """Where the function of a node or router goes, if all that it returns can be followed."""
    helper = _source(function, entered=True)
    return reading(helper) if helper else None


def _behaviour(function: Any) -> Behaviour:
    """What a function does that mentions a ``Command`` or a ``Send``."""
    helper = _source(function, within=True)
    if helper is None:
        return replace(NOTHING, jumps=None)
    words = source.command_words(helper)
    hands_on = False
    if is_of_library(function):
        words = NOWHERE if words is None and not _made(source.jumps_in, helper, function) else words
    else:
        # Who hands on what it is given may hand on a Send too.
        hands_on = _hands_on(helper.node)
        makes = any(identifier(call.func) in ("Command", "Send") for call in syntax.calls_in(helper.node))
        if hands_on or not (makes or source.commands_in(helper)):
            words = None  # without a call of it, the class goes by another name here
    return Behaviour(words, hands_on, source.sent_words(helper), source.sent_words(helper, commands=True), ())


def _hands_on(function: Function) -> bool:
    """Whether a function looks at Commands or Sends that it did not make, as ``isinstance(item, Command)`` does."""
    annotations = [getattr(node, name, None) for node in every(function) for name in ("annotation", "returns")]
    kinds = {id(part) for root in annotations if root is not None for part in ast.walk(root)}
    made = {id(call.func) for call in syntax.calls_in(function)}
    made |= {id(node.value) for node in every(function) if isinstance(node, ast.Attribute)}  # Command.PARENT
    others = (node for node in every(function) if id(node) not in made and id(node) not in kinds)
    return any(identifier(node) in ("Command", "Send") for node in others)


# Functions and their source


@dataclass(frozen=True, slots=True)
class Source:
    """What a living function sees around it."""

    scopes: tuple[ast.AST, ...]
    """The functions around it from the inside out, and the module last."""
    code: CodeType
    """Its compiled code, which tells closure names from global ones."""
    cells: Mapping[str, Any]
    """Closure name -> its value."""
    names: Mapping[str, Any]
    """Global name -> its value."""
    given: Mapping[str, Any]
    """Parameter -> what it always gets: the object of a method, what a ``partial`` carries."""

    def value(self, expression: ast.expr) -> Any:
        """The value of a name or attribute around the function, if it never changes."""
        return _plain(self._object(expression))

    def _object(self, expression: ast.expr) -> Any:
        if isinstance(expression, ast.Attribute):
            called = identifier(expression.value)
            return _member(self._object(expression.value), expression.attr, "" if called in self.given else called)
        if not isinstance(expression, ast.Name):
            return UNKNOWN
        name = expression.id
        if name in self.given or name in self.code.co_freevars:
            scope = next((scope for scope in self.scopes[:-1] if name in syntax.bindings(scope)), None)
            fixed = name in self.given or (scope and syntax.bound_once(scope, name))
            value = self.given.get(name, self.cells.get(name, UNKNOWN)) if fixed else UNKNOWN
            return UNKNOWN if isinstance(value, list | dict) else value  # others have it, and may fill it
        value, module = self.names.get(name, UNKNOWN), str(self.names.get("__name__")).rpartition(".")[2]
        file, tree = self.code.co_filename, self.scopes[-1]
        if self.names.get("__file__") != file:  # of a module's file, nothing has to be looked for
            tree = _cells(file, len(linecache.cache)) or tree
        if not syntax.bound_once(tree, name):
            return UNKNOWN
        own = not file.startswith(LIBRARIES) and OWN in changes_in(tree)
        return UNKNOWN if own or may_differ(name, value, _changes, called=module) else value


@lru_cache(maxsize=8)
def _cells(file: str, _loaded: int) -> ast.Module | None:
    """What was run beside a piece of code that is no module's, as the cells of a notebook are, one after the other."""
    modules = {*map(file_of, [*sys.modules.values()])}
    if abspath(file) in modules:
        return None
    beside = [each for each in [*linecache.cache] if abspath(each) not in modules and dirname(each) == dirname(file)]
    trees = {each: _tree(_text_of(each)) for each in beside}
    # A cell with a function that was edited and run again stands for what it was before.
    makes = {each for each, tree in trees.items() if any(isinstance(node, syntax.FUNCTIONS) for node in tree.body)}
    latest = {frozenset(syntax.bindings(tree)) if each in makes else each: tree for each, tree in trees.items()}
    return ast.Module([node for tree in latest.values() for node in tree.body], [])


def _member(owner: Any, name: str, called: str) -> Any:
    """An attribute of a module, class, enumeration or object, if it never changes, without running a property."""
    if isinstance(owner, type) and issubclass(owner, Enum):
        return owner.__members__.get(name, UNKNOWN)
    if isinstance(owner, Enum):
        return cast("Any", owner).value if name == "value" else UNKNOWN
    value = UNKNOWN if owner is UNKNOWN else _held(owner, name)
    if isinstance(owner, ModuleType):
        module, file = owner.__name__.rpartition(".")[2], file_of(owner)
        own = not file.startswith(LIBRARIES) and OWN in _changes_of_file(_text_of(file))
        differs = own or may_differ(name, value, _changes, ["module"], module, module)
    else:
        kinds = [base.__name__ for base in (owner if isinstance(owner, type) else type(owner)).__mro__]
        differs = value is not UNKNOWN and may_differ(name, value, _changes, kinds, kinds[0], called)
    return UNKNOWN if differs else value


def _held(owner: Any, name: str) -> Any:
    if isinstance(owner, type):  # not of its metaclass, whose methods nobody looks at
        return next((vars(base)[name] for base in owner.__mro__ if name in vars(base)), UNKNOWN)
    value = inspect.getattr_static(owner, name, UNKNOWN)
    if isinstance(owner, ModuleType):
        return value
    if isinstance(value, FunctionType) and name not in getattr(owner, "__dict__", {}):
        return MethodType(value, owner)
    return UNKNOWN if hasattr(value, "__set__") else value


def _changes(name: str, mentioned: str) -> frozenset[str]:
    """What `changes_in` says of a name, of all files of the user's together that mention another."""
    newest = id(next(reversed(sys.modules.values())))
    return _asked(newest, len(sys.modules), len(linecache.cache))(name, mentioned)


@lru_cache(maxsize=1)
def _asked(*_loaded: int) -> Asked:
    """What to ask of the user's own files, cells of a notebook too; looked for anew when something was loaded."""
    files = {*map(file_of, [*sys.modules.values()]), *linecache.cache}
    texts = [_text_of(file) for file in files if file and not file.startswith(LIBRARIES)]

    @cache
    def changes(name: str, of: str) -> frozenset[str]:
        return changes_of(name, of, (_changes_of_file(text) for text in texts if of in text))

    # Held, so that no module that is loaded when this one is gone gets its `id`, and with it an old answer.
    vars(changes)["newest"] = next(reversed(sys.modules.values()))
    return changes


@lru_cache(maxsize=4096)
def _changes_of_file(text: str) -> Mapping[str, frozenset[str]]:
    # Kept by the text: the trees of all files of a large program together take gigabytes.
    return changes_in.__wrapped__(_tree.__wrapped__(text))


def _plain(value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, Send | Command):
        kind = Send if issubclass(value, Send) else Command
        made_alike = value.__init__ is kind.__init__ and value.__new__ is kind.__new__
        return source.Symbol(source.SEND if kind is Send else source.COMMAND) if made_alike else UNKNOWN
    if isinstance(value, Enum):
        return value.value if isinstance(value, str) else UNKNOWN
    if isinstance(value, FunctionType | MethodType) and not is_of_library(value) and (helper := _source(value)):
        return helper
    return value if isinstance(value, str | tuple | list | dict) else UNKNOWN


def _source(function: Any, *, within: bool = False, entered: bool = False) -> Helper | None:
    """The source of a function, a method or a ``partial``; None where it cannot be found for certain.

    Within decorators other arguments may be handed on; entered by LangGraph, its defaults are what it always gets.
    """
    given: dict[str, Any] = {}
    places: tuple[Any, ...] = ()
    while isinstance(function, partial):
        part = cast("partial[Any]", function)
        given, places, function = {**part.keywords, **given}, (*part.args, *places), part.func
    plain: Any = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None)
    if not hasattr(plain, "__code__"):
        owner, plain = plain, vars(type(plain)).get("__call__")
    if within and hasattr(plain, "__wrapped__"):
        plain, owner, given, places = inspect.unwrap(plain), None, {}, ()
    code = getattr(plain, "__code__", None)
    if not isinstance(code, CodeType) or hasattr(plain, "__wrapped__"):
        return None
    found = _candidates(_text_of(code.co_filename, plain.__globals__)).get((code.co_firstlineno, code.co_name), [])
    if code.co_name == "<lambda>" and len(found) > 1:  # that of the line whose body begins where the instructions do
        spans = [span for span in code.co_positions() if None not in span and span[2:] != (0, 0)]
        begin = min(((line, column) for line, _, column, _ in spans), default=None)
        bodies = [cast("ast.Lambda", node).body for node, _ in found]
        found = [of for of, body in zip(found, bodies, strict=True) if (body.lineno, body.col_offset) == begin]
    if len(found) != 1:
        return None
    node, scopes = found[0]
    cells = {name: cell for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=False)}
    filled = {name: cell.cell_contents for name, cell in cells.items() if is_filled(cell)}
    if owner is not None:
        places = (owner, *places)
    names = code.co_varnames[: code.co_argcount]
    given |= zip(names, places, strict=False)
    if entered:
        state = next((name for name in names if name not in given), "")
        last = zip(names[::-1], (plain.__defaults__ or ())[::-1], strict=False)
        told = (*last, *(plain.__kwdefaults__ or {}).items())
        given = {name: value for name, value in told if name not in (state, *source.FILLED)} | given
    return Helper(node, Source(scopes, code, filled, plain.__globals__, given).value, frozenset(given))


Found = list[tuple[Function, tuple[ast.AST, ...]]]


def _text_of(file: str, scope: dict[str, Any] | None = None) -> str:
    """The text of a file as Python knows it now."""
    return "".join(linecache.getlines(file, scope))


@lru_cache(maxsize=64)
def _candidates(text: str) -> dict[tuple[int, str], Found]:
    """(First line, name) -> the functions there and the scopes around each."""
    found: dict[tuple[int, str], Found] = {}
    tree = _tree(text)
    queue: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, (tree,))]
    while queue:
        node, scopes = queue.pop()
        if isinstance(node, syntax.FUNCTIONS):
            first = (*getattr(node, "decorator_list", ()), node)[0]
            found.setdefault((first.lineno, getattr(node, "name", "<lambda>")), []).append((node, scopes))
            scopes = (node, *scopes)
        queue += [(child, scopes) for child in syntax.parts_of(node) if syntax.parts_of(child)]
    return found


@lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    with suppress(SyntaxError, ValueError):
        return ast.parse(text)
    return ast.Module([], [])
