"""Functions and names in the syntax of Python: their parts, what binds a name, and what values it is given.

Nothing here runs code.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, TypeAlias, cast

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""The syntax of a function."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*FUNCTIONS, ast.ClassDef)

MANY = 2
"""What a binding counts that may happen more than once, or whose value nobody can tell."""

_ADDING = frozenset({"append", "extend", "insert"})
_SHARING = (ast.Name, ast.Subscript, ast.Starred, ast.IfExp, ast.BoolOp, ast.List, ast.Tuple)
FILLING = frozenset({*_ADDING, "add", "update", "setdefault", "__setitem__", "__iadd__", "__ior__"})
"""Methods that add to a container, or change its items."""

LOOKING = frozenset({
    "len", "print", "bool", "str", "repr", "isinstance", "any", "all", "list", "tuple", "set", "sorted", "reversed",
    "dict", "min", "max", "sum", "enumerate", "zip", "add_conditional_edges", "Command", "Send",
})  # fmt: skip
"""What leaves a list or table that it is handed as it is."""


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
    """What ``ast.iter_child_nodes`` gives, in a third of the time and without operators; each node keeps it."""
    if not (fields := _fields_of(type(node))):  # a name or a constant, as half of all nodes are
        return ()
    found: list[ast.AST] | None = node.__dict__.get("_parts")
    if found is None:
        found = node.__dict__["_parts"] = []
        for name in fields:
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


@lru_cache(maxsize=4096)
def calls_in(tree: ast.AST) -> list[ast.Call]:
    """Every call in a piece of the syntax."""
    return [node for node in every(tree) if isinstance(node, ast.Call)]


def keywords_of(call: ast.Call) -> dict[str | None, ast.expr]:
    """The named arguments of a call; what ``**`` brings stands under None."""
    return {keyword.arg: keyword.value for keyword in call.keywords}


# Functions


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [argument.arg for argument in every if argument]


def positional(function: Function) -> list[str]:
    """The parameters that arguments without names are for."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


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


# Names


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


# Values


@lru_cache(maxsize=4096)
def values_given(function: Function, name: str) -> list[ast.expr] | None:
    """The values that a function gives to a name of its own, and what it adds to them; None if others may, too."""
    if name in reassigned_inside(function) or name in parameters(function) or name not in bindings(function):
        return None
    if defines(function, name):
        return None
    nodes, (changed, given, times) = own_nodes(function), _gives(function)
    found = [value for target, value in given if name in stored(target)]
    added = [
        ast.Starred(node.args[-1]) if node.func.attr == "extend" else node.args[-1]
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING
        if node.args and getattr(node.func.value, "id", "") == name
    ]
    # What gets it, or a part of it, and is changed itself.
    having = [value for target, value in given if isinstance(value, _SHARING) and changed.keys() & {*stored(target)}]
    shared = any(getattr(each, "id", "") == name for value in having for each in ast.walk(value))
    if shared or changed[name] != len(added) or len(found) != times[name]:
        return None
    lists = bool(added) or any(is_list(value) or isinstance(value, ast.Dict) for value in filter(None, found))
    others = not found or any(_changes(node, name, lists) for node in nodes)
    return None if others else [*filter(None, found), *added]


@lru_cache(maxsize=4096)
def _gives(function: Function) -> tuple[Counter[str], Sequence[tuple[ast.expr, ast.expr | None]], Counter[str]]:
    """How often a function fills each variable, what it gives to what, and how often each gets something."""
    nodes = own_nodes(function)
    changed = Counter(getattr(filled(node, FILLING), "id", "") for node in nodes)
    times = Counter(name for node in nodes for name in stored(node))
    return changed, [pair for node in nodes for pair in _given_in(node)], times


def defines(function: Function, name: str) -> bool:
    """Whether an import, a function or a class inside a function gives it a name."""
    return any(name in (getattr(node, "asname", None), getattr(node, "name", None)) for node in own_nodes(function))


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
        case ast.AugAssign(target=target, op=ast.Add(), value=value) if is_list(value):
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


def stored_in(statement: ast.stmt | ast.withitem) -> Iterator[str]:
    """The names that the head of a statement, or an item of a ``with``, gives a value to."""
    for node in ast.iter_child_nodes(statement):
        part = node.pattern if isinstance(node, ast.match_case) else node
        for inner in ast.walk(part) if isinstance(part, ast.expr | ast.pattern) else ():
            yield from stored(inner)


def is_list(node: ast.expr | None) -> bool:
    """Whether an expression makes a list."""
    return isinstance(node, ast.List | ast.ListComp)
