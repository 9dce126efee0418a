"""The graphs of a file, each with its name, its verdict and what is wrong with it."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from loopwright.check.calls import WORK
from loopwright.check.found import FUNCTIONAL, FoundGraph, Place
from loopwright.check.project import Project
from loopwright.check.proving import CALLED_AGAIN, Finding, Verdict, prove, rings
from loopwright.check.reader import Reader, asks_for_main
from loopwright.check.values import (
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    InstanceValue,
    builders_in,
    functions_in,
)
from loopwright.engine.proof.source import UNKNOWN
from loopwright.engine.proof.syntax import bindings, bound_once, every, reassigned_inside
from loopwright.errors import GraphError

EXACTLY = ". --import reads it exactly"
"""What to do about a graph that is not read, if an import of its file makes it."""


@dataclass(frozen=True, slots=True)
class CheckedGraph:
    """A graph and what was found."""

    name: str
    """``FILE:variable``, or ``FILE:function.variable``."""
    place: Place
    """Where it is made."""
    verdict: Verdict
    """What is known of it."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with it."""
    bounds: tuple[str, ...] = ()
    """What bounds it, as its source says."""
    notes: tuple[str, ...] = ()
    """What else is worth saying: a limit that is no bound, cycles with several entrances."""
    assumptions: tuple[str, ...] = ()
    """What the verdict ``bounded`` rests on."""
    steps: int | None = None
    """The steps that the graph itself allows a run; None: LangGraph's default."""
    certificate: Any = field(default=None, compare=False)
    """The `Certificate`, where the graph was imported and its proof holds."""


class Checker:
    """Checks files one by one; what they import from each other, by `Project`, is read once."""

    def __init__(self, roots: list[Path], projects: Sequence[Path] = ()) -> None:
        self.project = Project(roots, projects)
        self.reader = Reader(self.project)
        self._reported: dict[tuple[Path, int, int], list[Any]] = {}
        self._kept: list[tuple[FoundGraph, str]] = []
        self._inside, self._counters = list[FoundGraph](), dict[Any, Any]()
        self._instances: dict[ast.AST, InstanceValue] = {}
        self._done = set[Path]()
        self.check = cache(self._check)

    def _check(self, path: Path) -> list[CheckedGraph]:
        """Find and prove a file's graphs, as `Reader.module` reads it, but for silenced findings; kept, as `check`."""
        source = self.project.open(path)
        while self.project.unread:  # one that comes later may hand on, or call, what this one defines
            if self.project.imports(other := self.project.unread.pop(0)):
                with suppress(Exception):  # it is reported where it is checked itself
                    self.reader.module(other)
        if not self.reader.makers.has(source.tree, path) and not self.project.imports(path):
            return []
        frame = self.reader.module(path)
        self.reader.left = WORK
        read: list[tuple[ast.AST, str, FoundGraph]] = [(source.tree, *each) for each in self._named(frame, "", None)]
        self._instances.clear()
        for node, around in functions_in(source.tree, frame):
            if self.reader.makers.has(node, path) and (node not in self.reader.called or node in self.reader.handed):
                read += ((node, *each) for each in self._read(node, around, frame))
        for node in [each for each in every(source.tree) if each in self.reader.classes]:
            read += ((node, *each) for each in self._inherited(self.reader.classes[node]))
        for node in source.tree.body:
            if isinstance(node, ast.If) and asks_for_main(node.test):
                read += ((node, *each) for each in self._root(node, frame, None))
        # What a function makes that another one calls and bounds is told there.
        bounded, called = {graph.origin.site for graph in self.reader.graphs if graph.origin}, {*self.reader.called}
        named = [(name, graph) for node, name, graph in read if graph.site not in bounded or node not in called]
        self._done.add(frame.file)
        self._inside = [node.graph for graph in self.reader.graphs for node in graph.nodes.values() if node.graph]
        opened = [*self._opened(bounded)]
        self.reader.called = called  # what only other options call is read by itself, with anything
        for graph, name in self._kept:
            if graph.compiled_as is None:
                graph.refuse(graph.place, f"it is kept in {name}, where other functions may change it")
        found = [self._checked(*each, path) for each in named]
        found += (self._checked(*each, opened=True) for each in opened)
        kept = [*dict.fromkeys(filter(None, found))]
        worse = {(graph.name, graph.place) for graph in kept if graph.findings}  # of one line, what is wrong is told
        return [graph for graph in kept if graph.findings or (graph.name, graph.place) not in worse]

    def _opened(self, bounded: Set[Any]) -> Iterator[tuple[str, FoundGraph, Path]]:
        """Read what was called and has options once more, with anything for them, as far as the work of a file goes."""
        calls = self.reader.opened
        while due := [each for each in calls.values() if each and each[0].frame.file in self._done]:
            due.sort(key=lambda each: not self.reader.makers.has(each[0].node, each[0].frame.file))
            for function, its, me in due:
                calls[function.node], makers = None, (function, *(me.of.order() if me else ()))
                builds = any(self.reader.makers.has(each.node, each.frame.file) for each in makers)
                made = list[tuple[str, FoundGraph]]()
                for way in _ways(function, its) if builds else ():
                    with suppress(GraphError):
                        own = me and replace(me, names={**(me.opened or me.names)}, sure=set())
                        if me and me.opened and isinstance(begin := me.of.find("__init__"), FunctionValue):
                            self.reader.function(begin.node, begin.frame, own, me.opened)
                        made += self._root(function.node, function.frame, own, way)
                elsewhere = bounded - {graph.origin.site for _, graph in made if graph.origin}
                inside = {node.graph for each in self.reader.graphs for node in each.nodes.values()}
                for name, graph in made:  # what is not compiled by itself is there to be bounded
                    if graph not in inside and graph.site not in (bounded if graph.compiled_as is None else elsewhere):
                        yield name, graph, function.frame.file

    def _inherited(self, of: ClassValue) -> Iterator[tuple[str, FoundGraph]]:
        """Read the methods that a class has of its bases, where it changes something that they may use."""
        bases = [base for base in of.order() if base.node is not of.node]
        held = {name: value for base in reversed(bases) for name, value in base.members.items()}
        for name, method in held.items() if not held.keys().isdisjoint(of.members) else ():
            own = name in (*of.members, "__init__") or not isinstance(method, FunctionValue)
            told = own or (of.node, method.node) in self.reader.called
            if not told and self.reader.makers.has(method.node, (around := method.frame).file):
                yield from self._shared(of, method.node)
                scope = Frame(around.node, around.file, of.frame.name, around.parent)
                yield from self._root(method.node, scope, self._instances[of.node])

    def _shared(self, of: ClassValue, method: ast.AST) -> Iterator[tuple[str, FoundGraph]]:
        """Make the object that the methods of a class share, as one of them may find it."""
        if of.node not in self._instances:
            bound = self._instances[of.node] = InstanceValue(of, self.reader.trail)
            begin = of.find("__init__")
            bound.names |= {} if isinstance(begin, FunctionValue) else dict.fromkeys(of.fields(), UNKNOWN)
            if isinstance(begin, FunctionValue) and begin.node is not method:
                made = self._root(begin.node, begin.frame, bound)
                yield from () if (of.node, begin.node) in self.reader.called else made  # told as it was called
                self.reader.called.add(begin.node)

    def _read(self, node: Any, around: Frame, frame: Frame) -> Iterator[tuple[str, FoundGraph]]:
        """Read a function that nothing else called; the methods of a class share one object."""
        scope, bound = self._living(around, frame), None
        if of := self.reader.classes.get(around.node):
            yield from self._shared(of, node)
            bound = self._instances[around.node]
            scope = Frame(around.node, around.file, around.name, frame)
        if node not in self.reader.called or node in self.reader.handed:
            yield from self._root(node, scope, bound)

    def _root(self, node: ast.AST, around: Frame, bound: Any, its: Any = ()) -> Iterator[tuple[str, FoundGraph]]:
        inner, returned = self.reader.function(node, around, bound, dict(its))
        return self._named(inner, f"{inner.name}.", returned)

    def _living(self, around: Frame, frame: Frame) -> Frame:
        """The scope around a function: the module's own names, and what the function around it gave a value once.

        What that binds otherwise is unknown, and hides a name of the module's.
        """
        if around.name == "":
            return frame
        read = self.reader.read.get(around.node)
        fixed = dict.fromkeys(bindings(around.node), UNKNOWN)
        fixed |= {
            name: value for name, value in (read.names.items() if read else ())
            if bound_once(around.node, name) and not isinstance(value, list | dict | GraphValue)
        }  # fmt: skip
        parent = frame if around.parent is None else self._living(around.parent, frame)
        return Frame(around.node, around.file, around.name, parent, fixed)

    def _named(self, frame: Frame, prefix: str, returned: Any) -> Iterator[tuple[str, FoundGraph]]:
        """The graphs that were made while a scope was read, once each, with the best name there is."""
        made = [graph for graph in self.reader.graphs if graph.owner is frame]
        made += {  # begun in another file, and gone on with here
            value.graph: None for name, value in frame.names.items()
            if isinstance(value, GraphValue) and _is_own(name, value, frame) and value.graph not in made
            and isinstance(value.graph.owner, Frame) and value.graph.owner.name == "" and value.graph.owner is not frame
        }  # fmt: skip
        names: dict[FoundGraph, tuple[bool, str]] = {}
        for name, value in _names_of(frame):
            if isinstance(value, GraphValue) and _is_own(name, value, frame):
                kept = names.get(value.graph)
                if kept is None or (value.compiled and not kept[0]):
                    names[value.graph] = (value.compiled, f"{prefix}{name}")
                if "." in name or name in reassigned_inside(frame.node):
                    self._kept.append((value.graph, name))
        if isinstance(returned, GraphValue):
            names.setdefault(returned.graph, (returned.compiled, prefix.rstrip(".") or str(returned.graph.place.line)))
        own = set(names)
        for graph in made:
            if graph not in names and (at := graph.frame) is not frame:  # a function that was called
                held = [name for name, value in at.names.items() if getattr(value, "graph", None) is graph]
                named = f"{at.name}.{held[-1] if held else graph.place.line}"
                names[graph] = (False, named if at.file == frame.file else f"{at.file}:{named}")
        inside = {node.graph for graph in made for node in graph.nodes.values()}
        bounded = {
            graph.origin for graph in made
            if graph.origin and graph.origin.branch[: len(graph.branch)] == graph.branch
            and not (graph.of_builder and names.get(graph.origin, (False, ""))[0])  # it is kept compiled plainly, too
        }  # fmt: skip
        # Of a builder that nothing compiles plainly and nobody is handed, every way is bounded.
        bounded |= {graph.origin for graph in made if graph.origin and graph.origin.compiled_as is None}
        bounded -= {graph for graph in builders_in(returned) if graph.compiled_as is None}
        for graph in made:
            if graph not in bounded and (graph not in inside or graph in own):
                yield names[graph][1] if graph in names else f"{prefix}{graph.place.line}", graph

    def _checked(self, name: str, graph: FoundGraph, path: Path, opened: bool = False) -> CheckedGraph | None:
        """A graph as it is told, unless it was; of what was `opened`, only what has cycles that the others have not."""
        told = {cycle for *_, seen in self._reported.get(graph.site, ()) for cycle, _ in seen[3:]}
        told = told.union(*(rings(each) for each in self._inside if opened and each.site == graph.site))
        if opened and not (graph.origin or any(node.graph for node in graph.nodes.values())) and rings(graph) <= told:
            return None  # without a look at its counters
        proof = prove(graph, {}, self._counters)
        if not (graph.nodes or graph.missed or graph.compiled_as or graph.origin or proof.problem):
            return None  # a builder that is still empty: who fills it is looked at
        known = self._reported.setdefault(graph.site, [])
        seen = (proof.problem, proof.lost, proof.unread, *((cycle.cycle, cycle.rule) for cycle in proof.cycles))
        inner = name.startswith(f"{graph.place.file}:")  # a call made it that keeps it under no name here
        if any(other == seen and (inner or (at, owner) != (path, graph.owner)) for at, owner, other in known):
            return None  # the same graph again, as another function or file makes it
        sure = graph.made and any(not any(other) for *_, other in known)  # of an agent, other limits are no less known
        if opened and all(cycle.cycle in told or (sure and cycle.rule == "unproven-cycle") for cycle in proof.cycles):
            return None
        known.append((path, graph.owner, seen))
        verdict, findings = proof.verdict(partial=graph.compiled_as is None and graph.owner.name != "")
        exact = not any(each.why.endswith((FUNCTIONAL, CALLED_AGAIN)) for each in findings)
        more = {"graph-not-read": EXACTLY if graph.owner.name == "" and path.suffix == ".py" and exact else ""}
        kept = [
            replace(finding, place=self._shown(finding.place), why=finding.why + more.get(finding.rule, ""))
            for finding in findings
            if not (self._is_silenced(graph.place) or self._is_silenced(finding.place))
            if not (opened and finding.cycle in told)
        ]
        place = self._shown(graph.place)
        name = f"cell {place.cell}, line {place.line}" if place.cell and name == str(graph.place.line) else name
        return CheckedGraph(
            name if inner else f"{path}:{name}", place, verdict, tuple(kept),
            bounds=graph.bounds if verdict == "bounded" else (), notes=proof.notes,
            assumptions=proof.assumptions if verdict == "bounded" else (), steps=graph.steps,
        )  # fmt: skip

    def _shown(self, place: Place) -> Place:
        """A place as people find it in a notebook: the line of its cell, and which cell."""
        line, cell = self.project.open(place.file).cell_of(place.line)
        return replace(place, line=line, cell=cell)

    def _is_silenced(self, place: Place) -> bool:
        return not self.project.open(place.file).ignored.isdisjoint(range(place.line, place.last + 1))


def _ways(function: FunctionValue, its: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a maker may be given: options that it only asks for yes or no both ways, and anything for the others."""
    tests = [node.test for node in every(function.node) if isinstance(node, ast.If | ast.IfExp | ast.While)]
    asked = [getattr(getattr(test, "operand", test), "id", "") for test in tests]
    used = [node.id for node in every(function.node) if isinstance(node, ast.Name)]
    flags = [name for name, value in function.defaults if isinstance(value, bool) and its.get(name) is UNKNOWN]
    flags = [name for name in flags if 0 < used.count(name) == asked.count(name)][:3]
    return [{**its, **dict(zip(flags, way, strict=True))} for way in product((True, False), repeat=len(flags))]


def _is_own(name: str, value: GraphValue, frame: Frame) -> bool:
    """Whether a scope makes a graph or goes on with it, and does not only import it."""
    return name not in frame.imported or any(place.file == frame.file for _, place in value.graph.all_edges())


def _names_of(frame: Frame) -> Iterator[tuple[str, Any]]:
    """The names of a scope, and the attributes of the object whose method it is."""
    for name, value in frame.names.items():
        yield name, value
        if isinstance(value, InstanceValue):
            yield from ((f"{name}.{attribute}", held) for attribute, held in value.names.items())
