"""What the code of a file may change: attributes, lists and tables, whoever runs it and when.

A name that a goto is read from is fixed only if no file of the user's gives it another value.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from loopwright.engine.proof.syntax import FUNCTIONS, LOOKING, every, filled, identifier, parameters, parts_of

ANY, OWN, BEGUN = "*", "globals()", "("
"""Of `changes_in`: any attribute; any name of the file itself; and what an object gets from its own ``__init__``."""
KEPT, FILLED, SHARED = "[", "+", "]"
"""Of a list or table: that it is made, filled on the spot, and maybe changed by anybody."""

CHANGING = frozenset({"add", "append", "extend", "update", "setdefault", "pop", "clear", "remove", "discard", "insert"})
"""Methods that change a container."""

Asked: TypeAlias = Callable[[str, str], frozenset[str]]
"""What `changes_in` says of a name, of all files together that mention another."""

LOOKING_METHODS = {"copy", "count", "difference", "fromkeys", "get", "index", "items", "keys", "union", "values"}


@lru_cache(maxsize=4096)
def changes_in(tree: ast.AST) -> Mapping[str, frozenset[str]]:
    """What a file may change, whoever runs its code and when.

    Returns:
        Name -> for an attribute, the classes whose methods give it to their own object after that was made, ``module``
        where it is a function's ``global``, `BEGUN` where ``__init__`` does, and an empty text where it can be any
        object's; for a list or table, `KEPT` where it is made, and `SHARED` where more is done with it than looking at
        it, or than filling it in the file that makes it, outside of any function. `ANY` stands for attributes whose
        names cannot be told, and beside it those of what goes by a name, ``*name``; `OWN` for names of the file
        itself. Every name that the file uses is there.
    """
    seen = _in_classes(tree)
    nodes = [node for node, _ in seen if not isinstance(node, ast.Name)]
    looked_at = {id(part) for node in nodes for part in looked_at_in(node)}
    made = {id(target) for node in nodes for target in _made(node)}
    filling = {id(filled(node, CHANGING)) for node in nodes}
    found = defaultdict[str, set[str]](set, {node.name: set() for node in nodes if isinstance(node, ast.ClassDef)})
    for name in (name for node in nodes if isinstance(node, ast.Global) for name in node.names):
        found[name].add("module")  # to other files, it is an attribute of that
    for node, own in seen:
        if name := identifier(node):
            fills = own is None and id(node) in filling
            mark = KEPT if id(node) in made else FILLED if fills else SHARED
            found[name].update(() if id(node) in looked_at else (mark,))
        for name, base in _stores(node, looked_at, local=own is not None) if not isinstance(node, ast.Name) else ():
            for each in (name, ANY + identifier(base)) if name == ANY else (name,):
                found[each].add((own or {}).get(getattr(base, "id", ""), ""))
    for marks in found.values():
        marks.update([SHARED] if FILLED in marks and KEPT not in marks else [])
    return {name: frozenset(marks) for name, marks in found.items()}


@lru_cache(maxsize=4096)
def changers_in(tree: ast.AST) -> Mapping[str, frozenset[tuple[ast.AST, str]]]:
    """The functions of a file that may change an attribute, each with the class whose own object's it is, as there.

    Name -> those that give it a value; `SHARED` and name -> those that may change the list or table that it has.
    """
    found = defaultdict[str, set[tuple[ast.AST, str]]](set)
    for function, own in (pair for pair in _in_classes(tree) if isinstance(pair[0], FUNCTIONS)):
        nodes = [node for node in every(function) if not isinstance(node, ast.Name | ast.Constant)]
        looked_at = {id(part) for node in nodes for part in looked_at_in(node)}
        shared = (node for node in nodes if isinstance(node, ast.Attribute) and id(node) not in looked_at)
        stored = (pair for node in nodes for pair in _stores(node, looked_at, local=True))
        for name, base in (*stored, *((SHARED + node.attr, node.value) for node in shared)):
            found[name].add((function, (own or {}).get(getattr(base, "id", ""), "")))
    return {name: frozenset(functions) for name, functions in found.items()}


def _in_classes(tree: ast.AST) -> list[tuple[ast.AST, Mapping[str, str] | None]]:
    """All parts of a file but its constants, each with what the function around it, or it itself, calls its own object.

    Name -> its class; `BEGUN` where the object is being made; None outside of functions.
    """
    found: list[tuple[ast.AST, Mapping[str, str] | None]] = []
    queue: list[tuple[ast.AST, str, Mapping[str, str] | None]] = [(tree, "", None)]
    while queue:
        node, kind, own = queue.pop()
        if isinstance(node, ast.ClassDef):
            kind = node.name
        elif isinstance(node, FUNCTIONS):
            own = own or {}
            if kind and not isinstance(node, ast.Lambda):
                static = any(getattr(line, "id", "") == "staticmethod" for line in node.decorator_list)
                whose = BEGUN if node.name in ("__init__", "__post_init__") else kind
                kind, own = "", dict.fromkeys([] if static else parameters(node)[:1], whose)
        found.append((node, own))
        queue += [(inner, kind, own) for inner in parts_of(node) if not isinstance(inner, ast.Constant)]
    return found


def changes_of(name: str, mentioned: str, known: Iterable[Mapping[str, frozenset[str]]]) -> frozenset[str]:
    """What `changes_in` says of a name, of all files together that mention it, or something else."""
    return frozenset[str]().union(*(changes.get(name, ()) for changes in known if mentioned in changes))


def may_differ(
    name: str, value: Any, says: Asked, kinds: Iterable[str] = (), of: str = "", called: str = "", *, read: bool = False
) -> bool:
    """Whether an attribute, or a name of a module, may have another value than it has now, or other items.

    `kinds` are the classes of its owner, whose methods may change it. An attribute whose name cannot be told counts in
    files that mention the class `of`, and where it is an attribute of what is `called` so. A list or table of a living
    program is one that a file makes under that name, or else nobody knows whose it is; one that was `read` is known.
    """
    where = ((name, name), (ANY, of), (ANY + called, called))
    changes = set[str]().union(*(says(*each) for each in where if each[1]))
    filled = isinstance(value, list | dict) and (SHARED in changes or not (read or KEPT in changes))
    return filled or not changes.isdisjoint({"", *kinds})


def _stores(node: ast.AST, looked_at: set[int], *, local: bool) -> Iterator[tuple[str, ast.AST]]:
    """The attributes to which a piece of the syntax gives a value, each with the object whose it is."""
    match node:
        case ast.Attribute(value=base, attr=name, ctx=ast.Store() | ast.Del()):
            yield name, base
        case ast.Attribute(value=base, attr="__dict__") if id(node) not in looked_at:
            yield ANY, base
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals")), slice=ast.Constant(value=str(name))):
            yield from [(name, node)] if not isinstance(node.ctx, ast.Load) or id(node) not in looked_at else []
        case ast.Call(func=ast.Name(id="globals" | "vars" as names), args=[]) if id(node) not in looked_at:
            yield from [] if local and names == "vars" else [(OWN, node)]
        case ast.Call(func=called, args=[base, *others]):
            name = identifier(called)
            if name in ("setattr", "__setattr__", "delattr", "__delattr__"):
                given = others[0] if others else base
                yield str(given.value) if isinstance(given, ast.Constant) else ANY, base
            elif name == "vars" and id(node) not in looked_at:
                yield ANY, base
        case ast.ImportFrom(names=names):
            yield from ((alias.name, node) for alias in names if alias.asname not in (None, alias.name))
        case _:
            pass


def _made(node: ast.AST) -> list[ast.expr]:
    """What a piece of the syntax gives a new list or table to."""
    new = isinstance(getattr(node, "value", None), ast.Dict | ast.List | ast.Tuple)
    targets: list[Any] = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return targets if new and len(targets) == 1 else []


@lru_cache(maxsize=4096)
def stores(function: ast.AST, name: str) -> int:
    """How often a function's code gives an attribute a value, or one that cannot be told."""
    given = (each for node in every(function) for each, _ in _stores(node, set(), local=True))
    return sum(each in (name, ANY) for each in given)


@lru_cache(maxsize=4096)
def shared_in(function: ast.AST) -> frozenset[str]:
    """The names whose list or table a function may change: itself, or by another function that it hands it to."""
    left = {id(part) for node in every(function) for part in looked_at_in(node)}
    for node in every(function):
        match node:
            case ast.Call(func=ast.Attribute(), args=args, keywords=keywords):
                left |= {*map(id, args), *(id(word.value) for word in keywords)}
            case ast.Return(value=value):
                left.add(id(value))
            case ast.Attribute(value=value, attr=name) if name not in CHANGING:
                left.add(id(value))
            case _:
                pass
    return frozenset(node.id for node in every(function) if isinstance(node, ast.Name) and id(node) not in left)


def looked_at_in(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression or statement of which nothing but what they hold is used."""
    match node:
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals")) as value, slice=ast.Constant()):
            return [value]
        case ast.Subscript(value=value, ctx=ast.Load()) | ast.Starred(value=value) | ast.FormattedValue(value=value):
            return [value]
        case ast.Attribute(value=value, attr=name) if name in LOOKING_METHODS:
            return [value]
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.keyword(arg=None, value=value):
            return [value]
        case ast.If(test=value) | ast.IfExp(test=value) | ast.While(test=value) | ast.UnaryOp(operand=value):
            return [value]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=called, args=args, keywords=keywords):
            return [*args, *(keyword.value for keyword in keywords)] if identifier(called) in LOOKING else []
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
            # What is made anew there belongs to nobody else; a method of that name may hand on what it keeps.
            new = getattr(getattr(value, "func", None), "id", "") in ("list", "dict", "tuple", "sorted")
            return [target] if new or isinstance(value, ast.ListComp | ast.DictComp | ast.BinOp) else []
        case _:
            return []
