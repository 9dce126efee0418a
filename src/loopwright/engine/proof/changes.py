"""What the code of a file may change: attributes, lists and tables, whoever runs it and when.

A name that a goto is read from is fixed only if no file of the user's gives it another value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from loopwright.engine.proof.source import FUNCTIONS, LOOKING, every, filled, parameters, parts_of

ANY, OWN, BEGUN = "*", "globals()", "("
"""Of `changes_in`: any attribute; any name of the file itself; and what an object gets from its own ``__init__``."""
KEPT, FILLED, SHARED = "[", "+", "]"
"""Of a list or table: that it is made, filled on the spot, and maybe changed by anybody."""

CHANGING = frozenset({"add", "append", "extend", "update", "setdefault", "pop", "clear", "remove", "discard", "insert"})
"""Methods that change a container."""

Asked: TypeAlias = Callable[[str, str], frozenset[str]]
"""What `changes_in` says of a name, of all files together that mention another."""

_LOOKING_METHODS = frozenset({"get", "items", "keys", "values", "index", "count", "copy"})

_LEAVES = (ast.Constant, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
"""What has no part that matters here: half of a tree."""


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
    found: dict[str, set[str]] = {}
    looked_at, made, filling = set[int](), set[int](), set[int]()
    seen: list[tuple[ast.AST, dict[str, str] | None]] = []
    queue: list[tuple[ast.AST, str, dict[str, str] | None]] = [(tree, "", None)]
    while queue:
        node, kind, own = queue.pop()
        seen.append((node, own))
        looked_at.update(map(id, _looked_at(node)))
        filling.add(id(filled(node, CHANGING)))
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict | ast.List | ast.Tuple):
            made.update(map(id, node.targets if isinstance(node, ast.Assign) else [node.target]))
        if isinstance(node, ast.ClassDef):
            found.setdefault(node.name, set())
            kind = node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and kind:
            static = any(getattr(line, "id", "") == "staticmethod" for line in node.decorator_list)
            whose = BEGUN if node.name in ("__init__", "__post_init__") else kind
            kind, own = "", dict.fromkeys([] if static else parameters(node)[:1], whose)
        elif isinstance(node, FUNCTIONS):
            own = own or {}
        queue += ((inner, kind, own) for inner in parts_of(node) if not isinstance(inner, _LEAVES))
    for node, own in seen:
        if isinstance(node, ast.Name | ast.Attribute):
            marks = found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, set())
            fills = own is None and id(node) in filling
            marks.update([] if id(node) in looked_at else [KEPT if id(node) in made else FILLED if fills else SHARED])
        for name, base in _stores(node, looked_at, local=own is not None):
            called = getattr(base, "id", getattr(base, "attr", ""))
            for each in (name, ANY + called) if name == ANY else (name,):
                found.setdefault(each, set()).add((own or {}).get(getattr(base, "id", ""), ""))
        for name in node.names if isinstance(node, ast.Global) else ():  # to other files, an attribute of the module
            found.setdefault(name, set()).add("module")
    for marks in found.values():
        marks.update([SHARED] if FILLED in marks and KEPT not in marks else [])
    return {name: frozenset(marks) for name, marks in found.items()}


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
            name = getattr(called, "id", getattr(called, "attr", ""))
            if name in ("setattr", "__setattr__", "delattr", "__delattr__"):
                given = others[0] if others else base
                yield str(given.value) if isinstance(given, ast.Constant) else ANY, base
            elif name == "vars" and id(node) not in looked_at:
                yield ANY, base
        case ast.ImportFrom(names=names):
            yield from ((alias.name, node) for alias in names if alias.asname not in (None, alias.name))
        case _:
            pass


@lru_cache(maxsize=4096)
def stores(function: ast.AST, name: str) -> int:
    """How often a function's code gives an attribute a value, or one that cannot be told."""
    given = (each for node in every(function) for each, _ in _stores(node, set(), local=True))
    return sum(each in (name, ANY) for each in given)


def _looked_at(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression or statement of which nothing but what they hold is used."""
    match node:
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals")) as value, slice=ast.Constant()):
            return [value]
        case ast.Subscript(value=value, ctx=ast.Load()) | ast.Starred(value=value) | ast.FormattedValue(value=value):
            return [value]
        case ast.Attribute(value=value, attr=name) if name in _LOOKING_METHODS:
            return [value]
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.keyword(arg=None, value=value):
            return [value]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=called, args=args, keywords=keywords):
            looks = getattr(called, "id", getattr(called, "attr", "")) in LOOKING
            return [*args, *(keyword.value for keyword in keywords)] if looks else []
        case _:
            return []
