"""Graphs that are imported: the ones that a command line names, and their exact proof."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence, Set
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from inspect import isfunction
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from loopwright.check.factories import called
from loopwright.check.findings import CheckedGraph, Checker
from loopwright.check.found import Place
from loopwright.check.project import NOTEBOOK, SourceFile, package_root
from loopwright.check.proving import CALLED_AGAIN, WHOLE, Finding, cycle_finding, suggested
from loopwright.check.targets import missing, split_target
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.proof.choice import choose
from loopwright.engine.proof.graph import refusals_apart
from loopwright.engine.proof.reach import LIBRARIES, file_of
from loopwright.engine.proof.read import builder_of, read_topology
from loopwright.engine.proof.syntax import own_nodes, stored
from loopwright.engine.proof.verify import check_shape, verify
from loopwright.engine.proof.worst_case import calling_back
from loopwright.errors import GraphError, unknown_name_message

T = TypeVar("T")

_BEFORE, _ROOTS, _LOADED = frozenset(sys.modules), dict[Path, None](), set[str]()
"""The modules that no check has imported; the folders of checked graphs, the last one last; what came with them."""


def load_graphs(target: str, allow_empty: bool = False) -> dict[str, Any]:
    """Import the graphs that a target names.

    Args:
        target: ``MODULE:GRAPH`` (the module importable from here, the graph a variable or a function without required
            arguments that makes one), or a Python file, which may have ``:GRAPH`` behind it too.
        allow_empty: Whether a file without graphs is no error.

    Returns:
        Name -> graph; all graphs of the file if none was named, without the builders of those that were compiled.

    Raises:
        GraphError: If the module cannot be imported or holds no such graph.
    """
    place, name = split_target(target)
    folder = f"{place} is a folder; name the file that is meant, too: {Path(place, 'FILE.py')}:GRAPH"
    if place.endswith(".py"):
        module = _from_file(Path(place))
    elif place.endswith(NOTEBOOK):  # else a file of that name beside it would be run
        raise GraphError(f"{place} is a notebook, which is read and never imported")
    elif Path(place).name != place:  # no module is called so
        raise GraphError(folder) if Path(place).is_dir() else missing("folder", place)
    else:
        _look_first_in(Path.cwd())
        package = place.partition(".")[0]
        if package and importlib.util.find_spec(package) is None:
            raise GraphError(f"cannot import {place}: {missing('module or folder', package)}")
        module = _tried(partial(importlib.import_module, place), f"cannot import {place}")
    if name:
        if not hasattr(module, name):
            names = [key for key, value in vars(module).items() if _is_graph(value) or _makes_one(value)]
            raise GraphError(f"{place}: {unknown_name_message('graph', name, names)}")
        return {target: _made(getattr(module, name), target)}
    found = _finished({f"{place}:{key}": value for key, value in vars(module).items() if _is_graph(value)})
    if not found and Path(place).is_dir():
        raise GraphError(folder)
    if not found and not allow_empty:
        raise GraphError(f"{place} holds no LangGraph graph; name a function that makes one: {place}:build_graph")
    return found


def _finished(graphs: dict[str, Any]) -> dict[str, Any]:
    """The graphs without builders that were compiled, and without what was handed to `bounded`."""
    given = [graph.made_of for graph in graphs.values() if isinstance(graph, BoundedGraph)]
    compiled = [graph for graph in graphs.values() if isinstance(graph, CompiledStateGraph)]
    steps = {*map(id, given), *(id(builder_of(graph)) for graph in (*given, *compiled))}
    first = {id(graph): name for name, graph in reversed(graphs.items())}.values()  # one graph may have two names
    return {name: graph for name, graph in graphs.items() if name in first and id(graph) not in steps}


def _is_graph(value: Any) -> bool:
    return isinstance(value, StateGraph | CompiledStateGraph)


def _makes_one(value: Any) -> bool:
    return isfunction(value) and "Graph" in str(value.__annotations__.get("return"))


def _made(value: Any, target: str) -> Any:
    value = getattr(value, "__loopwright_graph__", value)  # a workflow's class makes its graph
    if callable(value) and not _is_graph(value):
        value = _tried(partial(called, value), f"{target}() fails")
    if not _is_graph(value):
        raise GraphError(f"{target} is a {type(value).__name__}, not a LangGraph graph")
    return value


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise missing("file", str(path))
    root, name = _root_and_name(path)
    if root != next(reversed(_ROOTS), None):  # another project may use the same names
        _ROOTS.pop(root, None)
        _ROOTS[root] = None
        around = {*_ROOTS, Path.cwd()}
        for each in sys.modules.keys() - _BEFORE:
            file = file_of(sys.modules[each])
            if file.startswith(LIBRARIES):
                continue
            roots = around if each in _LOADED else _ROOTS
            near = next((folder for folder in Path(file).parents if folder in roots), root)
            own = root / each.partition(".")[0]  # what the new root has under that name
            if near != root and (own.is_dir() or own.with_suffix(".py").is_file()):
                del sys.modules[each]
    _look_first_in(root)
    known = frozenset(sys.modules)
    try:
        return _executed(path, name)
    finally:
        _LOADED.update(sys.modules.keys() - known)


def _executed(path: Path, name: str) -> ModuleType:
    failure = f"cannot import {path}"
    if "." in name:  # in a package, whose relative imports must work
        return _tried(partial(importlib.import_module, name), failure)
    names = chain([name], (f"{name}_{number}" for number in count(2)))  # two folders may each have a ``graph.py``
    name = next(each for each in names if each not in sys.modules)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec  # of a file that ends with .py
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        # Read anew, never from a cache: a cached file of the same second and length would be an older graph's.
        _tried(lambda: exec(compile(path.read_bytes(), str(module.__file__), "exec"), vars(module)), failure)
    except GraphError:
        del sys.modules[name]
        raise
    return module


def _root_and_name(path: Path) -> tuple[Path, str]:
    """The folder that a file's outermost package lies in, and its dotted name from there."""
    folder = package_root(path.resolve())
    parts = [*path.resolve().relative_to(folder).with_suffix("").parts]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    named = all(part.isidentifier() for part in parts)
    return (folder, ".".join(parts)) if named else (path.resolve().parent, path.stem)


def _look_first_in(folder: Path) -> None:
    # What lies here is found as ``python -m`` finds it: a project imports its own folders from its root. Graphs that
    # were loaded before import from theirs as they run.
    sys.path[:] = dict.fromkeys((str(folder), *sys.path, str(Path.cwd())))


def _tried(call: Callable[[], T], failure: str) -> T:
    try:
        return call()
    except (Exception, SystemExit) as error:
        raise GraphError(f"{failure}: {type(error).__name__}: {error}") from error


# Their proof


def check_imported(target: str, read: Sequence[CheckedGraph] = (), allow_empty: bool = False) -> list[CheckedGraph]:
    """Import what a target of `load_graphs` names and prove its graphs; `read` is what reading found in it."""
    # What the imported code prints must not get into the report.
    with redirect_stdout(sys.stderr):
        graphs = load_graphs(target, allow_empty)
        once = {id(builder_of(graph)): name for name, graph in reversed(graphs.items())}.values()
        return [_checked(name, graph, read) for name, graph in graphs.items() if name in once]


def _checked(name: str, graph: Any, read: Sequence[CheckedGraph]) -> CheckedGraph:
    place, found = _place_of(name), list[Finding]()
    steps = (getattr(graph, "config", None) or {}).get("recursion_limit")
    try:
        certificate = verify(graph)
        if certificate.bounded and (again := calling_back(builder_of(graph))):
            told = _as_read(name, place.file, set(), read)  # it knows a call from a question
            if not told or told.verdict != "bounded":
                unread = [Finding("graph-not-read", place, f"not read: what runs at {again[0]!r} {CALLED_AGAIN}")]
                return CheckedGraph(name, place, "not read", _not_silenced(unread), steps=steps)
        if certificate.bounded:
            return CheckedGraph(name, place, "bounded", certificate=certificate)
        bounds = suggestions(graph, certificate.unbounded_cycles)
        found += (cycle_finding(cycle, place, bounds.get(cycle)) for cycle in certificate.unbounded_cycles)
        if _not_silenced(found) and (same := _as_read(name, place.file, {*certificate.unbounded_cycles}, read)):
            return replace(same, steps=steps)
        check_shape(read_topology(builder_of(graph), getattr(graph, "name", None)))
    except GraphError as error:
        found.append(Finding("unreachable-node", place, " ".join(str(error).split())))
    verdict = "unbounded" if found[0].cycle else "unreachable"
    return CheckedGraph(name, place, verdict, _not_silenced(found), steps=steps)


def _as_read(name: str, file: Path, cycles: Set[tuple[str, ...]], read: Sequence[CheckedGraph]) -> CheckedGraph | None:
    """What reading tells of a graph, if it finds the same cycles: it knows their lines, and counters by hand."""
    with suppress(GraphError):
        for graph in read or Checker([package_root(file)]).check(file):
            same = {finding.cycle for finding in graph.findings if finding.cycle} == cycles
            if same and f"{graph.name.rpartition(':')[2]}.".startswith(f"{name.rpartition(':')[2]}."):
                return replace(graph, name=name)
    return None


def suggestions(graph: Any, cycles: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Cycle -> what would bound it, said once for all cycles that it bounds."""
    topology = read_topology(builder_of(graph))
    topology, taken = refusals_apart(topology, topology.loops), [loop.name for loop in topology.loops]
    follow = topology.ways()
    own = [cycle for cycle in cycles if all(node in follow for node in cycle)]
    inside = [cycle for cycle in cycles if cycle not in own]
    found = suggested(choose(follow), own, topology.edges, getattr(graph, "name", None), taken)
    return found | dict.fromkeys(inside[:1], WHOLE)


def _place_of(target: str) -> Place:
    """Where a module gives a graph its name, or defines the function that makes it."""
    place, _, name = target.rpartition(":")
    module = sys.modules.get(place)
    file = Path(place) if place.endswith(".py") else Path(getattr(module, "__file__", None) or place)
    line, path = 1, file.resolve()
    if file.is_file():
        tree = SourceFile(path).tree
        named = ((node, getattr(node, "asname", None) or getattr(node, "name", None)) for node in own_nodes(tree))
        its = (getattr(node, "lineno", 1) for node, given in named if name in (*stored(node), given))
        line = max(its, default=1)
    return Place(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else file, line, line)


def _not_silenced(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    place = findings[0].place
    return () if place.file.is_file() and place.line in SourceFile(place.file).ignored else tuple(findings)
