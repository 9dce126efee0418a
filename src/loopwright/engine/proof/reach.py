"""The functions that a node or router can run, as far as they can be seen without running anything.

Followed are chains of runnables, the tools of a ``ToolNode``, decorators, closures, methods of the object that a method
belongs to, and functions of the user's own files by the names that the code mentions. Libraries are not followed.
"""

from __future__ import annotations

import inspect
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel
from langgraph.types import Command, Send

MOST_FUNCTIONS = 2_000
"""What runs more functions than these is not followed to its end, and could do anything."""

PARTS = ("func", "afunc", "coroutine", "bound", "runnable", "default", "steps", "steps__", "branches", "fallbacks")
"""Where runnables and tools keep what they run."""

_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    str(Path(__file__).parents[2]),  # ours too where it is not installed but lies in a checkout
)


def is_filled(cell: Any) -> bool:
    """Whether a closure's cell holds anything."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def unwrapped(runnable: Any) -> Any:
    """What a node was before a ``with_config`` wrapped it."""
    while not hasattr(runnable, "func") and hasattr(runnable, "bound"):
        runnable = runnable.bound
    return runnable


def functions_of(runnable: Any) -> list[Any]:
    """The functions that a node or router runs itself, those of a chain and of a node of tools too, each once."""
    found: dict[int, Any] = {}
    for function in _functions(runnable, {}):
        found.setdefault(id(getattr(function, "__func__", function)), function)
    return [*found.values()]


def _functions(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    if value is None or id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that nothing else gets its id
    if isinstance(value, partial) and hasattr(value, "__wrapped__"):
        # Of a sync function, LangGraph makes the async one itself.
        yield from _functions(cast("Any", value).__wrapped__, seen)
    elif isinstance(value, FunctionType | MethodType | partial):
        yield value
    elif isinstance(value, list | tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _functions(item, seen)
    elif isinstance(value, Mapping):
        yield from _functions([*cast("Mapping[Any, Any]", value).values()], seen)
    elif isinstance(value, Pregel):
        return
    elif isinstance(tools := getattr(value, "tools_by_name", None), dict):
        # What such a node returns is what its tools returned, and what the wrappers of their calls made of it.
        wrappers = [vars(value).get(name) for name in ("_wrap_tool_call", "_awrap_tool_call")]
        yield from _functions([*cast("dict[str, Any]", tools).values(), *wrappers], seen)
    elif isinstance(value, Runnable):
        inner = [part for name in PARTS if (part := getattr(value, name, None)) is not None]
        methods = ("_run", "_arun") if isinstance(value, BaseTool) else ("invoke", "ainvoke")
        if not type(value).__module__.startswith(("langchain", "langgraph", "loopwright.")):
            inner += [MethodType(method, value) for name in methods if (method := _method(type(value), name))]
        yield from _functions(inner, seen)
    elif callable(value) and not isinstance(value, type) and (method := _method(type(value), "__call__")):
        yield MethodType(method, value)


def _method(owner: type, name: str) -> FunctionType | None:
    found = inspect.getattr_static(owner, name, None)
    found = getattr(found, "__func__", found)  # class methods and static ones
    return found if isinstance(found, FunctionType) else None


@lru_cache(maxsize=4096)
def methods_of(kind: type) -> dict[str, FunctionType]:
    """The methods of a class by name; none of Python's own types, of which code has thousands at hand."""
    if kind.__module__ == "builtins":
        return {}
    names = {name for base in kind.__mro__ if base is not object for name in vars(base)}
    return {name: method for name in names if (method := _method(kind, name))}


@dataclass
class Reach:
    """What a node or router can run."""

    functions: dict[tuple[int, ...], Any] = field(default_factory=dict[tuple[int, ...], Any])
    """The functions, by the ids of the plain one, of its object and of the ``partial`` around it."""
    mentioning: list[Any] = field(default_factory=list[Any])
    """Those whose code, or a function inside it, mentions a ``Command`` or a ``Send``."""
    sends: bool = False
    """Whether one of them mentions a ``Send``."""
    graphs: dict[int, Pregel[Any, Any, Any, Any]] = field(default_factory=dict[int, Any])
    """The graphs that they can call, by id."""
    complete: bool = True
    """Whether they could all be followed."""


def reach_of(runnable: Any) -> Reach:
    """Follow what a node or router runs."""
    reach = Reach()
    queue = functions_of(runnable)
    if not queue and not isinstance(unwrapped(runnable), Pregel) and not isinstance(runnable, Runnable):
        reach.complete = False
    while queue:
        whole = function = queue.pop()
        while isinstance(function, partial):
            queue += [*_values_of([*function.args, *function.keywords.values()])]
            function = cast("partial[Any]", function).func
        plain = getattr(function, "__func__", function)
        # Another object's method, and what another `partial` carries, goes elsewhere.
        key = (id(plain), id(getattr(function, "__self__", None)), id(whole) if isinstance(whole, partial) else 0)
        if key in reach.functions:
            continue
        if len(reach.functions) >= MOST_FUNCTIONS:
            reach.complete = False
            break
        reach.functions[key] = whole
        if isinstance(plain, FunctionType):
            queue += _follow(whole, function, plain, reach)
    return reach


def _follow(whole: Any, function: Any, plain: FunctionType, reach: Reach) -> list[Any]:
    names = _names_in(plain.__code__)
    cells = [cell.cell_contents for cell in plain.__closure__ or () if is_filled(cell)]
    owner = getattr(function, "__self__", None)
    around = [plain.__globals__[name] for name in names if name in plain.__globals__]
    defaults = [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
    wrapped = getattr(plain, "__wrapped__", None)
    kept = [vars(owner)[name] for name in names if name in getattr(owner, "__dict__", {})]
    values = [*_values_of([*cells, *around, *defaults, *kept, wrapped])]
    kinds = [value if isinstance(value, type) else type(value) for value in values]
    sends = "Send" in names or any(issubclass(kind, Send) for kind in kinds)
    reach.sends = reach.sends or sends
    if sends or "Command" in names or any(issubclass(kind, Command) for kind in kinds):
        reach.mentioning.append(whole)
    queue: list[Any] = []
    for value in [*values, owner]:
        if isinstance(value, Pregel):
            reach.graphs[id(value)] = cast("Pregel[Any, Any, Any, Any]", value)
        elif isinstance(value, FunctionType | MethodType | partial):
            if value in cells or value is wrapped or _is_ours(value, plain):
                queue.append(value)
        elif isinstance(value, ModuleType):
            inside = (vars(value).get(name) for name in names)
            queue += [item for item in inside if isinstance(item, FunctionType) and _is_ours(item, plain)]
            reach.graphs |= {id(item): item for item in map(vars(value).get, names) if isinstance(item, Pregel)}
        elif isinstance(value, BaseTool):
            queue += functions_of(value)
        elif value is not None:
            methods = methods_of(value if isinstance(value, type) else type(value))
            queue += [
                methods[name] if isinstance(value, type) else MethodType(methods[name], value)
                for name in names & methods.keys()
                if _is_ours(methods[name], plain)
            ]
    return queue


def _values_of(values: list[Any]) -> Iterator[Any]:
    """The values, and those that they hold as lists, tuples and dicts."""
    for value in values:
        yield value
        if isinstance(value, Mapping):
            yield from cast("Mapping[Any, Any]", value).values()
        elif isinstance(value, list | tuple | set | frozenset):
            yield from cast("tuple[Any, ...]", value)


def _is_ours(function: Any, caller: FunctionType) -> bool:
    """Whether a function is of the user's own files, or of the same package as who mentions it."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return False
    if (plain.__module__ or "").partition(".")[0] == (caller.__module__ or "").partition(".")[0]:
        return True
    return not is_of_library(plain)


def is_of_library(function: Any) -> bool:
    """Whether a function stands in an installed package, and not in the user's own files."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    plain = inspect.unwrap(getattr(function, "__func__", function))
    return getattr(getattr(plain, "__code__", None), "co_filename", "").startswith(_LIBRARIES)


@lru_cache(maxsize=16384)
def _names_in(code: CodeType) -> frozenset[str]:
    inside = [_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    # A method that `getattr` finds is named by a text; and what takes a goto is a Command, whatever it is called here.
    texts = [constant for constant in code.co_consts if isinstance(constant, str) and "getattr" in code.co_names]
    jumps = ["Command" for constant in code.co_consts if isinstance(constant, tuple) and "goto" in constant]
    return frozenset(code.co_names).union(*inside, texts, jumps)
