"""The functions that a node or router can run, as far as they can be seen without running anything.

Followed are chains of runnables, the tools of a ``ToolNode``, decorators, closures, methods of the object that a method
belongs to, and functions of the user's own files by the names that the code mentions. Libraries are not followed.
"""

import dis
import inspect
import sys
import sysconfig
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial, partialmethod
from importlib.util import find_spec, resolve_name
from itertools import pairwise
from pathlib import Path
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType, NoneType
from typing import Any, cast

from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel
from langgraph.types import Command, Send
from pydantic import BaseModel

MOST_FUNCTIONS, MOST_OBJECTS = 2_000, 100_000
"""What runs more functions or holds more objects than these is not followed to its end, and could do anything."""

PARTS = (
    "func", "afunc", "coroutine", "bound", "runnable", "runnables", "mapper", "default", "steps", "steps__", "branches",
    "fallbacks",
)  # fmt: skip
"""Where runnables and tools keep what they run."""

_PLAIN = (str, int, float, bool, bytes, NoneType)
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})

LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    *(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")),  # the user's, the system's
    str(Path(__file__).parents[2]),  # ours too where it is not installed but lies in a checkout
)


def is_filled(cell: Any) -> bool:
    """Whether a closure's cell holds anything."""
    with suppress(ValueError):
        return cell.cell_contents is not None
    return False


def held(value: Any, name: str) -> Any:
    """What a runnable keeps under a name; LangChain's wrappers answer for what they wrap, or fail over its hints."""
    own = name in getattr(value, "__dict__", {}) or hasattr(type(value), name)
    return getattr(value, name, None) if own else None


def unwrapped(runnable: Any) -> Any:
    """What a node was before a ``with_config`` wrapped it."""
    while held(runnable, "func") is None and held(runnable, "bound") is not None:
        runnable = runnable.bound
    return runnable


def functions_of(runnable: Any) -> list[Any]:
    """The functions that a node or router runs itself, those of a chain and of a node of tools too, each once."""
    return _run_by(runnable)[0]


def _run_by(runnable: Any) -> tuple[list[Any], dict[int, Pregel[Any, Any, Any, Any]]]:
    """The functions that a node or router runs itself, each once, and the graphs, as parts of a chain say, by id."""
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}
    for function in _functions(runnable, seen):
        found.setdefault(id(getattr(function, "__func__", function)), function)
    runs = [*seen.values(), *(getattr(function, "__self__", None) for function in found.values())]
    return [*found.values()], {
        id(value): value for value in runs if isinstance(value, Pregel) and value is not runnable
    }


def _functions(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    if value is None or id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that nothing else gets its id
    if isinstance(value, partial) and hasattr(value, "__wrapped__"):
        # Of a sync function, LangGraph makes the async one itself.
        yield from _functions(cast("Any", value).__wrapped__, seen)
    elif isinstance(value, FunctionType | MethodType | partial):
        yield value
    elif isinstance(value, list | tuple | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _functions(item, seen)
    elif isinstance(value, Pregel):
        return
    elif isinstance(tools := held(value, "tools_by_name"), dict):
        # What such a node returns is what its tools returned, and what the wrappers of their calls made of it.
        wrappers = [vars(value).get(name) for name in ("_wrap_tool_call", "_awrap_tool_call")]
        yield from _functions([*cast("dict[str, Any]", tools).values(), *wrappers], seen)
    elif isinstance(value, Runnable):
        inner = [part for name in PARTS if (part := held(value, name)) is not None]
        yield from _functions(inner, seen)
        yield from (_attribute(value, name) for name in _run_names(type(value)))
    elif callable(value) and not isinstance(value, type):
        method = _attribute(value, "__call__")
        yield from [method] if isinstance(method, MethodType) else []


@lru_cache(maxsize=4096)
def _run_names(kind: type) -> tuple[str, ...]:
    """The methods of a runnable that can be a part of what it does; a package's own are known."""
    packages = ("langchain", "langgraph", "loopwright.")
    called = ("_run", "_arun") if issubclass(kind, BaseTool) else ("invoke", "ainvoke")
    methods = {name: _attribute(kind, name) for name in _class_names(kind) - _MAKING}
    # Which of the user's own methods a package calls, whose class theirs is made of, only the package knows.
    return tuple(
        name
        for name, method in methods.items()
        if isinstance(method, FunctionType)
        and not (kind.__module__.startswith(packages) or method.__module__.startswith(packages))
        and (name in called or not is_of_library(method))
    )


@lru_cache(maxsize=4096)
def _class_names(kind: type, *, mine: bool = False) -> frozenset[str]:
    """What a class has, of the user's own classes alone if asked, and what Python calls of it itself."""
    bases = [base for base in kind.__mro__ if not (_in_library(base.__module__) if mine else base is object)]
    found = (item for base in bases if base.__module__ != "builtins" for item in vars(base).items())
    return frozenset(name for name, value in found if not name.startswith("__") or isinstance(value, FunctionType))


def _own(value: Any) -> dict[str, Any]:
    """What an object or module keeps itself, the private attributes of a pydantic model too."""
    private = value.__pydantic_private__ if isinstance(value, BaseModel) else None
    return {**getattr(value, "__dict__", {}), **private} if private else getattr(value, "__dict__", {})


def _names_of(value: Any) -> set[str]:
    """Under which names a module, class or object has something; those that Python itself calls are among them."""
    own = {name for name in _own(value) if not name.startswith("__")}
    if isinstance(value, ModuleType):
        return own
    kind = value if isinstance(value, type) else type(value)
    return own | _class_names(kind, mine=True).difference(() if kind is value else _MAKING)


def _attribute(owner: Any, name: str) -> Any:
    """What a value has under a name; of a property, the function behind it. Nothing of the user's is run."""
    if not isinstance(owner, type) and name in (own := _own(owner)):
        return own[name]
    kind = owner if isinstance(owner, type) else type(owner)
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(found, MemberDescriptorType) and owner is not kind:
        return getattr(owner, name, None)
    if isinstance(found, property | cached_property | partialmethod | staticmethod | classmethod):
        found = next(getattr(found, part) for part in ("fget", "func", "__func__") if hasattr(found, part))
    return MethodType(found, owner) if isinstance(found, FunctionType) and owner is not kind else found


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
    names: set[str] = field(default_factory=set[str])
    """The names that functions of the user's own files mention."""
    objects: dict[int, Any] = field(default_factory=dict[int, Any])
    """What any function gets hold of and is no function, by id."""
    met: set[int] = field(default_factory=set[int])
    """Those of them that may be called, and not only asked for what they hold."""
    waiting: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """Name -> the user's objects, classes and modules that have something of that name, which nobody mentions yet."""
    queue: list[Any] = field(default_factory=list[Any])
    """Functions to follow."""
    values: list[tuple[Any, str]] = field(default_factory=list[tuple[Any, str]])
    """Values to look at, each with the package of the function that holds it; none if an object or a table does."""

    def mention(self, names: frozenset[str]) -> None:
        """Look up names in all objects that functions hold: which of them a name belongs to, its code does not say."""
        for name in names - self.names:
            self.names.add(name)
            for owner in self.waiting.pop(name, ()):
                self.take(owner, name)

    def take(self, owner: Any, name: str) -> None:
        """Look at what an object has under a name."""
        value = _attribute(owner, name)
        # Who calls a class of a module's mentions it by its name.
        self.values.append((value, name if isinstance(owner, ModuleType) and isinstance(value, type) else ""))

    def meet(self, value: Any, package: str) -> None:
        """Note what a value runs, and what it holds."""
        if not package and issubclass(value if isinstance(value, type) else type(value), Command | Send):
            self.complete = False  # no function shows where it is made, or called
        elif isinstance(value, Pregel):
            self.graphs[id(value)] = cast("Pregel[Any, Any, Any, Any]", value)
        elif isinstance(value, FunctionType | MethodType | partial) and _is_ours(value, package):
            self.queue.append(value)
        elif id(value) not in self.met:
            self.met.add(id(value))
            self.hold(value)
            for name in _names_of(value) if _is_mine(value) else ():
                if name.startswith("__"):
                    self.take(value, name)

    def hold(self, value: Any) -> None:
        """Note what a value holds: that of an object is looked at when something mentions its name."""
        if id(value) in self.objects:
            return
        self.objects[id(value)] = value
        self.values += [(part, "") for part in _parts_of(value)]
        if isinstance(value, Runnable):
            functions, graphs = _run_by(value)
            self.queue += functions
            self.graphs |= graphs
        for name in _names_of(value) if _is_mine(value) else ():
            if name in self.names or name in ("__getattr__", "__getattribute__"):
                self.take(value, name)
            elif not name.startswith("__"):
                self.waiting.setdefault(name, []).append(value)


_followed: ContextVar[dict[int, tuple[Any, Reach]] | None] = ContextVar("loopwright_followed", default=None)
"""Id -> the runnable, kept so that no id is given twice, and what it runs; only within `followed_once`."""


@contextmanager
def followed_once() -> Generator[None]:
    """Follow what a runnable runs once, however many graphs and proofs ask: nothing of the user's runs meanwhile."""
    outer = _followed.get()
    token = _followed.set({} if outer is None else outer)
    try:
        yield
    finally:
        _followed.reset(token)


def reach_of(runnable: Any) -> Reach:
    """Follow what a node or router runs."""
    known = _followed.get()
    if known is None:
        return _reach_from(runnable)
    if id(runnable) not in known:
        known[id(runnable)] = (runnable, _reach_from(runnable))
    return known[id(runnable)][1]


def _reach_from(runnable: Any) -> Reach:
    functions, graphs = _run_by(runnable)
    reach = Reach(queue=functions, graphs=graphs)
    if not reach.queue and not isinstance(unwrapped(runnable), Pregel) and not isinstance(runnable, Runnable):
        reach.complete = False
    while reach.queue or reach.values:
        if len(reach.functions) >= MOST_FUNCTIONS or len(reach.objects) >= MOST_OBJECTS:
            reach.complete = False
            break
        if not reach.queue:
            reach.meet(*reach.values.pop())
            continue
        whole = function = reach.queue.pop()
        carried: list[Any] = []
        while isinstance(function, partial):
            carried += _parts_of(function)
            function = cast("partial[Any]", function).func
        plain = getattr(function, "__func__", function)
        # Another object's method, and what another `partial` carries, goes elsewhere.
        key = (id(plain), id(getattr(function, "__self__", None)), id(whole) if isinstance(whole, partial) else 0)
        if key in reach.functions:
            continue
        reach.functions[key] = whole
        if isinstance(plain, FunctionType):
            _follow(whole, function, plain, carried, reach)
        else:
            reach.values += [(value, "") for value in (plain, *carried)]
    return reach


def _follow(whole: Any, function: Any, plain: FunctionType, carried: list[Any], reach: Reach) -> None:
    names = _names_in(plain.__code__)
    cells = [cell.cell_contents for cell in plain.__closure__ or () if is_filled(cell)]
    owner = getattr(function, "__self__", None)
    around = [plain.__globals__[name] for name in names if name in plain.__globals__]
    defaults = [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
    inside = [*cells, getattr(plain, "__wrapped__", None)]
    kept = [_attribute(owner, name) for name in names & _own(owner).keys()]
    held = [*inside, *around, *defaults, *kept, *carried, *_imported(plain, reach)]
    values = [each for value in held for each in (value, *_parts_of(value))]
    for module in [value for value in values if isinstance(value, ModuleType)]:
        values += [vars(module)[name] for name in names & vars(module).keys()]
    kinds = [value if isinstance(value, type) else type(value) for value in values]
    sends = "Send" in names or any(issubclass(kind, Send) for kind in kinds)
    reach.sends = reach.sends or sends
    if sends or "Command" in names or any(issubclass(kind, Command) for kind in kinds):
        reach.mentioning.append(whole)
    package = (plain.__module__ or "").partition(".")[0]
    reach.queue += [value for value in inside if isinstance(value, FunctionType | MethodType | partial)]
    reach.values += [(value, package) for value in values if type(value) not in _PLAIN]
    reach.hold(owner)
    if not is_of_library(plain):
        if owner is not None and _is_handed_on(plain.__code__, next(iter(plain.__code__.co_varnames), "")):
            reach.values.append((owner, package))
        reach.mention(names)
        return
    for value, kind in zip((*values, owner), (*kinds, type(owner)), strict=True):
        # What a package's function names is looked up in what this function holds, not in everything.
        reach.values += [(_attribute(value, name), package) for name in names & _class_names(kind)]


def _parts_of(value: Any) -> list[Any]:
    """What a list, a table, a ``partial`` or a context variable holds, without texts and numbers."""
    parts: Any = ()
    if isinstance(value, Mapping):
        parts = cast("Mapping[Any, Any]", value).values()
    elif isinstance(value, list | tuple | set | frozenset | deque):
        parts = cast("tuple[Any, ...]", value)
    elif isinstance(value, partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, ContextVar):
        parts = [value.get(None)]
    elif wrapped := getattr(value, "__dict__", {}).get("__wrapped__"):
        parts = [wrapped]
    return [part for part in parts if type(part) not in _PLAIN]


def _is_mine(value: Any) -> bool:
    """Whether a value is a module of the user's own, or a class of theirs, or an object of one."""
    if isinstance(value, ModuleType):
        return not _in_library(value.__name__)
    return not _in_library((value if isinstance(value, type) else type(value)).__module__)


def file_of(module: Any) -> str:
    """The file of a module, where it has one; what is loaded when it is asked for stays asleep."""
    return getattr(module, "__dict__", {}).get("__file__") or ""


@lru_cache(maxsize=4096)
def _in_library(module: str) -> bool:
    file = file_of(sys.modules.get(module))
    python = module.partition(".")[0] in sys.stdlib_module_names and module != "types"  # where SimpleNamespace is
    return python or file.startswith(LIBRARIES)


def _plain_of(function: Any) -> Any:
    """The function behind a method and what ``partial`` made of it."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return getattr(function, "__func__", function)


def _is_ours(function: Any, package: str) -> bool:
    """Whether a function is of the user's own files, or of the same package as who mentions it."""
    if not isinstance(plain := _plain_of(function), FunctionType):
        return False
    return (plain.__module__ or "").partition(".")[0] == package or not is_of_library(plain)


def is_of_library(function: Any) -> bool:
    """Whether a function stands in an installed package, and not in the user's own files."""
    plain = inspect.unwrap(_plain_of(function))
    return getattr(getattr(plain, "__code__", None), "co_filename", "").startswith(LIBRARIES)


@lru_cache(maxsize=16384)
def _names_in(code: CodeType) -> frozenset[str]:
    inside = [_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    # A method that `getattr` finds is named by a text; and what takes a goto is a Command, whatever it is called here.
    texts = [constant for constant in code.co_consts if isinstance(constant, str) and "getattr" in code.co_names]
    jumps = ["Command" for constant in code.co_consts if isinstance(constant, tuple) and "goto" in constant]
    return frozenset(code.co_names).union(*inside, texts, jumps)


def _imported(function: FunctionType, reach: Reach) -> list[ModuleType]:
    """The modules that a function imports itself; one of the user's own that is not loaded yet may bring anything."""
    found: list[ModuleType] = []
    package = function.__globals__.get("__package__") or ""
    for level, name, parts in _imports_in(function.__code__):
        with suppress(ImportError):  # else it cannot be imported either
            whole = resolve_name("." * level + name, package)
            inside = vars(sys.modules[whole]) if whole in sys.modules else {}
            for each in (whole, whole.partition(".")[0], *(f"{whole}.{part}" for part in parts if part not in inside)):
                if each in sys.modules:
                    found.append(sys.modules[each])
                elif _is_own_file(each):
                    reach.complete = False
    return found


def _is_own_file(module: str) -> bool:
    """Whether a module that is not loaded would come from the user's own files; nothing is loaded to see that."""
    while (around := module.rpartition(".")[0]) and around not in sys.modules:
        module = around
    with suppress(ImportError, ValueError):
        spec = find_spec(module)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        return any(Path(place or "").is_absolute() and not str(place).startswith(LIBRARIES) for place in places)
    return False


def _steps_of(code: CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


@lru_cache(maxsize=4096)
def _is_handed_on(code: CodeType, name: str) -> bool:
    """Whether a method does more with its object than asking for attributes: it may call it, too."""
    inside = any(_is_handed_on(inner, name) for inner in code.co_consts if isinstance(inner, CodeType))
    return inside or any(
        step.opname.startswith(("LOAD_FAST", "LOAD_DEREF"))
        and name in (step.argval if isinstance(step.argval, tuple) else (step.argval,))
        and "ATTR" not in after.opname
        and after.opname != "LOAD_METHOD"
        for step, after in pairwise(_steps_of(code))
    )


@lru_cache(maxsize=4096)
def _imports_in(code: CodeType) -> frozenset[tuple[int, str, tuple[str, ...]]]:
    """Each import in a function: how many packages up, the module, and what is taken from it."""
    found = {item for inner in code.co_consts if isinstance(inner, CodeType) for item in _imports_in(inner)}
    if dis.opmap["IMPORT_NAME"] in code.co_code[::2]:
        steps = _steps_of(code)
        for level, parts, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                found.add((level.argval, step.argval, parts.argval or ()))
    return frozenset(found)
