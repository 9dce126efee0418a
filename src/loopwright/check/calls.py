"""What a call does to graphs, while a file is read."""

import ast
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any, cast

from loopwright.check.agents import bounded, make, maker_of
from loopwright.check.builders import HARMLESS, METHODS, Arguments, handed, place_of
from loopwright.check.expressions import builtin, evaluate, fill, iterated, of_text
from loopwright.check.found import FoundGraph, Place
from loopwright.check.makers import Makers
from loopwright.check.project import Project
from loopwright.check.values import (
    HOLDING,
    MAKERS,
    MORE,
    Chain,
    Changed,
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    Grip,
    InstanceValue,
    Made,
    OneOf,
    builders_in,
    changes_builder,
    held_in,
    is_option,
    is_unknown,
    member,
    part_of,
    reached_by,
    same,
    text_of,
    unknown,
)
from loopwright.engine.proof.changes import ANY, LOOKING_METHODS, SHARED, shared_in
from loopwright.engine.proof.source import COMMAND, SEND, UNKNOWN, Symbol
from loopwright.engine.proof.syntax import LOOKING, identifier, parameters, positional, yields
from loopwright.errors import GraphError

DEEPEST = 12
"""Calls of the project's own functions are followed this deep."""

ASIDE, SHORT = 3, 100
"""Calls of functions that make no graph are followed this deep, from one that does or from outside of functions, and
deeper until that many expressions were evaluated."""

WORK = 150_000
"""The expressions that are evaluated for one file, calls of its functions included; about half a second."""

_LOOKING = LOOKING | {"type", "id", "iter", "next", "map", "filter"}
"""Builtins that leave a list or table as it is."""

_FILLING = re.compile(rf"(bisect|builtins\.(dict|list|set)|heapq|operator)\.(?!({'|'.join(LOOKING_METHODS)})$)")
"""Functions of Python that change the lists and tables that they are given."""

_BEGINNING = frozenset({f"__{name}__" for name in ("call", "enter", "exit", "init", "new", "post_init", "repr", "str")})
"""Special methods that no operator runs."""

HARMLESS_CALLS = frozenset({"print", "isinstance", "type", "id", "repr", "str", "len", "verify"})
"""Functions that may be given a builder and do not change it."""

_KNOWN = ("langgraph", "langchain", "loopwright")
"""Packages that fill no lists which they are given, and run no methods in between."""

_LOGGING = ("logging.", "loguru.", "structlog.")
"""Packages that only write down what they are given."""


class Calls(ABC):
    """The calls of a file that is being read; `loopwright.check.reader.Reader` reads its statements."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.makers = Makers(project)
        self.graphs: list[FoundGraph] = []
        self.called: set[Any] = set()
        """The functions that were called; of methods, with the class of their object, too."""
        self.told: set[Path] = set()
        """The files whose graphs are told, in full; none: any. What another one calls is told where it is made."""
        self.opened: dict[ast.AST, tuple[FunctionValue, Mapping[str, Any], InstanceValue | None] | None] = {}
        """Those that have options: what they were given, with anything for these, and the object; None: read so."""
        self.handed = set[ast.AST]()
        """The functions that were handed to what may call them with other arguments."""
        self.classes: dict[ast.AST, ClassValue] = {}
        self.left = self._begun = WORK
        self.kept: list[GraphValue] = []
        """Builders that are kept elsewhere than in a name: something unknown may be one of them."""
        self.trail: list[Changed] = []
        self._gone: tuple[Changed | None, tuple[Sequence[ast.AST], bool]] = None, ((), True)
        self._results: dict[ast.AST, list[tuple[list[Any], Any]]] = {}
        self._owner: Any = None
        self._tells = True
        self._following: list[tuple[ast.AST, Frame | None]] = []
        self._branch: tuple[int, ...] = ()
        self._branches = 0

    @abstractmethod
    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> Any:
        """Read statements in order; the value that they return if it is always the same, None without a return."""

    def step(self, count: int = 1) -> None:
        """Count what is evaluated; a `GraphError` if the file has had all that one file may have."""
        self.left -= count
        if self.left < 0:
            raise GraphError(f"it takes more than {WORK:,} steps to read")

    @property
    def hurries(self) -> bool:
        """Whether half of the work is done; from there passes are not counted out, and calls not followed as deep."""
        return self.left < WORK // 2

    @property
    def file(self) -> Path:
        """The file that is being read."""
        return self._owner.file

    def __call__(self, node: ast.Call, frame: Frame) -> Any:
        """The value of a call, and what it does to graphs."""
        owner = None
        if isinstance(node.func, ast.Attribute):
            owner = evaluate(node.func.value, frame, self)
            if isinstance(owner, GraphValue | FunctionValue | list | dict) or text_of(owner) is not None:
                return self._method(owner, node.func.attr, node, frame)
            # Graphs of other kinds have nodes and edges, too.
            made = owner.of if isinstance(owner, Made) and "conditional" in node.func.attr else owner
            if isinstance(made, str) and node.func.attr in METHODS:
                graph = self._graph(node, frame)
                graph.refuse(graph.place, f"it is made elsewhere, in {made}")
                if isinstance(node.func.value, ast.Name):
                    frame.names[node.func.value.id] = GraphValue(graph)
            # The owner is evaluated once, or long chains take for ever.
            function = self.attribute(owner, node.func, frame)
        else:
            function = evaluate(node.func, frame, self)
        if isinstance(function, Grip) and function.method and function.graphs:
            return self._method(GraphValue(function.graphs[0]), function.method, node, frame)
        given = Arguments(node, frame, self)
        self._may_build(owner, function, node, given, frame)
        self._unfollowed(function, owner, node, given, frame)
        match function:
            case Symbol():
                return self._known(function, node, given, frame)
            case FunctionValue() if not function.unread:
                return self._cached(function, given) if function.is_cached else self._inline(function, given)
            case ClassValue():
                return self._object(function, node, given, frame)
            case Made(of="functools.partial", given=(Symbol() as name, *first), options=options):
                given.given, given.named = [*first, *given.given], {**options, **given.named}
                given.complete = given.complete and "**" not in options
                return self._known(name, node, given, frame)
            case InstanceValue() if isinstance(method := member(function, "__call__"), FunctionValue):
                return self._inline(method, given)
            case Grip() | OneOf() if not isinstance(owner, Grip):
                self._past_methods([function, owner], node, frame)
                _fill_in(function)
                return self._unknown(node, given)
            case _:
                made = self._builtin(getattr(node.func, "id", ""), node, given, frame)
                owner = unknown(*given.every) if str(getattr(function, "of", "")).startswith("operator.") else owner
                return owner if made is UNKNOWN and owner and is_unknown(owner) else made

    def _unfollowed(self, function: Any, owner: Any, node: ast.Call, given: Arguments, frame: Frame) -> None:
        """Note a call, if nobody follows it, that may run methods of an object: one that it is given, or is of."""
        followed = isinstance(function, ClassValue | InstanceValue) or not getattr(function, "unread", True)
        quiet = isinstance(function, Symbol) and function.startswith((*_KNOWN, "functools.partial", *_LOGGING))
        if followed or not self.trail or quiet:
            return
        name = getattr(node.func, "id", "")
        variable = name != "" and any(name in scope.names for scope in frame.scopes())
        looks = name in HARMLESS_CALLS or name in LOOKING or name in ("callable", "iter") or name.endswith("attr")
        if looks and not variable:
            return
        of = None if isinstance(owner, InstanceValue) and (owner.bound or owner).of.is_plain else owner
        anything = is_unknown(function) and not isinstance(node.func, ast.Attribute) and (variable or not name)
        if self._gone[0] is not self.trail[-1] or self._gone[1] != ([each for each, _ in self._following], True):
            values = (function, of, *given.every)
            if anything or any(isinstance(each, InstanceValue) for each in held_in(*values)):
                itself = anything or any(isinstance(each, InstanceValue) for each in held_in(*values, bound=False))
                self._let_go(len(self._following), itself=itself)

    def _let_go(self, depth: int, *, itself: bool = True) -> None:
        """Note that any function, but for the first ones of those that are being read, may have changed objects.

        What changes objects of any kind counts only where an object `itself` may be handed to it.
        """
        read = [node for node, _ in self._following[:depth]]
        if not self.trail or (self._gone[0] is self.trail[-1] and self._gone[1] == (read, itself)):
            return  # nothing was changed since
        self._gone = self.trail[-1], (read, itself)
        for of in {id(of): of for of, *_ in self.trail if of.sure}.values():
            kinds = {*([""] if itself else []), *(each.name for each in of.of.order())}
            for name in [*of.sure]:
                held = of.names.get(name)
                for way in ((name, name), (ANY, of.of.name), *[(SHARED + name, name)] * isinstance(held, list | dict)):
                    if any(kind in kinds and function not in read for function, kind in self.project.changers(*way)):
                        of.sure.discard(name)
                        if way[0] == SHARED + name:  # it may have other names
                            fill(cast("list[Any] | dict[Any, Any]", held))

    def operated(self, *values: Any) -> None:
        """Note that Python may run a method of an object by itself: for an operator, an item, or to go through it."""
        for each in (each for each in values if isinstance(each, InstanceValue)):
            for name, method in [pair for of in each.of.order() for pair in of.members.items()]:
                if isinstance(method, FunctionValue) and name.startswith("__") and name not in _BEGINNING:
                    self._perhaps(replace(method, bound=each))

    def aside(self, read: Callable[[], Any]) -> Any:
        """Read what may not be reached, a part of an expression, say: a branch, as those of an ``if``."""
        self._branches += 1
        around, self._branch = self._branch, (*self._branch, self._branches)
        value = read()
        self._branch = around
        return value

    def _builtin(self, name: str, node: ast.Call, given: Arguments, frame: Frame) -> Any:
        """What a builtin makes of what is known; any other function may do anything with what it is given."""
        named = name or getattr(node.func, "attr", "")
        if named in ("vars", "setattr", "__setattr__"):
            changed, key = given.take(0, ""), text_of(given.take(1, ""))
            if not isinstance(changed, InstanceValue):
                self._past_methods(changed, node, frame, key)
            elif key is None:
                changed.blur()
            else:
                changed.keep(key, given.take(2, ""))
        if name in ("exec", "eval", "globals", "locals") or (name == "vars" and given.given != [UNKNOWN]):
            around = unknown(*given.given, *(value for scope in frame.scopes() for value in scope.names.values()))
            if name in ("exec", "eval"):
                self._past_methods(around, node, frame)
            return around
        first = given.given[0] if given.given and given.complete else UNKNOWN
        if name == "type" and isinstance(first, InstanceValue) and len(given.given) == 1:
            return first.of
        if name == "getattr" and (key := text_of(given.take(1, ""))) and isinstance(first, InstanceValue | Frame):
            if (found := member(first, key)) is not UNKNOWN:
                return found
        of, me = self.classes.get(frame.parent.node) if frame.parent else None, next(iter(frame.names.values()), None)
        if name == "super" and of and isinstance(me, InstanceValue):
            behind = (*dropwhile(lambda each: each.node is not of.node, me.of.order()),)[1:]
            return InstanceValue(replace(of, bases=behind, members={}), self.trail, me.names, me)
        hidden = any(name in scope.names for scope in frame.scopes())
        made = UNKNOWN if hidden or not given.complete else builtin(name, given.given, given.named)
        if made is UNKNOWN and (hidden or name not in ("bool", "callable", "hasattr")):
            self._unknown(node, given)
            return unknown(*map(part_of, given.every)) if name in _LOOKING and not hidden else UNKNOWN
        return made

    def attribute(self, owner: Any, node: ast.Attribute, frame: Frame) -> Any:
        """The value of an attribute; what a property returns is read."""
        found = owner.of.find(node.attr) if isinstance(owner, InstanceValue) and node.attr not in owner.names else None
        if found is UNKNOWN and isinstance(asked := owner.of.find("__getattr__"), FunctionValue):
            return self._inline(replace(asked, bound=owner), None, [node.attr])
        if not isinstance(found, FunctionValue) or not found.is_property:
            if isinstance(owner, InstanceValue) and node.attr == "__dict__":
                owner.blur()
            # What was kept there counts, where the owner is not known.
            kept = frame.look_up(f"{node.value.id}.{node.attr}") if isinstance(node.value, ast.Name) else UNKNOWN
            if isinstance(owner, FunctionValue) and node.attr == "__name__":
                return owner.name
            return member(owner, node.attr) if kept is UNKNOWN else kept
        value = self._inline(replace(found, bound=owner), None)
        if "cached_property" in found.decorators:
            owner.keep(node.attr, value)
        return value

    def store(self, target: ast.Attribute | ast.Subscript, value: Any, frame: Frame) -> None:
        """Give an attribute or item a value."""
        held, owner = evaluate(target.value, frame, self), getattr(target.value, "id", None)
        if isinstance(target, ast.Attribute):
            if isinstance(held, InstanceValue):
                held.keep(target.attr, value)
                if any(isinstance(held.of.find(hook), FunctionValue) for hook in ("__setattr__", target.attr)):
                    self._let_go(len(self._following))
            elif isinstance(held, Frame | ClassValue):
                names = held.names if isinstance(held, Frame) else cast("dict[str, Any]", held.members)
                names[target.attr] = unknown(names.get(target.attr), value)
            elif owner:
                frame.names[f"{owner}.{target.attr}"] = value
        elif owner and not isinstance(held, list | dict):
            frame.names[owner] = UNKNOWN
        self.operated(*[held] * isinstance(target, ast.Subscript))
        part = member(held, getattr(target, "attr", "")) if isinstance(held, GraphValue) else held
        if isinstance(part, Grip):
            self._past_methods(part, target, frame, getattr(target, "attr", ""), value)
        elif isinstance(held, list | dict):
            key = evaluate(target.slice, frame, self) if isinstance(target, ast.Subscript) else UNKNOWN
            if isinstance(held, dict) and text_of(key) is not None and not self._branch and value is not held:
                held[key] = value
            else:  # in a branch that may not run, say
                fill(held, value)
        if isinstance(value, GraphValue) and not value.compiled:
            self.kept.append(value)

    def _special(self, value: Any, name: str) -> Any:
        """What a method returns that Python calls by itself."""
        found = [member(value, f"__{a}{name}__") for a in ("", "a")] if isinstance(value, InstanceValue) else []
        methods = [method for method in found if isinstance(method, FunctionValue)]
        return same([self._inline(method, None) for method in methods] or [part_of(value)])

    def _object(self, of: ClassValue, node: ast.Call, given: Arguments, frame: Frame) -> Any:
        order = of.order()
        if any(Symbol(f"langgraph.graph.{name}") in each.bases for each in order for name in MAKERS):
            graph = self._graph(node, frame)
            if any(isinstance(value, FunctionValue) for each in order for value in each.members.values()):
                graph.refuse(given.place, f"{of.name} changes how a StateGraph is built")
            return GraphValue(graph)
        if of.is_enum:
            return UNKNOWN
        made = InstanceValue(of, self.trail)
        if isinstance(begin := member(made, "__init__"), FunctionValue):
            self._inline(begin, given)
        else:
            fields = of.fields()  # a dataclass, say
            filled = {} if given.complete and of.is_plain else dict.fromkeys(fields, UNKNOWN)
            makers = {name: getattr(of.find(name), "options", {}).get("default_factory") for name in fields}
            filled |= {name: self._inline(by, None) for name, by in makers.items() if isinstance(by, FunctionValue)}
            named = {name: each.rpartition(".")[2] for name, each in makers.items() if isinstance(each, Symbol)}
            filled |= {name: builtin(each, [], {}) for name, each in named.items()}
            filled |= zip(fields, given.given if given.complete else (), strict=False)
            # One of pydantic's models copies the lists and tables that it is given.
            copies = of.keeps and "BaseModel" in {identifier(base) for each in order for base in each.node.bases}
            for name, value in (filled | given.named).items():
                made.keep(name, copy(value) if copies and isinstance(value, list | dict) else value)
            held = ((name, made.names.get(name, of.find(name))) for name in fields)
            options = {name: UNKNOWN for name, value in held if is_option(name, value, of.frame)}
            made.opened = made.names | options if options else None
            for hook in ("__post_init__", "__attrs_post_init__", "model_post_init"):
                if isinstance(method := member(made, hook), FunctionValue):
                    self._inline(method, None)
            self._unknown(node, given, keeps=of.keeps)
        kinds = (word.value for each in order for word in each.node.keywords if word.arg == "metaclass")
        if any(identifier(kind) != "ABCMeta" for kind in kinds):
            made.sure.clear()  # it may hand out one that was made before
        return made

    def _known(self, name: Symbol, node: ast.Call, given: Arguments, frame: Frame) -> Any:
        last = name.rpartition(".")[2]
        if name in ("builtins.dict", "builtins.list", "builtins.set"):
            return self._builtin(last, node, given, frame)
        if name in ("itertools.pairwise", "builtins.str"):
            made = of_text("{}", "format", given.given) if last == "str" else builtin(last, given.given, given.named)
            return made if made is not UNKNOWN else self._unknown(node, given, name)
        if name.startswith("langgraph.graph.") and last in MAKERS:
            graph = self._graph(node, frame)
            graph.state = given.take(0, "state_schema")
            return GraphValue(graph)
        if name == "loopwright.bounded":
            if is_unknown(given.take(0, "graph", UNKNOWN)):
                return UNKNOWN  # a parameter, say: the graph is checked where it is made
            graph = self._graph(node, frame)
            bounded(given, graph)
            return GraphValue(graph, compiled=True)
        if name == "loopwright.add_node" and given.given and isinstance(builder := given.given[0], GraphValue):
            given.given = given.given[1:]
            return METHODS["add_node"](builder.graph, given)
        if kind := maker_of(name):
            graph = self._graph(node, frame)
            if kind == "other":
                graph.refuse(given.place, f"{last}() builds it")
            else:
                make(kind, given, graph)
            return GraphValue(graph, compiled=kind not in ("create_supervisor", "create_swarm", "other"))
        held = given.given[0] if given.given else None
        if last == "iscoroutinefunction" and isinstance(held, FunctionValue) and not (held.decorators or held.unread):
            return isinstance(held.node, ast.AsyncFunctionDef)
        if last == "partial" and isinstance(held, FunctionValue):
            return _partial(held, given)
        wraps = last in ("RunnableLambda", "partial", "coerce_to_runnable")  # and runs it as it is
        if wraps and isinstance(held, FunctionValue | InstanceValue | GraphValue):
            label = text_of(given.take(None, "name")) if last == "RunnableLambda" else None
            return replace(held, label=label) if label and isinstance(held, FunctionValue) else held
        return self._made(name, node, given)

    def _made(self, name: Symbol, node: ast.Call, given: Arguments) -> Any:
        """What a class or function of a package makes; one of Python's own may hand out what it is given."""
        if name not in (COMMAND, SEND, "functools.wraps") and not name.startswith(_LOGGING):
            self._unknown(node, given, name)
            own = name.partition(".")[0] in sys.stdlib_module_names
            held = unknown(*map(part_of, given.every)) if own else UNKNOWN
            if held is not UNKNOWN and name not in ("copy.deepcopy", "functools.partial"):
                return held
        if name in ("logging.getLogger", "structlog.get_logger"):
            return Symbol("logging.Logger")
        options = given.named | ({} if given.complete else {"**": UNKNOWN})
        return Made(str.__str__(name), options, tuple(given.given))

    def _unknown(self, node: ast.Call, given: Arguments, package: str = "", *, keeps: bool = False) -> Any:
        """Note what a call may change that nobody follows: of the `package`, if any; not what it only `keeps`."""
        if not any(isinstance(value, HOLDING) for value in given.every):
            return UNKNOWN
        name = getattr(node.func, "id", getattr(node.func, "attr", "a function"))
        functions = [value for value in given.every if isinstance(value, FunctionValue)]
        for function in functions:
            self.handed.add(function.node)
            reached = reached_by(function)
            lists = any(isinstance(each, list | dict) and not (each and MORE in each) for each in reached)
            if lists or builders_in(*reached):
                self._perhaps(function)
        # They may be given what is handed over beside them.
        fills = any(not shared_in(each.node).isdisjoint(parameters(each.node)) for each in functions)
        own = package.partition(".")[0] in sys.stdlib_module_names
        fills = fills and (not package or own)
        named = (package, *(each for each in given.every if isinstance(each, Symbol)))
        fills = fills or any(map(_FILLING.match, named))
        leaves = own or package.startswith(_KNOWN) or name in _LOOKING or name in HARMLESS_CALLS
        asks = package or isinstance(node.func, ast.Attribute)
        for value in (value for value in given.every if not (keeps or isinstance(value, FunctionValue))):
            inner = (*getattr(value, "held", ()), *getattr(value, "names", {}).values())
            plan = isinstance(value, InstanceValue) and value.of.keeps  # which is handed on for its lists
            for held in () if fills or leaves else (value, *inner):
                if isinstance(held, list | dict) and (plan or not held or not asks):
                    fill(held)  # it may be there to be filled, also by list.append(a, b)
            if getattr(value, "method", None):  # of a list, that is handed on
                _fill_in(value)
            elif fills:
                items = "map" in name or name == "filter" or (name == "reduce" and value is given.take(1, ""))
                _fill_in(part_of(value) if items else value)
            runs = name in ("map", "filter") and value is given.take(0, "")  # it may be a method
            looked = name in _LOOKING and not runs
            looks = name in HARMLESS_CALLS or (looked and isinstance(value, Grip) and not value.method)
            for graph in builders_in(value) if not looks else ():
                graph.refuse(given.place, f"it is handed to {name}(), which may change it")
        return UNKNOWN

    def _perhaps(self, function: FunctionValue) -> None:
        """Read a function that may be run, once or often, with anything."""
        begun = len(self.trail)
        self.aside(lambda: self._inline(function, None))
        for of, name, _ in self.trail[begun:]:
            of.sure.discard(name)

    def _graph(self, node: ast.Call, frame: Frame) -> FoundGraph:
        graph = FoundGraph(place_of(node, frame), node, owner=self._owner, frame=frame, branch=self._branch)
        self.graphs.append(graph)
        return graph

    def _method(self, value: Any, name: str, node: ast.Call, frame: Frame) -> Any:
        given = Arguments(node, frame, self)
        if isinstance(value, str):
            return of_text(value, name, given.given) if given.complete and not given.named else UNKNOWN
        if isinstance(value, FunctionValue):
            if name == "pipe":
                return Chain((value, *given.given))
            if name == "with_fallbacks" and any(handed([*given.given, *given.named.values()])):
                return Made("langchain_core.runnables.RunnableWithFallbacks", given.named, (value, *given.given))
            return value  # with_config, with_retry
        if isinstance(value, list | dict):
            return self._of_container(value, name, given)
        if value.compiled:
            return _of_compiled(value, name, given, chained=not hasattr(getattr(node.func, "value", None), "id"))
        if name == "compile":
            value.graph.compiled_as = text_of(given.take(None, "name")) or "LangGraph"
            return GraphValue(value.graph, compiled=True)
        if (method := METHODS.get(name)) and given.complete:
            method(value.graph, given)
        elif method:
            value.graph.refuse(given.place, f"{name}() is given * or ** arguments")
        elif name not in HARMLESS or not given.complete or given.take(None, "error_handler") is not None:
            value.graph.refuse(given.place, f"{name}() may change it")
        return value

    def _of_container(self, value: list[Any] | dict[Any, Any], name: str, given: Arguments) -> Any:
        """What a method of a list or table returns; what it changes is done, or makes it unknown."""
        if isinstance(value, dict) and name in ("items", "keys", "values"):
            pairs = ((UNKNOWN if isinstance(key, type(MORE)) else key, held) for key, held in value.items())
            return [*pairs] if name == "items" else [*getattr(value, name)()]
        if name == "get" and isinstance(value, dict) and MORE not in value and given.complete and given.given:
            return value.get(*given.given) if text_of(given.take(0, "key")) is not None else unknown(value)
        if name in ("append", "extend") and isinstance(value, list) and given.complete and not self._branch:
            items = given.given if name == "append" else iterated(given.take(0, "iterable", UNKNOWN))
            known = items is not None and not any(item is value for item in items)  # a list may hold itself
            value.extend(items or ()) if known else fill(value, *given.given)
        elif name not in ("get", "index", "count", "copy"):
            fill(value, *given.given)
        return unknown(value)

    def _cached(self, function: FunctionValue, given: Arguments) -> Any:
        """What a function returns that keeps what it once returned: asked again, the same object."""
        asked = [function.bound, given.given, given.named]
        kept = self._results.setdefault(function.node, [])
        if given.complete and (found := [value for before, value in kept if before == asked]):
            return found[0]
        value = self._inline(function, given)
        kept.append((asked, value))
        return value

    def _inline(self, function: FunctionValue, given: Arguments | None, values: Sequence[Any] = ()) -> Any:
        """What a function of the project returns; what it does to graphs is done.

        Without arguments that are `given`, only `values` are handed over: what a decorator is given.
        """
        node = function.node
        aside = [*takewhile(lambda each: each[1] and not self.makers.has(each[0], each[1].file), self._following[::-1])]
        self._begun = self._begun if aside else self.left
        deep = len(self._following) >= (DEEPEST // 3 if self.hurries else DEEPEST)
        deep = deep or (len(aside) >= ASIDE and self._begun - self.left > SHORT and not self._makes(function, given))
        at = [place for place, (each, _) in enumerate(self._following) if each is node]
        # A decorator makes another one of each function that it wraps.
        again = any(self._following[place][1] in (None, function.frame) for place in at)
        if deep or yields(node) or again:
            # What it may do to what it is given or names is not known.
            if given:
                for graph in builders_in(*given.every, function):
                    graph.refuse(given.place, f"{function.name}() is not followed that far")
                handed = _bound_arguments(function, given, values).items()
                _fill_in(function, *(value for name, value in handed if name in shared_in(node)))
            self._let_go(*at[:1] or [len(self._following)])
            return unknown(function, *given.every) if given else UNKNOWN
        frame = Frame(node, function.frame.file, f"{function.frame.name}.{function.name}".lstrip("."), function.frame)
        frame.names |= _bound_arguments(function, given, values)
        me = function.bound if isinstance(function.bound, InstanceValue) else None
        more = ((each.arg, held) for each, held in ((node.args.vararg, ()), (node.args.kwarg, {})) if each)
        pairs = (*function.defaults, *more)
        options = {name: UNKNOWN for name, value in pairs if is_option(name, value, function.frame)}
        its = {**frame.names, **options}
        if self._tells:
            self.called |= {node, (me.of.node, node)} if me else {node}
            held = [*its.values(), replace(function, bound=None)]
            opens = (options or (me and me.opened)) and node not in self.opened and not builders_in(*held)
            if opens and not isinstance(node, ast.Lambda):
                self.opened[node] = function, its, me and replace(me, names={**me.names})
        self._following.append((node, function.frame))
        try:
            return evaluate(node.body, frame, self) if isinstance(node, ast.Lambda) else self.run(node.body, frame)
        finally:
            self._following.pop()
            if me and options and function.name == "__init__":
                me.opened = its

    def _makes(self, function: FunctionValue, given: Arguments | None) -> bool:
        """Whether a function may make a graph, or is handed what does, or a builder."""
        handed = [function, *(given.every if given else ())]
        makers = (each for each in handed if isinstance(each, FunctionValue | ClassValue))
        return bool(builders_in(*handed)) or any(self.makers.has(each.node, each.frame.file) for each in makers)

    def _past_methods(
        self, changed: Any, node: ast.expr | ast.stmt, frame: Frame, attribute: str | None = "", value: Any = UNKNOWN
    ) -> None:
        """Note what changes builders past their methods, or one of several objects or lists, or an attribute of one.

        `attribute`: empty for items, None for one that is not known; `value`: what that gets.
        """
        for graph in builders_in(changed):
            place = Place(frame.file, node.lineno, node.end_lineno or node.lineno)
            graph.refuse(place, "its nodes or edges are changed past its methods")
        if not isinstance(changed, Grip):
            return
        gets = [*held_in(value)]
        self.kept += [GraphValue(graph) for graph in builders_in(*gets)]  # which of them has it now, nobody knows
        # Only graphs are added: with all else, each list would come to hold every object, and none be read in time.
        graphs = [each for each in gets if isinstance(each, GraphValue)]
        added = [unknown(*graphs)] if graphs else []
        for held in held_in(changed):
            if isinstance(held, InstanceValue) and attribute != "":
                held.sure.difference_update([attribute] if attribute else [*held.sure])
            for each in () if attribute else (held, *getattr(held, "names", {}).values()):
                if isinstance(each, list | dict):
                    fill(each, *added)

    def _may_build(self, owner: Any, function: Any, node: ast.Call, given: Arguments, frame: Frame) -> None:
        """Note what a method may change that is not followed: the builders and lists that its owner may be, or hold."""
        name = getattr(node.func, "attr", "")
        if isinstance(function, FunctionValue) or not changes_builder(name):
            return
        self._past_methods(owner, node, frame, value=unknown(*given.every))
        if is_unknown(owner) and name in METHODS:
            held = [held for held in self.kept if held.graph.place.file == frame.file]
            # The names of the part that only a direct run reaches are the module's: functions see them.
            main = isinstance(getattr(self._owner, "node", None), ast.If)
            self._past_methods([*held, *(self._owner.names.values() if main else ())], node, frame)


def _of_compiled(value: GraphValue, name: str, given: Arguments, *, chained: bool) -> Any:
    """What a method of a compiled graph returns: of one that has a name already, it is the limit of a copy."""
    if name == "with_config":
        config = given.take(0, "config")
        limit = config.get("recursion_limit") if isinstance(config, dict) else given.take(None, "recursion_limit")
        if isinstance(limit, int) and (chained or value.graph.steps is None):
            value.graph.steps = limit
    if name.startswith("attach_"):
        value.graph.refuse(given.place, f"{name}() changes the compiled graph")
    return value if name in ("with_config", "with_retry") else UNKNOWN


def _fill_in(*values: Any) -> None:
    """Note that the lists and tables that values are, hold or may change may get other items."""
    for held in [each for each in held_in(*values) if isinstance(each, list | dict)]:
        fill(held)


def _partial(function: FunctionValue, given: Arguments) -> FunctionValue:
    """A function that was given some arguments by ``partial``, which is given it, too."""
    places, rest = _places(function), function.node.args.vararg
    more = [*function.given, *zip(places, given.given[1:], strict=False), *given.named.items()]
    if rest and (others := given.given[len(places) + 1 :]):
        more.append((rest.arg, (*dict(function.given).get(rest.arg, ()), *others)))
    return replace(function, given=(*more,), unread=function.unread or not given.complete)


def _places(function: FunctionValue) -> list[str]:
    """The parameters that a call's arguments without names are for."""
    places = positional(function.node)[function.bound is not None :]
    return [name for name in places if name not in dict(function.given)]


def _bound_arguments(function: FunctionValue, given: Arguments | None, values: Sequence[Any]) -> dict[str, Any]:
    """What a function's parameters have; what is handed to one that nobody knows, any of them may have."""
    node, bound, its = function.node, function.bound, function.node.args
    own = [argument.arg for argument in (*its.posonlyargs, *its.args, *its.kwonlyargs)]
    names = dict.fromkeys(parameters(node), unknown(*given.lost) if given else UNKNOWN)
    names |= dict.fromkeys(positional(node)[:1] if bound is not None else (), bound)
    for name, value in function.defaults if given and given.complete else ():
        filled = isinstance(value, list | dict) and name in shared_in(node)  # an earlier call may have
        names[name] = unknown(value) if filled else value
    before, places = dict(function.given), _places(function)
    handed = [] if given and given.starred else [*given.given] if given else [*values]
    named = before | (given.named if given else {})
    names |= {name: value for name, value in named.items() if name in own} | dict(zip(places, handed, strict=False))
    if its.vararg and (handed or (given and not given.starred)):
        first = [bound] if bound is not None and not positional(node) else []
        names[its.vararg.arg] = (*first, *before.get(its.vararg.arg, ()), *handed[len(places) :])
    if its.kwarg and given and given.complete:
        names[its.kwarg.arg] = {name: value for name, value in named.items() if name not in names}
    return names
