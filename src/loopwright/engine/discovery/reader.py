"""Reads a file from top to bottom and notes what it does to graphs; nothing of it is run.

Names are followed as far as constants, imports within the folder tree and calls of the file's own functions tell their
values. Both ways of an ``if`` are read, and what differs behind it is unknown. A graph that something unknown is done
to is marked with the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from loopwright.engine.discovery.agents import agent, bounded, is_agent
from loopwright.engine.discovery.builders import HARMLESS, METHODS, Arguments, place_of
from loopwright.engine.discovery.expressions import bind, builtin, evaluate, iterated, truth
from loopwright.engine.discovery.found import FoundGraph
from loopwright.engine.discovery.project import Project
from loopwright.engine.discovery.values import (
    MAKERS,
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    Made,
    ModuleValue,
    symbol,
    text_of,
)
from loopwright.engine.source_hints import UNKNOWN, Symbol, own_nodes
from loopwright.errors import GraphError

KNOWN_PACKAGES = ("langgraph.", "langchain.", "langchain_core.", "loopwright.engine.", "typing.", "typing_extensions.")
"""Packages whose names stand for themselves, wherever their source is."""

DEEPEST = 12
"""Calls of the file's own functions are followed this deep."""

HARMLESS_CALLS = frozenset({"print", "isinstance", "type", "id", "repr", "str", "len", "verify", "builtins.str"})
"""Functions that may be given a builder and do not change it."""

PASSED_THROUGH = frozenset({"RunnableLambda", "partial", "coerce_to_runnable"})
"""What wraps a function and runs it as it is."""


class Reader:
    """Reads the files of a project.

    Args:
        project: Where imports are looked for.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.graphs: list[FoundGraph] = []
        self.modules: dict[Path, Frame] = {}
        self.called: set[ast.AST] = set()
        self._owner: Any = None
        self._depth = 0

    # Scopes

    def module(self, path: Path) -> Frame:
        """Read a file, once.

        Raises:
            GraphError: If it cannot be read as Python.
        """
        key = path.resolve()
        if key not in self.modules:
            tree = self.project.open(path).tree
            frame = self.modules[key] = Frame(tree, path)
            outer, self._owner = self._owner, frame
            depth, self._depth = self._depth, 0
            self.run(tree.body, frame)
            self._owner, self._depth = outer, depth
        return self.modules[key]

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, around: Frame) -> tuple[Frame, Any]:
        """Read a function whose arguments are unknown.

        Returns:
            Its names, and what it returns.
        """
        frame = Frame(node, around.file, f"{around.name}.{node.name}".lstrip("."), around)
        frame.names |= dict.fromkeys(_parameters(node), UNKNOWN)
        self._owner = frame
        returned = self.run(node.body, frame)
        self._owner = None
        return frame, returned

    # Statements

    def run(self, statements: Iterable[ast.stmt], frame: Frame) -> Any:
        """Read statements in order; the value that they return if it is always the same, None without a return."""
        returned: list[Any] = []
        for statement in statements:
            self._statement(statement, frame, returned)
        return _same(returned) if returned else None

    def _statement(self, node: ast.stmt, frame: Frame, returned: list[Any]) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, evaluate(value, frame, self.call), frame)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign([target], evaluate(value, frame, self.call), frame)
            case ast.AugAssign(target=target, op=op, value=value):
                changed = ast.copy_location(ast.BinOp(_loaded(target), op, value), node)
                self._assign([target], evaluate(changed, frame, self.call), frame)
            case ast.Expr(value=value):
                evaluate(value, frame, self.call)
            case ast.Return(value=value):
                returned.append(evaluate(value, frame, self.call))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                frame.names[name] = FunctionValue(node, frame)
            case ast.ClassDef():
                self._class(node, frame)
            case ast.Import() | ast.ImportFrom():
                self._import(node, frame)
            case _:
                self._block(node, frame, returned)

    def _block(self, node: ast.stmt, frame: Frame, returned: list[Any]) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=other):
                known = False if _asks_for_main(test) else truth(test, frame, self.call)
                branches = [body, other] if known is None else [body if known else other]
                self._either(branches, frame, returned)
            case ast.For(target=target, iter=source, body=body, orelse=other):
                self._loop(target, iterated(evaluate(source, frame, self.call)), body, frame, returned)
                self._sequence(other, frame, returned)
            case ast.AsyncFor(target=target, body=body, orelse=other):
                self._loop(target, None, body, frame, returned)
                self._sequence(other, frame, returned)
            case ast.While(test=test, body=body, orelse=other):
                evaluate(test, frame, self.call)
                self._loop(None, None, body, frame, returned)
                self._sequence(other, frame, returned)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    evaluate(item.context_expr, frame, self.call)
                    if item.optional_vars:
                        bind(item.optional_vars, UNKNOWN, frame)
                self._sequence(body, frame, returned)
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=final):
                self._either([[*body, *other], *(handler.body for handler in handlers)], frame, returned)
                self._sequence(final, frame, returned)
            case ast.Match(subject=subject, cases=cases):
                evaluate(subject, frame, self.call)
                self._either([[], *(case.body for case in cases)], frame, returned)
            case _:
                pass

    def _sequence(self, statements: Sequence[ast.stmt], frame: Frame, returned: list[Any]) -> None:
        for statement in statements:
            self._statement(statement, frame, returned)

    def _either(self, branches: Sequence[Sequence[ast.stmt]], frame: Frame, returned: list[Any]) -> None:
        """Read every branch from the same start; a name that they leave with different values is unknown."""
        before = dict(frame.names)
        after: list[dict[str, Any]] = []
        for branch in branches:
            frame.names = dict(before)
            self._sequence(branch, frame, returned)
            after.append(frame.names)
        names = dict.fromkeys(name for values in after for name in values)
        frame.names = {name: _same([values[name] for values in after if name in values]) for name in names}

    def _loop(
        self, target: ast.expr | None, values: Sequence[Any] | None, body: Sequence[ast.stmt], frame: Frame,
        returned: list[Any],
    ) -> None:  # fmt: skip
        if values is None:
            stored = {name for statement in body for node in ast.walk(statement) if (name := _stored_name(node))}
            kept = {name for name in stored if isinstance(frame.names.get(name), GraphValue)}
            frame.names |= dict.fromkeys(stored - kept, UNKNOWN)
            values = [UNKNOWN]
        for value in values:
            if target is not None:
                bind(target, value, frame)
            self._sequence(body, frame, returned)

    def _assign(self, targets: Iterable[ast.expr], value: Any, frame: Frame) -> None:
        for target in targets:
            bind(target, value, frame)

    def _class(self, node: ast.ClassDef, frame: Frame) -> None:
        inner = Frame(node, frame.file, f"{frame.name}.{node.name}".lstrip("."), frame)
        self.run(node.body, inner)
        bases = tuple(evaluate(base, frame, self.call) for base in node.bases)
        frame.names[node.name] = ClassValue(node.name, bases, inner.names)

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            frame.imported.add(name)
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else name
                inner = self._project_module(whole, 0, frame)
                frame.names[name] = ModuleValue(inner) if inner else symbol(whole)
            else:
                frame.names[name] = self._imported(node, alias.name, frame)

    def _imported(self, node: ast.ImportFrom, name: str, frame: Frame) -> Any:
        module = node.module or ""
        inner = self._project_module(module, node.level, frame)
        if inner is not None and name in inner.names:
            return inner.names[name]
        nested = self._project_module(f"{module}.{name}".lstrip("."), node.level, frame)
        if nested is not None:
            return ModuleValue(nested)
        return UNKNOWN if inner is not None else symbol(f"{'.' * node.level}{module}.{name}")

    def _project_module(self, module: str, level: int, frame: Frame) -> Frame | None:
        if not level and (module == "loopwright" or f"{module}.".startswith(KNOWN_PACKAGES)):
            return None
        path = self.project.find(module, level, frame.file)
        if path is None:
            return None
        try:
            return self.module(path)
        except GraphError:
            return None  # it is reported where it is checked itself

    # Calls

    def call(self, node: ast.Call, frame: Frame) -> Any:
        """The value of a call, and what it does to graphs."""
        if isinstance(node.func, ast.Attribute):
            owner = evaluate(node.func.value, frame, self.call)
            if isinstance(owner, GraphValue):
                return self._method(owner, node.func.attr, node, frame)
            if isinstance(owner, Symbol) and node.func.attr in METHODS:
                self._elsewhere(node, node.func.value, owner, frame)
            if isinstance(owner, FunctionValue):
                Arguments(node, frame, self.call)
                return owner  # with_config, with_retry
            if isinstance(owner, list | dict):
                return _container_method(owner, node.func, Arguments(node, frame, self.call), frame)
        function = evaluate(node.func, frame, self.call)
        given = Arguments(node, frame, self.call)
        match function:
            case Symbol():
                return self._known(function, node, given, frame)
            case FunctionValue() if not function.decorated:
                return self._inline(function, given)
            case ClassValue() if any(base == Symbol(f"langgraph.graph.{name}") for base in function.bases
                                     for name in MAKERS):  # fmt: skip
                graph = self._graph(node, frame)
                if any(isinstance(value, FunctionValue) for value in function.members.values()):
                    graph.refuse(given.place, f"{function.name} changes how a StateGraph is built")
                return GraphValue(graph)
            case _:
                if isinstance(node.func, ast.Name) and (value := builtin(node.func.id, given.given)) is not UNKNOWN:
                    return value
                return self._unknown(node, given)

    def _known(self, name: Symbol, node: ast.Call, given: Arguments, frame: Frame) -> Any:
        last = name.rpartition(".")[2]
        if name.startswith("langgraph.graph.") and last in MAKERS:
            return GraphValue(self._graph(node, frame))
        if name == "loopwright.bounded":
            if given.take(0, "graph", UNKNOWN) is UNKNOWN:
                return UNKNOWN  # a parameter, say: the graph is checked where it is made
            graph = self._graph(node, frame)
            bounded(given, graph)
            return GraphValue(graph, compiled=True)
        if name == "loopwright.add_node" and given.given and isinstance(given.given[0], GraphValue):
            METHODS["add_node"](given.given[0].graph, given.without_first())
            return None
        if is_agent(name):
            graph = self._graph(node, frame)
            agent(name, given, graph)
            return GraphValue(graph, compiled=True)
        if name.partition(".")[0].startswith("langgraph") and last.startswith("create_"):
            graph = self._graph(node, frame)
            graph.refuse(given.place, f"{last}() builds it")
            return GraphValue(graph)
        if last in PASSED_THROUGH and given.given and isinstance(given.given[0], FunctionValue):
            return given.given[0]
        self._unknown(node, given)
        return Made(str.__str__(name), given.named | ({} if given.complete else {"**": UNKNOWN}))

    def _unknown(self, node: ast.Call, given: Arguments) -> Any:
        name = getattr(node.func, "id", getattr(node.func, "attr", "a function"))
        for value in [*given.given, *given.named.values()]:
            if isinstance(value, GraphValue) and not value.compiled and name not in HARMLESS_CALLS:
                value.graph.refuse(given.place, f"it is handed to {name}(), which may change it")
        return UNKNOWN

    def _graph(self, node: ast.Call, frame: Frame) -> FoundGraph:
        graph = FoundGraph(place_of(node, frame), node.col_offset, owner=self._owner, frame=frame)
        self.graphs.append(graph)
        return graph

    def _elsewhere(self, node: ast.Call, name: ast.expr, imported: Symbol, frame: Frame) -> None:
        """Note a builder that comes from outside the folder tree."""
        graph = self._graph(node, frame)
        graph.refuse(graph.place, f"it is made elsewhere, in {imported}")
        if isinstance(name, ast.Name):
            frame.names[name.id] = GraphValue(graph)

    def _method(self, value: GraphValue, name: str, node: ast.Call, frame: Frame) -> Any:
        given = Arguments(node, frame, self.call)
        if value.compiled:
            return value if name in ("with_config", "with_retry") else UNKNOWN
        if name == "compile":
            value.graph.compiled_as = text_of(given.take(None, "name")) or "LangGraph"
            return GraphValue(value.graph, compiled=True)
        if method := METHODS.get(name):
            if given.complete:
                method(value.graph, given)
            else:
                value.graph.refuse(given.place, f"{name}() is given * or ** arguments")
        elif name not in HARMLESS:
            value.graph.refuse(given.place, f"{name}() may change it")
        return value

    def _inline(self, function: FunctionValue, given: Arguments) -> Any:
        node = function.node
        if self._depth >= DEEPEST or any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in own_nodes(node)):
            return UNKNOWN
        self.called.add(node)
        frame = Frame(node, function.frame.file, f"{function.frame.name}.{function.name}".lstrip("."), function.frame)
        frame.names |= _bound_arguments(function, given, self)
        self._depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return evaluate(node.body, frame, self.call)
            return self.run(node.body, frame)
        finally:
            self._depth -= 1


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [argument.arg for argument in every if argument]


def _bound_arguments(function: FunctionValue, given: Arguments, reader: Reader) -> dict[str, Any]:
    names = dict.fromkeys(_parameters(function.node), UNKNOWN)
    if not given.complete:
        return names
    its = function.node.args
    places = [argument.arg for argument in (*its.posonlyargs, *its.args)]
    defaults = dict(zip(places[len(places) - len(its.defaults) :], its.defaults, strict=True))
    defaults |= {arg.arg: value for arg, value in zip(its.kwonlyargs, its.kw_defaults, strict=True) if value}
    names |= {name: evaluate(value, function.frame, reader.call) for name, value in defaults.items()}
    names |= dict(zip(places, given.given, strict=False))
    return names | {name: value for name, value in given.named.items() if name in names}


def _container_method(owner: Any, func: ast.Attribute, given: Arguments, frame: Frame) -> Any:
    values = given.given
    match owner, func.attr:
        case list(), "append" if len(values) == 1:
            owner.append(values[0])
            return None
        case list(), "extend" if len(values) == 1 and (more := iterated(values[0])) is not None:
            owner.extend(more)
            return None
        case dict(), "items" | "keys" | "values":
            return [*getattr(owner, func.attr)()]
        case dict(), "get":
            return owner.get(values[0], UNKNOWN) if values and text_of(values[0]) is not None else UNKNOWN
        case _, "index" | "count" | "copy":
            return UNKNOWN
        case _:
            if isinstance(func.value, ast.Name):
                frame.names[func.value.id] = UNKNOWN
            return UNKNOWN


def _same(values: Sequence[Any]) -> Any:
    first = values[0]
    same = all(value is first or (type(value) is type(first) and value == first) for value in values)
    return first if same else UNKNOWN


def _asks_for_main(test: ast.expr) -> bool:
    """``if __name__ == "__main__"``: what an import does not run."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _loaded(target: ast.expr) -> ast.expr:
    """An assignment's target as an expression, to compute its new value from."""
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case _:
            return ast.copy_location(ast.Constant(None), target)


def _stored_name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def functions_in(tree: ast.AST, frame: Frame) -> Iterable[tuple[Any, Frame]]:
    """Every named function of a file with the scope it is in, methods and nested ones too."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for node in getattr(tree, field, ()):
            inner = frame
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node, frame
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = Frame(node, frame.file, f"{frame.name}.{node.name}".lstrip("."), frame)
            yield from functions_in(node, inner)
