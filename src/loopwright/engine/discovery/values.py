"""What the reader knows of a value: plain constants as they are, and these for the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopwright.engine.discovery.found import END, START, FoundGraph
from loopwright.engine.source_hints import COMMAND, SEND, UNKNOWN, Symbol, bindings, bound_once

MAKERS = ("StateGraph", "MessageGraph", "Graph")
"""LangGraph's builders."""

_CONSTANTS = {"START": START, "END": END}
_TYPES = ("typing", "typing_extensions")


def symbol(dotted: str) -> Any:
    """The value of a name that is imported from a package: a constant where it is LangGraph's, else its full name."""
    package, _, name = dotted.rpartition(".")
    top = package.partition(".")[0]
    if top == "langgraph" and name in _CONSTANTS:
        return _CONSTANTS[name]
    if top == "langgraph" and name in ("Send", "Command"):
        return Symbol(SEND if name == "Send" else COMMAND)
    if top == "langgraph" and name in MAKERS:
        return Symbol(f"langgraph.graph.{name}")
    if top == "loopwright" and name in ("Loop", "add_node", "bounded"):
        return Symbol(f"loopwright.{name}")
    return Symbol(f"typing.{name}" if package in _TYPES else dotted)


def text_of(value: Any) -> str | None:
    """The value if it is a string of the program's, not the name of something."""
    return str.__str__(value) if isinstance(value, str) and not isinstance(value, Symbol) else None


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

    def scopes(self) -> Iterator[Frame]:
        """This scope and those around it, as Python looks names up: classes are skipped from within."""
        frame: Frame | None = self
        while frame is not None:
            if frame is self or not isinstance(frame.node, ast.ClassDef):
                yield frame
            frame = frame.parent

    def look_up(self, name: str) -> Any:
        """The value of a name at this moment of the reading."""
        return next((frame.names[name] for frame in self.scopes() if name in frame.names), UNKNOWN)

    def settled(self, expression: ast.expr) -> Any:
        """The value of a name or attribute whenever a function looks at it: only what is bound once."""
        if isinstance(expression, ast.Attribute):
            return member(self.settled(expression.value), expression.attr)
        if not isinstance(expression, ast.Name):
            return UNKNOWN
        name = expression.id
        frame = next((frame for frame in self.scopes() if name in bindings(frame.node)), None)
        if frame is None or not bound_once(frame.node, name):
            return UNKNOWN
        return frame.names.get(name, UNKNOWN)


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function that the file defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    """Its syntax."""
    frame: Frame
    """The scope that it was defined in."""

    @property
    def name(self) -> str:
        """The name as Python gives it."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def decorated(self) -> bool:
        """Whether a decorator may have put something else in its place."""
        return not isinstance(self.node, ast.Lambda) and bool(self.node.decorator_list)


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class that the file defines."""

    name: str
    """Its name."""
    bases: tuple[Any, ...]
    """The values of its bases."""
    members: Mapping[str, Any]
    """Its attributes and methods."""

    @property
    def is_text_enum(self) -> bool:
        """Whether its members are strings themselves."""
        names = [base.rpartition(".")[2] for base in self.bases if isinstance(base, Symbol)]
        return "StrEnum" in names or ("Enum" in names and "str" in names)

    @property
    def is_enum(self) -> bool:
        """Whether it is an enumeration."""
        return any(isinstance(base, Symbol) and base.rpartition(".")[2] in ("Enum", "StrEnum") for base in self.bases)


@dataclass(frozen=True, slots=True)
class MemberValue:
    """A member of an enumeration that is no string; its ``value`` is one."""

    value: Any
    """What it stands for."""


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """Another module of the same folder tree."""

    frame: Frame
    """Its names."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a class of another package makes, with the arguments that it was given."""

    of: str
    """The full name of the class or function."""
    options: Mapping[str, Any]
    """The named arguments."""


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A graph, or its builder."""

    graph: FoundGraph
    """What is known of it."""
    compiled: bool = False
    """Whether it can be changed no more."""


@dataclass(frozen=True, slots=True)
class Words:
    """``Literal[...]``, or a Command of one."""

    words: tuple[Any, ...]
    """What is named."""
    command: bool = False
    """Whether it is the type of a Command."""


def member(owner: Any, name: str) -> Any:
    """An attribute of a value."""
    match owner:
        case Symbol():
            return symbol(f"{owner}.{name}")
        case ModuleValue():
            return owner.frame.names.get(name, UNKNOWN)
        case MemberValue():
            return owner.value if name == "value" else UNKNOWN
        case str() if name == "value":  # a member of a StrEnum
            return owner
        case ClassValue():
            value = owner.members.get(name, UNKNOWN)
            return MemberValue(value) if owner.is_enum and not owner.is_text_enum and text_of(value) else value
        case _:
            return UNKNOWN
