"""Who may jump out of a graph, told by names alone: never less than do, and more where two things share a name.

A graph that a node calls may make a ``Command`` for the graph around it, however the node comes by it: a table, a
helper, an attribute of its object.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple, Self

from loopwright.engine.proof import source, syntax
from loopwright.engine.proof.source import NOWHERE, Nodes, either
from loopwright.engine.proof.syntax import FUNCTIONS, every, identifier

_BUILDING = {"add_node", "add_sequence", *source.GRAPH_MAKERS}


class Jumps(NamedTuple):
    """Where Commands for the graph around go."""

    own: Nodes = NOWHERE
    """Those that something makes itself, or by a helper."""
    inside: Nodes = NOWHERE
    """Those of graphs that it may call: where they go is a way in its own graph."""

    def also(self, other: Self) -> Self:
        """Where the Commands of either go."""
        return self._replace(own=either(self.own, other.own), inside=either(self.inside, other.inside))


class Reach:
    """Which names lead to a ``Command`` for the graph around, in all files' trees; `given` is `given_in`, kept."""

    def __init__(self, trees: Sequence[ast.AST], given: Callable[[ast.AST], Mapping[str, list[ast.AST]]]) -> None:
        self._by_name: dict[str, Jumps] = defaultdict(Jumps)
        if not (jumping := [*filter(jumping_out, trees)]):
            return
        named: dict[ast.AST, list[str]] = defaultdict(list)
        users: dict[str, list[ast.AST]] = defaultdict(list)
        for tree in trees:
            for name, values in given(tree).items():
                for value in values:
                    named[value].append(name)
        for value in named:
            for name in _names_in(value):
                users[name].append(value)
        waiting = [value for tree in jumping for held in given(tree).values() for value in held if jumping_out(value)]
        while waiting:  # from what makes such Commands to what mentions it, until no name leads to more
            value = waiting.pop()
            found = self.of(value)
            for name in named[value]:
                if (more := self._by_name[name].also(found)) != self._by_name[name]:
                    self._by_name[name] = more
                    waiting += users[name]

    def of(self, node: ast.AST, own: bool = True) -> Jumps:
        """Where the Commands go that a piece of the syntax leads to, its own among them if asked for."""
        words: Nodes = NOWHERE  # the constants in its own Commands
        for command in jumping_out(node) if own else ():
            goto = next((word.value for word in command.keywords if word.arg in ("goto", None)), ast.Tuple([]))
            parts = goto.elts if isinstance(goto, ast.Tuple | ast.List) else [goto]
            names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            words = either(words, frozenset(names) if len(names) == len(parts) else None)
        found = Jumps(words, words if "ParentCommand" in _names_in(node) else NOWHERE)  # raised, it may be for itself
        found = reduce(Jumps.also, (self._by_name[name] for name in _names_in(node) & self._by_name.keys()), found)
        return found if _BUILDING.isdisjoint(_names_in(node)) else Jumps(NOWHERE, either(found.own, found.inside))


@lru_cache(maxsize=4096)
def jumping_out(node: ast.AST) -> list[ast.Call]:
    """The Commands for the graph around in a piece of the syntax."""
    calls = syntax.calls_in(node)
    return [call for call in calls if identifier(call.func) == "Command" and source.goes_to_parent(call)]


@lru_cache(maxsize=16384)
def _names_in(node: ast.AST) -> frozenset[str]:
    """The names and attributes in a piece of the syntax, without a function's own variables; ``f()`` of a function."""
    inner = [*ast.walk(node)]
    named = {part.id for part in inner if isinstance(part, ast.Name)}
    if isinstance(node, FUNCTIONS):
        imported = {alias.name for part in inner if isinstance(part, ast.ImportFrom) for alias in part.names}
        named = named - syntax.bindings(node).keys() | imported | {f"{getattr(node, 'name', '')}()"}
    return frozenset(named | {part.attr for part in inner if isinstance(part, ast.Attribute)})


def given_in(tree: ast.AST) -> Mapping[str, list[ast.AST]]:
    """Name -> what a file gives it or puts into it; ``f()`` -> what calls of it are given."""
    found: dict[str, list[ast.AST]] = defaultdict(list)
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]
    calls, modules = defaultdict[str, list[ast.AST]](list), set[str]()
    while waiting:
        node, shared = waiting.pop()
        for target, value in _targets(node):
            if shared or not isinstance(target, ast.Name):
                (calls if value is node else found)[identifier(target)].append(value)
        match node:
            case ast.Call(func=called, args=args, keywords=keywords):
                found[f"{identifier(called)}()"] += [*args, *(keyword.value for keyword in keywords)]
            case ast.Import(names=names):
                modules |= {alias.asname or alias.name for alias in names if alias.name in sys.stdlib_module_names}
            case ast.ImportFrom(names=names):
                for alias in names:
                    found[alias.asname or alias.name].append(ast.Name(alias.name))
            case ast.ClassDef(name=name, body=body):
                found[name].append(node)
                for inner in body:  # what its object was made with, its methods may use
                    found[getattr(inner, "name", "")].append(ast.Name(f"{name}()"))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name].append(node)
                # The variables of a function are seen by the functions inside it alone.
                shared = any(isinstance(inner, FUNCTIONS) for inner in every(node) if inner is not node)
            case _:
                pass
        waiting += ((inner, shared) for inner in syntax.parts_of(node))
    for name, handed in calls.items():  # a module of Python's own keeps nothing of it, nor does a logger
        makers = {identifier(getattr(value, "func", value)) for value in found.get(name, ())}
        found[name] += () if (makers or name in modules) and makers <= {"getLogger"} else handed
    return found


_GIVING = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem
)  # fmt: skip


def _targets(node: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The names and attributes that a piece of the syntax gives something, and what."""
    fields = vars(node) if isinstance(node, _GIVING) else {}
    value = fields.get("value") or fields.get("iter") or fields.get("context_expr")
    waiting: list[Any] = [*fields.get("targets", ()), fields.get("target"), fields.get("optional_vars")]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # it may keep what it is given
        waiting, value = [node.func.value], node
    while waiting and value is not None:
        target = waiting.pop()
        if isinstance(target, ast.Name | ast.Attribute):
            yield target, value
        elif isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Starred | ast.Subscript):
            waiting.append(target.value)
