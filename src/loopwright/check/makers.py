"""Which functions of a project may make a graph, so that only these are followed to their ends."""

import ast
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Set
from pathlib import Path
from typing import Any

from loopwright.check.project import Project
from loopwright.check.values import MAKERS
from loopwright.engine.proof.syntax import every, identifier, parts_of, stored_in
from loopwright.errors import GraphError

_MAKING = re.compile(
    rf"{'|'.join(MAKERS)}|bounded|entrypoint|create_\w*(agent|graph|supervisor|swarm|codeact|executor)"
    r"|add_(node|edge|conditional_edges|sequence)|set_(entry|finish)_point|compile"
)
"""The names of what may make a graph."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMING = (ast.Name, ast.Attribute, ast.Constant)


class Makers:
    """The functions and classes of a project that name what makes a graph, or call one that does."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._files: dict[Path, _File] = {}

    def has(self, node: Any, path: Path) -> bool:
        """Whether a function or class of a file, or all of it, has a line that may make a graph."""
        file = self._file(path)
        return bool(file.lines) if isinstance(node, ast.Module) else file.has(node)

    def _file(self, path: Path) -> "_File":
        """A file, once it and all that it imports have told each other what makes a graph."""
        if path not in self._files:
            importers, waiting = defaultdict[Path, list[Path]](list), [path]
            for each in (each for each in waiting if each not in self._files):  # it grows
                try:
                    tree, imported = self._project.open(each).tree, self._project.imports(each)
                except GraphError:
                    tree, imported = ast.Module([], []), []
                self._files[each] = _File(tree)
                waiting += imported
                for other in imported:
                    importers[other].append(each)
            waiting = [*importers]
            for each in waiting:
                told = self._files[each].names
                waiting += [importer for importer in importers[each] if self._files[importer].learn(told)]
        return self._files[path]


class _File:
    """What a file names, calls and imports, and what of it may make a graph."""

    def __init__(self, tree: ast.Module) -> None:
        self.lines = list[int]()
        """The lines that may make a graph, in order."""
        self.names = set[str]()
        """What has such lines, also where it is imported, by the names that it is called by: ``f``, ``C``, ``C.f``."""
        of_kind = defaultdict[type[ast.AST], list[Any]](list)
        for node in every(tree):
            of_kind[type(node)].append(node)
        classes, naming = of_kind[ast.ClassDef], [each for kind in _NAMING for each in of_kind[kind]]
        outer = [each for of in tree.body for each in (of, *(parts_of(of) if isinstance(of, ast.If | ast.Try) else ()))]
        own = [(node.name, node) for node in outer if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
        own += [(f"{of.name}.{node.name}", node) for of in classes for node in of.body if isinstance(node, _FUNCTIONS)]
        self._own = [(name, node) for name, node in own if ".__" not in name]
        # Other names of them, and tables; what a call makes is no maker.
        more = (of for of in outer if isinstance(of, ast.Assign | ast.AnnAssign) and not isinstance(of.value, ast.Call))
        self._own += [(name, of) for of in more for name in stored_in(of)]
        self._heirs = defaultdict[str, set[str]](set)
        """The classes that may have a class's methods: by inheritance, or as the one that calls what an heir has."""
        for heir, base in ((of.name, base) for of in classes for base in of.bases):
            name = identifier(base.value if isinstance(base, ast.Subscript) else base)
            self._heirs[name].add(heir)
            self._heirs[heir].add(name)
        self._imported = defaultdict[str, set[str]](set)
        """What is imported by its name, with the names that it has here."""
        for alias in (alias for kind in (ast.Import, ast.ImportFrom) for node in of_kind[kind] for alias in node.names):
            self._imported[alias.name].add(alias.asname or alias.name.partition(".")[0])
        self._modules = frozenset[str]().union(*self._imported.values())
        made = [(name, node) for node in naming if _MAKING.fullmatch(name := _named(node))]
        self.lines += sorted(getattr(node, "end_lineno", 0) for _, node in made)
        self._called = defaultdict[str, list[int]](list)
        """What is named here or of a module, to be called or handed on, and of a class's own object, with its lines."""
        used = [(identifier(node), node) for node in naming if self._is_used(node)]
        used += [(_called_inside(node, of.name), node) for of in classes for node in every(of)]
        for name, node in (each for each in used if each[0]):
            self._called[name].append(getattr(node, "end_lineno", 0))
        self.learn({name for name, _ in made} | {*filter(_MAKING.fullmatch, self._imported)})

    def has(self, node: Any) -> bool:
        """Whether a function or class has a line that may make a graph."""
        return bisect_left(self.lines, node.lineno) != bisect_right(self.lines, node.end_lineno)

    def learn(self, made: Set[str]) -> bool:
        """Take the names of what makes a graph from a file that it imports; whether it has more names itself now."""
        before, called = len(self.names), {*made}
        fresh = {each for name in made for each in self._here(name)} - self.names
        while True:  # what calls them makes a graph, and what calls that
            self.names |= fresh
            lines = (line for name in (*fresh, *called) for line in self._called.get(name, ()))
            self.lines = sorted({*self.lines, *lines})
            owners = (name.partition(".")[::2] for name in fresh | called if "." in name)
            heirs = {f"{of}.{method}" for owner, method in owners for of in self._heirs.get(owner, ())}
            fresh, called = ({name for name, node in self._own if self.has(node)} | heirs) - self.names, set[str]()
            if not fresh:
                return len(self.names) > before

    def _here(self, name: str) -> list[str]:
        """The names that something of another file has in this one, if it is imported by its name."""
        owner, dot, method = name.partition(".")
        names = {*self._imported.get(owner, ()), *([owner] if "*" in self._imported else [])}
        return [f"{each}{dot}{method}" for each in names]

    def _is_used(self, node: ast.AST) -> bool:
        """Whether something is a name, or looked up in what was imported."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(node, ast.Name) or identifier(root) in self._modules


def _named(node: ast.AST) -> str:
    """The name in a piece of the syntax that may be that of a maker."""
    match node:
        case ast.Name(id=name) | ast.Constant(value=str(name)):  # a text is for ``getattr``
            return name if name != "compile" else ""  # by itself it is Python's own
        case ast.Attribute(value=owner, attr=name):
            return name if name != "compile" or identifier(owner).strip("_") not in ("re", "regex") else ""
        case _:
            return ""


def _called_inside(node: ast.AST, of: str) -> str:
    """The method that a piece of a class uses of its own object; the class, where it makes another object of it."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            asked = identifier(owner.func if isinstance(owner, ast.Call) else owner)
            return f"{of}.{name}" if asked in ("self", "cls", "super") else ""
        case ast.Call(func=function, args=given):
            typed = isinstance(function, ast.Call) and identifier(function.func) == "type"
            copied = identifier(function) == "replace" and bool(given) and identifier(given[0]) == "self"
            return of if typed or copied or identifier(function) in ("cls", "__class__") else ""
        case _:
            return ""
