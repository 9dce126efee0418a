"""What the reader knows of a value: plain constants as they are, and these for the rest."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from loopwright.check.found import END, START, FoundGraph
from loopwright.check.project import Project, whole
from loopwright.engine.proof import changes, source, syntax
from loopwright.engine.proof.changes import BEGUN, CHANGING, OWN
from loopwright.engine.proof.source import COMMAND, UNKNOWN, Symbol, text_of
from loopwright.engine.proof.syntax import reassigned_inside

MAKERS = ("StateGraph", "MessageGraph", "Graph")
"""LangGraph's builders."""

PARTS = frozenset({"nodes", "edges", "branches", "waiting_edges", "_all_edges", "__dict__"})
"""What a builder keeps its graph in."""

_GIVEN_NOTHING = re.compile(r"\b(ClassVar|KW_ONLY|init=False)\b")
"""What the line of a dataclass's attribute says that is no argument."""

_ASKED = re.compile(r"a?(clear|get|update)_\w+|\w*schema|cache|channels|checkpointer|config|name|nodes|store")
"""What is asked of a graph, or told to it, without a run of it."""

PLAIN = ("ABC", "BaseModel", "BaseTool", "Generic", "MessagesState", "NamedTuple", "Protocol", "TypedDict", "object")
"""Bases that give an object no values of their own."""

_ANYWHERE: dict[tuple[str, str], Any] = {
    ("langgraph", "START"): START, ("langgraph", "END"): END,
    ("langgraph", "Send"): Symbol(source.SEND), ("langgraph", "Command"): Symbol(COMMAND),
    **{("langgraph", name): Symbol(f"langgraph.graph.{name}") for name in MAKERS},
    **{("loopwright", name): Symbol(f"loopwright.{name}") for name in ("Loop", "add_node", "bounded")},
    **{(package, "TYPE_CHECKING"): False for package in ("typing", "typing_extensions")},
}  # fmt: skip
"""What a name stands for wherever in a package it is imported from."""


def symbol(dotted: str) -> Any:
    """The value of a name that is imported from a package: a constant where it is LangGraph's, else its full name."""
    package, _, name = dotted.rpartition(".")
    whole = Symbol(f"typing.{name}" if package in ("typing", "typing_extensions") else dotted)
    return _ANYWHERE.get((package.partition(".")[0], name), whole)


@dataclass(eq=False, slots=True)
class Frame:
    """The names of a module, class or function, as far as they are known."""

    node: ast.AST
    """The module, class or function."""
    file: Path
    """The file that it is in."""
    name: str = ""
    """The dotted name within the file."""
    parent: Frame | None = None
    """The scope around it."""
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    """Name -> value; dotted for attributes, ``self.graph``."""
    imported: set[str] = field(default_factory=set[str])
    """Names that come from another module."""
    project: Project | None = None
    """Of a module, the files that it is among."""

    def scopes(self) -> Iterator[Frame]:
        """This scope and those around it, as Python looks names up: classes are skipped from within."""
        frame: Frame | None = self
        while frame is not None:
            if frame is self or not isinstance(frame.node, ast.ClassDef):
                yield frame
            frame = frame.parent

    def look_up(self, name: str) -> Any:
        """The value of a name at this moment of the reading; unknown, but for graphs, where functions change it."""
        for frame in self.scopes():
            if name in frame.names:
                value = frame.names[name]
                changes = not isinstance(value, GraphValue) and name in reassigned_inside(frame.node)
                return unknown(value) if changes else value
        return UNKNOWN

    def settled(self, expression: ast.expr) -> Any:
        """The value of a name or attribute whenever a function looks at it: only what is bound once."""
        if isinstance(expression, ast.Attribute):
            return member(self.settled(expression.value), expression.attr)
        if not isinstance(expression, ast.Name):
            return UNKNOWN
        name = expression.id
        frame = next((frame for frame in self.scopes() if name in syntax.bindings(frame.node)), None)
        return frame.names.get(name, UNKNOWN) if frame and syntax.bound_once(frame.node, name) else UNKNOWN


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function that the files define."""

    node: syntax.Function
    """Its syntax."""
    frame: Frame
    """The scope that it was defined in."""
    bound: Any = None
    """The object whose method it is."""
    decorators: tuple[Any, ...] = ()
    """The decorators of other packages, a `Symbol` or what one `Made`; they count as handing the function on."""
    unread: bool = False
    """Whether a decorator that nobody read may have put something else in its place."""
    label: str | None = None
    """The name of the function that it wraps and passes for."""
    given: tuple[tuple[str, Any], ...] = ()
    """The parameters that a ``partial`` has given values."""
    defaults: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    """Its parameters that have defaults, with those."""

    @property
    def name(self) -> str:
        """The name as Python gives it."""
        return self.label or ("<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name)

    @property
    def is_property(self) -> bool:
        """Whether an object has in its place what it returns."""
        return "property" in self.decorators or "cached_property" in self.decorators

    @property
    def is_cached(self) -> bool:
        """Whether it keeps what it once returned: ``functools.cache``, ``st.cache_resource`` and their like."""
        names = (str(getattr(made, "of", made)).rpartition(".")[2] for made in self.decorators)
        return any("cache" in name and name != "cached_property" for name in names)

    @property
    def fixed(self) -> frozenset[str]:
        """Its parameters whose values are known: the object whose method it is, and what a ``partial`` gives."""
        return frozenset(dict(self.given)).union(syntax.positional(self.node)[:1] if self.bound is not None else ())

    @property
    def state(self) -> str:
        """Its parameter that LangGraph gives the state, the first that is not fixed; empty without one."""
        return next((name for name in syntax.parameters(self.node) if name not in self.fixed), "")

    def entered(self) -> FunctionValue:
        """As LangGraph calls it, with the state alone: defaults are what it always gets."""
        filled = {*source.FILLED, self.state}
        kept = (pair for pair in self.defaults if pair[0] not in filled and isinstance(pair[1], str | int))
        return replace(self, given=(*kept, *self.given))

    @property
    def helper(self) -> source.Helper:
        """As `loopwright.engine.proof.source` reads it."""
        return source.Helper(self.node, partial(_settled, self), self.fixed)

    def around(self, expression: ast.expr) -> Any:
        """The value of a name or attribute that it finds around it, as the reader knows it."""
        if not isinstance(expression, ast.Attribute):
            name, value = getattr(expression, "id", ""), self.frame.settled(expression)
            if name in self.fixed:
                value = dict(self.given).get(name, self.bound)
                return UNKNOWN if isinstance(value, list | dict) else value
            return UNKNOWN if may_differ([*self.frame.scopes()][-1], name, value, None) else value
        owner, name = self.around(expression.value), expression.attr
        value, called = member(owner, name), syntax.identifier(expression.value)
        begun = isinstance(owner, InstanceValue) and isinstance(value, str | list | dict) and owner.of.begins(name) > 1
        called = "" if called in self.fixed else called
        return UNKNOWN if may_differ(owner, name, value, called, begun=begun) else value

    def seen(self, expression: ast.expr) -> Any:
        """The value that a name or attribute was last seen to have, whatever may give it another."""
        if not isinstance(expression, ast.Attribute):
            name = getattr(expression, "id", "")
            return dict(self.given).get(name, self.bound) if name in self.fixed else self.frame.look_up(name)
        owner, name = self.seen(expression.value), expression.attr
        kept = self.frame.look_up(f"{syntax.identifier(expression.value)}.{name}")
        return getattr(owner, "names", {}).get(name, member(owner, name) if kept is UNKNOWN else kept)

    def mentions(self) -> Iterator[Any]:
        """What it finds around it, as that was last seen, but for what it only asks something, or for an attribute."""
        outside = {id(part) for line in getattr(self.node, "decorator_list", ()) for part in ast.walk(line)}
        parts: Sequence[Any] = [part for part in syntax.every(self.node) if id(part) not in outside]
        own = syntax.bindings(self.node).keys() - rebound_names(self.node) - self.fixed
        project, taken = [*self.frame.scopes()][-1].project, dict[str, Any]()
        for part in (each for each in parts if project and isinstance(each, ast.ImportFrom)):
            file = project and project.find(part.module or "", part.level, self.frame.file)
            names = getattr(project.modules.get(whole(file)), "names", {}) if project and file else {}
            taken |= {each.asname or each.name: names[each.name] for each in part.names if each.name in names}
        theirs = own - taken.keys()
        reading = [
            part for part in parts if isinstance(part, ast.Name | ast.Attribute)
            if isinstance(part.ctx, ast.Load) and getattr(part, "id", "") not in theirs
        ]  # fmt: skip
        if not reading:
            return  # as of most nodes of a large graph
        looked = {id(each) for part in parts for each in changes.looked_at_in(part)}
        owners = {id(part.value): part.attr for part in parts if isinstance(part, ast.Attribute)}
        items = {id(part.value): part for part in parts if isinstance(part, ast.Subscript)}
        made = {id(call.func) for call in syntax.calls_in(self.node)}  # only there, a class makes an object
        for part in reading:
            value = taken.get(getattr(part, "id", "")) or self.seen(part)
            if isinstance(value, dict) and MORE not in value and (item := items.get(id(part))):
                value, part = cast("dict[Any, Any]", value).get(getattr(item.slice, "value", MORE), value), item
            of = owners.get(id(part), "")
            kind = isinstance(value, ClassValue)
            idle = id(part) not in made if kind else of and isinstance(value, Frame | InstanceValue)
            asked = id(part) in looked or _ASKED.fullmatch(of)
            if not (idle or (asked and isinstance(value, GraphValue | InstanceValue))):
                yield value


def _settled(function: FunctionValue, expression: ast.expr) -> Any:
    match value := function.around(expression):
        case FunctionValue(unread=False, given=()):
            return value.helper
        case Made(of=of, options=options) if of in (COMMAND, source.SEND):
            goto = text_of(options.get("goto" if of == COMMAND else "node", value.given[0] if value.given else None))
            bare = "graph" not in options and "**" not in options
            no_goto = bare and of == COMMAND and "goto" not in options
            return source.Jump(frozenset({goto} if goto else ()) if (goto and bare) or no_goto else None)
        case ClassValue() if value.is_plain and value.find("__new__") is UNKNOWN:
            return source.Jump(frozenset())  # what it makes goes nowhere
        case Symbol() if value == "langgraph.graph.MessagesState":
            return source.Jump(frozenset())  # nor does this
        case OneOf() | Grip():
            return UNKNOWN
        case _:
            return value


def may_differ(owner: Any, name: str, value: Any, called: str | None = "", *, begun: bool = False) -> bool:
    """Whether an attribute of a module, class or object may have another value, or other items, when the program runs.

    `called`: how the owner is spoken of; None if it is the module that speaks. `begun`: in an ``__init__`` of its
    object, too.
    """
    of = owner.of if isinstance(owner, InstanceValue) else owner
    if not isinstance(of, Frame | ClassValue) or of.project is None or value is UNKNOWN:
        return False
    if isinstance(of, Frame):
        own, stem = OWN in of.project.changes_in(of.node), of.file.stem
        spoken = "" if called is None else stem
        return own or changes.may_differ(name, value, of.project.changes, (), spoken, stem, read=True)
    kinds = [each.name for each in of.order()] + [BEGUN] * begun
    return changes.may_differ(name, value, of.project.changes, kinds, of.name, called or "", read=True)


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class that the files define."""

    name: str
    """Its name."""
    bases: tuple[Any, ...]
    """The values of its bases."""
    members: Mapping[str, Any]
    """Its attributes and methods."""
    node: ast.ClassDef
    """Its syntax."""
    project: Project
    """The files that it is among."""
    frame: Frame = field(compare=False)
    """The scope that it makes."""

    def find(self, name: str) -> Any:
        """An attribute or method, of its own or of a base."""
        return next((each.members[name] for each in self.order() if name in each.members), UNKNOWN)

    def order(self) -> list[ClassValue]:
        """Itself and its bases, as Python looks through them: one that comes twice has its last place."""
        every = [self, *(each for base in self.bases if isinstance(base, ClassValue) for each in base.order())]
        return [*{id(each): each for each in reversed(every)}.values()][::-1]

    def begins(self, name: str) -> int:
        """How often a new object's attribute may get a value; what was made in between may have read one before."""
        makers = [each.members["__init__"] for each in self.order() if "__init__" in each.members]
        hooks = [hook for each in self.order() if isinstance(hook := each.members.get("__post_init__"), FunctionValue)]
        times = [changes.stores(each.node, name) for each in (*makers, *hooks) if isinstance(each, FunctionValue)]
        return max(len(makers), sum(times) + bool(hooks and name in self.fields()))

    def fields(self) -> list[str]:
        """Its annotated attributes in order, those of its bases first: what a dataclass is given."""
        around = [name for base in self.bases if isinstance(base, ClassValue) for name in base.fields()]
        items = [item for item in self.node.body if isinstance(item, ast.AnnAssign)]
        own = [item.target for item in items if not _GIVEN_NOTHING.search(ast.unparse(item))]
        return [*dict.fromkeys([*around, *(target.id for target in own if isinstance(target, ast.Name))])]

    @property
    def is_plain(self) -> bool:
        """Whether its objects have what they are given and the defaults: no base fills them, as settings do."""
        for base, value in (pair for each in self.order() for pair in zip(each.node.bases, each.bases, strict=True)):
            written = syntax.identifier(getattr(base, "value", base))
            name = value.rpartition(".")[2] if isinstance(value, Symbol) else written
            if not (isinstance(value, ClassValue) or name in PLAIN):
                return False
        return True

    @property
    def keeps(self) -> bool:
        """Whether its objects only keep what they are given: a dataclass, a model or a tuple, without validators."""
        return self.is_plain and all(_keeps(each.node) for each in self.order())

    @property
    def is_enum(self) -> bool:
        """Whether it is an enumeration."""
        return any(isinstance(base, Symbol) and base.endswith((".Enum", ".IntEnum", ".StrEnum")) for base in self.bases)

    def member(self, name: str, value: Any) -> Any:
        """What stands for an attribute of an enumeration, whose body gives it a value."""
        names = {base.rpartition(".")[2] for base in self.bases if isinstance(base, Symbol)}
        if "StrEnum" in names and isinstance(value, Made) and value.of == "enum.auto":
            return name.lower()
        texts = "StrEnum" in names or {"Enum", "str"} <= names  # its members are strings themselves
        plain = text_of(value) is not None if texts else isinstance(value, int) and "IntEnum" in names
        return value if plain or isinstance(value, FunctionValue) else MemberValue(f"{self.name}.{name}", value)


@lru_cache(maxsize=4096)
def _keeps(of: ast.ClassDef) -> bool:
    wrappers = [syntax.identifier(getattr(line, "func", line)) for line in of.decorator_list]
    named = {getattr(node, "name", None) or syntax.identifier(node) for node in syntax.every(of)}
    changing = {"__new__", "__setattr__", *(name for name in named if "validator" in name.lower())}
    return {*wrappers} <= {"dataclass"} and named.isdisjoint(changing)


Changed: TypeAlias = tuple["InstanceValue", str, Any]
"""An object, its attribute that was changed, and what that was before; UNSET if it was not there."""
UNSET = object()


@dataclass(eq=False, slots=True)
class InstanceValue:
    """An object of a class that the files define."""

    of: ClassValue
    """The class."""
    trail: list[Changed]
    """What was changed of all objects so far, in order, so that it can be taken back for another branch."""
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    """Its own attributes; `keep` changes them."""
    bound: InstanceValue | None = None
    """If it is what ``super()`` returns, the object that the methods are given."""
    opened: Mapping[str, Any] | None = None
    """If it was made with options, what it would be made of with anything for them."""
    sure: set[str] = field(default_factory=set[str])
    """The attributes that what is being read gave a value itself: nobody else came in between."""

    def keep(self, name: str, value: Any) -> None:
        """Give an attribute a value; in a branch that does not, it has that of its class."""
        default = UNKNOWN if name in self.names else self.of.find(name)
        if default is not UNKNOWN and not (isinstance(default, FunctionValue) and default.is_property):
            self.names[name] = member(self, name)
        self.trail.append((self, name, self.names.get(name, UNSET)))
        self.names[name] = value
        self.sure.add(name)

    def blur(self) -> None:
        """Take its attributes for unknown, but for graphs and objects."""
        for name, value in [*self.names.items()]:
            if not isinstance(value, GraphValue | InstanceValue):
                self.keep(name, unknown(value))


class SetValue(list[Any]):
    """A set, as a list of its items."""


class _More:
    """Stands in a list, or as a key of a table, for items that nobody knows: something unknown was added to it."""


MORE = _More()


@dataclass(frozen=True, slots=True)
class Chain:
    """Runnables in a row: ``prompt | model | parser``."""

    parts: tuple[Any, ...]
    """Its parts."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several functions, as a condition has it; some may be of another package."""

    parts: tuple[FunctionValue | Symbol, ...]
    """The functions."""


@dataclass(frozen=True, slots=True)
class MemberValue:
    """A member of an enumeration that is no string or number itself."""

    name: str
    """The class's name and its own, which tell it from others."""
    value: Any = field(default=None, compare=False)
    """What it stands for."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a class of another package makes, with the arguments that it was given."""

    of: str
    """The full name of the class or function."""
    options: Mapping[str, Any]
    """The named arguments; with ``**`` among them if there are some that are not known."""
    given: tuple[Any, ...] = ()
    """The others."""


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A graph, or its builder."""

    graph: FoundGraph
    """What is known of it."""
    compiled: bool = False
    """Whether it can be changed no more."""


@dataclass(frozen=True, eq=False, slots=True)
class Grip:
    """What nobody knows, but that it may change builders without their names, or is, or is in, one of several things.

    So are a method as a value, the set of edges, one of several builders, and an object out of a list.
    """

    graphs: tuple[FoundGraph, ...] = ()
    """The graphs that it may change."""
    method: str | None = None
    """The method, if it is one."""
    held: tuple[Any, ...] = ()
    """The objects, lists and tables that it may be, or be a part of, or change."""


def is_unknown(value: Any) -> bool:
    """Whether nothing is known of a value, but for the objects that it may be."""
    return value is UNKNOWN or (isinstance(value, Grip) and not value.graphs)


def held_in(*values: Any, bound: bool = True) -> Iterator[Any]:
    """Values, and what they are made of, hold, or may change, as far as that may hold something; each once.

    `bound`: whether the object is among them whose method a function is.
    """
    waiting, seen = [*values][::-1], set[int]()
    while waiting:
        value = waiting.pop()
        if not isinstance(value, HOLDING) or id(value) in seen:  # a list may hold itself
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, InstanceValue):
            held = [each for each in value.names.values() if isinstance(each, _KEPT)]
            inner = [part for each in held for part in _items(each) if isinstance(part, _OBJECTS)]
        elif isinstance(value, _ITEMS):
            inner = _items(value)
        elif isinstance(value, Grip | OneOf | Chain):
            inner = value.held if isinstance(value, Grip) else value.parts
        elif isinstance(value, Made):
            inner = (*value.options.values(), *value.given)
        elif isinstance(value, FunctionValue):
            inner = reached_by(value)[not bound and isinstance(value.bound, InstanceValue) :]
        else:
            continue
        waiting += [*inner][::-1]


_OBJECTS = (GraphValue, InstanceValue)
_ITEMS = (list, tuple, dict)
_KEPT = _OBJECTS + _ITEMS
HOLDING = (*_KEPT, Chain, Grip, OneOf, Made, FunctionValue)
"""What may hold something that can be changed."""


def builders_in(*values: Any) -> list[FoundGraph]:
    """The builders that values are, hold, or may change."""
    return [graph for each in held_in(*values) for graph in _changed_by(each)]


def _changed_by(value: Any) -> Sequence[FoundGraph]:
    return value.graphs if isinstance(value, Grip) else [value.graph] if getattr(value, "compiled", 1) is False else ()


def reached_by(function: FunctionValue) -> list[Any]:
    """What a function reaches without being given it: its own object first, builders, others, lists it may change."""
    found: list[Any] = [function.bound] if isinstance(function.bound, InstanceValue) else []
    own = syntax.bindings(function.node).keys() - rebound_names(function.node)
    around = ((name, function.frame.look_up(name)) for name in names_in(function.node) if name not in own)
    for name, value in (*function.given, *around):
        lists = isinstance(value, list | dict) and name in changes.shared_in(function.node)
        if lists or isinstance(value, GraphValue | Grip | InstanceValue | tuple):
            found.append(value)
        elif isinstance(value, list | dict):
            found += (each for each in _items(value) if isinstance(each, _OBJECTS))
    return found


@lru_cache(maxsize=4096)
def rebound_names(scope: ast.AST) -> frozenset[str]:
    """The names of scopes around it that a function gives values."""
    own = syntax.own_nodes(scope) if isinstance(scope, syntax.FUNCTIONS) else ()
    return frozenset(name for node in own if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names)


@lru_cache(maxsize=4096)
def names_in(node: ast.AST) -> frozenset[str]:
    """The names that a function uses."""
    return frozenset(inner.id for inner in syntax.every(node) if isinstance(inner, ast.Name))


def unknown(*values: Any) -> Any:
    """What is known of something that is one of several values or part of them: what it may be, and may change."""
    known = [value for value in values if isinstance(value, HOLDING)]
    told = [value for value in known if isinstance(value, Grip)]  # what these may be was looked up before
    if not known or (len(told) == len(known) == 1 and not told[0].method):
        return known[0] if known else UNKNOWN
    held = [*held_in(*(value for value in known if not isinstance(value, Grip)))]
    kept = {id(each): each for each in held if isinstance(each, InstanceValue | list | dict)}
    kept |= {id(each): each for each in held if getattr(each, "compiled", False)}
    kept |= {id(each): each for value in told for each in value.held}
    graphs = dict.fromkeys(graph for each in (*held, *told) for graph in _changed_by(each))
    return Grip((*graphs,), held=(*kept.values(),)) if graphs or kept else UNKNOWN


def part_of(value: Any) -> Any:
    """What is known of something in a list or table, or of a part of anything else."""
    return unknown(*_items(value))


def _items(value: Any) -> Iterable[Any]:
    """What is in a list or table; of anything else, itself."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)


def same(values: Sequence[Any]) -> Any:
    """The value if all are the same one, else what is known of each."""
    parts = [part for value in values for part in (value.parts if isinstance(value, OneOf) else [value])]
    if all(_alike(part, parts[0]) for part in parts[1:]):
        return parts[0]
    own = [part for part in parts if isinstance(part, FunctionValue)]
    packaged = all(isinstance(part, FunctionValue | Symbol) for part in parts)  # a package's, or the project's instead
    if not own or not packaged or any(part.is_property for part in own):
        return unknown(*values)
    each = [part for at, part in enumerate(parts) if not any(_alike(part, other) for other in parts[:at])]
    return OneOf(tuple(each)) if len(each) <= 10 and not builders_in(*each) else unknown(*values)


def is_option(name: str, value: Any, frame: Frame) -> bool:
    """Whether a default decides a condition, so that another value may make another graph."""
    asked = {name, f"_{name}"} & _asked_in([*frame.scopes()][-1].node)
    return isinstance(value, bool | (int | float | str | list | tuple | dict | None if asked else bool))


@lru_cache(maxsize=4096)
def _asked_in(tree: ast.AST) -> frozenset[str]:
    """The names and attributes that the conditions of a file ask."""
    kinds = (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.comprehension)
    asking = (node for node in syntax.every(tree) if isinstance(node, kinds))
    tests = (getattr(node, "test", ast.Tuple(getattr(node, "values", getattr(node, "ifs", [])))) for node in asking)
    return frozenset(syntax.identifier(part) for test in tests for part in ast.walk(test))


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same; functions are not with other defaults, nor two lists, which others may fill."""
    equal = type(one) is type(other) and one == other and not isinstance(one, list | dict)
    return one is other or (equal and getattr(one, "defaults", ()) == getattr(other, "defaults", ()))


def changes_builder(method: str) -> bool:
    """Whether a method of that name may change a builder, or what it keeps its graph in."""
    return method.startswith(("add_", "set_")) or method in CHANGING


@dataclass(frozen=True, slots=True)
class Words:
    """``Literal[...]``, or a Command of one."""

    words: tuple[Any, ...]
    """What is named."""
    command: bool = False
    """Whether it is the type of a Command."""


def member(owner: Any, name: str) -> Any:
    """An attribute of a value; unknown, where it may have another value when the program runs."""
    match owner:
        case Symbol():
            return symbol(f"{owner}.{name}")
        case MemberValue():
            return owner.value if name == "value" else UNKNOWN
        case str() if name == "value":  # a member of a StrEnum
            return owner
        case GraphValue(compiled=True) if name == "builder":
            return GraphValue(owner.graph)
        case GraphValue(compiled=True) if name in ("invoke", "ainvoke"):
            return source.Jump(frozenset())  # its state goes nowhere
        case GraphValue() if name in PARTS or (changes_builder(name) and not owner.compiled):
            return Grip((owner.graph,), None if name in PARTS else name)
        case Grip() | list() | dict():  # a method of these, as a value
            own = name in CHANGING and not isinstance(owner, Grip)
            return Grip(method=name, held=(owner,)) if own else unknown(owner)
        case InstanceValue() if name == "__class__":
            return owner.of
        case InstanceValue() if name in owner.names:
            value = owner.names[name]
            fixed = name in owner.sure or isinstance(value, GraphValue)
            return value if fixed or not may_differ(owner, name, value) else unknown(value)
        case ClassValue() if owner.is_enum and name in owner.members:
            return owner.member(name, _found(owner, name))
        case Frame() | ClassValue() | InstanceValue():  # a frame is another module of the same folder tree
            value = owner.look_up(name) if isinstance(owner, Frame) else _found(owner, name)
            begun = isinstance(owner, InstanceValue)
            fixed = isinstance(value, FunctionValue if begun else GraphValue | FunctionValue | ClassValue | Frame)
            return value if fixed or not may_differ(owner, name, value, begun=begun) else unknown(value)
        case _:
            return UNKNOWN


def _found(owner: ClassValue | InstanceValue, name: str) -> Any:
    """What a class has, a method as it or an object of it hands it out."""
    me, of = (owner.bound or owner, owner.of) if isinstance(owner, InstanceValue) else (None, owner)
    value = of.find(name)
    if not isinstance(value, FunctionValue) or "staticmethod" in value.decorators:
        return value
    bound = (me.of if me else of) if "classmethod" in value.decorators else me
    return UNKNOWN if value.is_property else value if bound is None else replace(value, bound=bound)


def functions_in(tree: ast.AST, frame: Frame) -> Iterator[tuple[Any, Frame]]:
    """Every named function of a file with the scope it is in, methods and nested ones too."""
    waiting: list[tuple[Any, Frame]] = [(tree, frame)]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, around
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = Frame(node, around.file, f"{around.name}.{node.name}".lstrip("."), around)
        waiting += ((inner, around) for inner in reversed(syntax.parts_of(node)) if not isinstance(inner, ast.expr))
