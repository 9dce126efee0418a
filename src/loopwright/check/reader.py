"""Reads a file from top to bottom and notes what it does to graphs; nothing of it is run.

Names are followed as far as constants, imports within the folder tree and calls of the file's own functions tell their
values. Both ways of an ``if`` are read, and what differs behind it is unknown. A graph that something unknown is done
to is marked with the line.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import accumulate, product
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from loopwright.check.builders import Arguments
from loopwright.check.calls import WORK, Calls
from loopwright.check.expressions import MOST_NUMBERS, bind, defaults_in, evaluate, fill, iterated, truth
from loopwright.check.project import Project, whole
from loopwright.check.values import (
    UNSET,
    Changed,
    ClassValue,
    Frame,
    FunctionValue,
    GraphValue,
    Grip,
    InstanceValue,
    Made,
    OneOf,
    may_differ,
    member,
    part_of,
    same,
    symbol,
    text_of,
    unknown,
)
from loopwright.engine.proof.changes import SHARED
from loopwright.engine.proof.source import UNKNOWN, Symbol
from loopwright.engine.proof.syntax import calls_in, every, identifier, parameters, parts_of, stored
from loopwright.errors import GraphError

KNOWN_PACKAGES = (
    "langgraph.", "langgraph_supervisor.", "langgraph_swarm.", "langchain.", "langchain_core.", "deepagents.",
    "loopwright.engine.", "typing.", "typing_extensions.",
)  # fmt: skip
"""Packages whose names stand for themselves, wherever their source is."""

_STARRED = {
    "langgraph.graph": ("END", "START", "MessageGraph", "MessagesState", "StateGraph"),
    "langgraph.prebuilt": ("ToolNode", "create_react_agent", "tools_condition"),
    "langgraph.types": ("Command", "Send"),
    "langchain.agents": ("create_agent",),
    "deepagents": ("create_deep_agent",),
    "loopwright": ("Loop", "add_node", "bounded"),
}
"""What ``from package import *`` brings, as far as it matters to graphs."""

Left: TypeAlias = Literal["return", "raise", "break", "continue"] | None
"""How a row of statements is left before its end; None if it is not."""


class Reader(Calls):
    """Reads the files of a project."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.modules = cast("dict[Path, Frame]", project.modules)
        self.read: dict[ast.AST, Frame] = {}
        self.failed: dict[Path, GraphError] = {}
        self._may_have_left = False

    # Scopes

    def module(self, path: Path) -> Frame:
        """Read a file, once; a `GraphError` if it cannot be read as Python, or takes too much work."""
        key = whole(path)
        if key not in self.modules:
            tree = self.project.open(path).tree
            frame = self.modules[key] = Frame(tree, path, project=self.project)
            outer = self._owner, self._following, self._branch, self.left, self._tells
            self._owner, self._following, self._branch, self.left = frame, [], (), WORK
            self._tells = not self.told or key in self.told
            self._later()
            try:
                self.run(tree.body, frame)
                for name, value in frame.names.items():
                    kept = isinstance(value, list | dict)
                    if kept and (not value or SHARED in self.project.changes_in(tree).get(name, ())):
                        frame.names[name] = unknown(value)  # other files, and whoever calls the function, may fill it
            except Exception as error:
                deep = "its code is nested too deeply" if isinstance(error, RecursionError) else None
                self.failed[key] = GraphError(f"{path} could not be read: {deep or f'{type(error).__name__}: {error}'}")
                frame.names.clear()  # what follows may have given them other values
            self._owner, self._following, self._branch, self.left, self._tells = outer
            self._later()
        if key in self.failed:
            raise self.failed[key]
        return self.modules[key]

    def _later(self) -> None:
        """What comes now runs at a time that nobody knows: others may have changed objects since."""
        for of, *_ in self.trail:
            of.sure.clear()
        if self._owner is None:  # no branch goes on that may take something back
            self.trail.clear()

    def function(
        self, node: ast.AST, around: Frame, bound: Any = None, its: Mapping[str, Any] = {}
    ) -> tuple[Frame, Any]:
        """Read a function whose arguments are unknown but for `its`, or what only a direct run of a module reaches.

        Its names, and what it returns; `around` is the scope that it is in, `bound` the object whose method it is.
        """
        frame = Frame(node, around.file, f"{around.name}.{getattr(node, 'name', '__main__')}".lstrip("."), around)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            names = parameters(node)
            frame.names |= dict.fromkeys(names, UNKNOWN) | {**its}
            lines = {identifier(line) for line in getattr(node, "decorator_list", ())}
            if bound is not None and names and "staticmethod" not in lines:
                frame.names[names[0]] = bound.of if "classmethod" in lines else bound
        self.read[node] = frame
        self._later()
        self._owner, self._branch, self._following = frame, (), [(node, None)]
        self._tells = not self.told or whole(around.file) in self.told
        try:
            body: Any = getattr(node, "body", [])
            returned = evaluate(body, frame, self) if isinstance(node, ast.Lambda) else self.run(body, frame)
        finally:
            self._owner = None
        return frame, returned

    # Statements

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> Any:
        """Read statements in order; the value that they return if it is always the same, None without a return."""
        returned: list[Any] = []
        around, self._may_have_left = self._may_have_left, False
        self._sequence(statements, frame, returned)
        self._may_have_left = around
        return same(returned) if returned else None

    def _sequence(self, statements: Sequence[ast.stmt], frame: Frame, returned: list[Any]) -> Left:
        """Read statements in order, up to one that surely leaves; behind one that may leave, the rest may not run."""
        around, self._may_have_left = self._may_have_left, False
        left: Left = None
        for place, statement in enumerate(statements):
            now = self._statement(statement, frame, returned)
            left = now or left  # what follows a raise is read all the same: nobody runs it, and it shows what is meant
            if now not in (None, "raise"):
                break
            if self._may_have_left and place + 1 < len(statements):
                ways = (partial(self._sequence, rest, frame, returned) for rest in ([], statements[place + 1 :]))
                self._either([*ways], frame)
                self._may_have_left = True
                break
        self._may_have_left = self._may_have_left or around
        return left

    def _statement(self, node: ast.stmt, frame: Frame, returned: list[Any]) -> Left:
        self.step()
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, evaluate(value, frame, self), frame)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign([target], evaluate(value, frame, self), frame)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(node, evaluate(ast.BinOp(target, op, value), frame, self), frame)
            case ast.Expr() | ast.Assert() | ast.Raise():
                for value in cast("Sequence[ast.expr]", parts_of(node)):
                    evaluate(value, frame, self)
                return "raise" if isinstance(node, ast.Raise) else None
            case ast.Return(value=value):
                returned.append(evaluate(value, frame, self))
                return "return"
            case ast.Break() | ast.Continue():
                return "break" if isinstance(node, ast.Break) else "continue"
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                frame.names[name] = self._decorated(node, frame)
            case ast.ClassDef():
                self._class(node, frame)
            case ast.Import() | ast.ImportFrom():
                self._import(node, frame)
            case _:
                return self._block(node, frame, returned)
        return None

    def _block(self, node: ast.stmt, frame: Frame, returned: list[Any]) -> Left:
        def reading(*statements: ast.stmt, names: Iterable[str] = (), held: Any = UNKNOWN) -> Callable[[], Left]:
            def read() -> Left:  # it begins with the names of a pattern or a handler
                self._assign([ast.Name(name) for name in names], held, frame)
                return self._sequence(statements, frame, returned)

            return read

        doubted = list[Any]()
        match node:
            case ast.If(test=test, body=body, orelse=other):
                known = False if asks_for_main(test) else truth(test, frame, self)
                branches = [body, other] if known is None else [body if known else other]
                return self._either([reading(*branch) for branch in branches], frame)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, frame, returned)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                held = list[Any]()
                for item in items:
                    held.append(evaluate(item.context_expr, frame, self))
                    entered = self._special(held[-1], "enter")
                    self._assign([item.optional_vars] if item.optional_vars else [], entered, frame)
                suppresses = any(isinstance(value, Made) and value.of == "contextlib.suppress" for value in held)
                caught = [partial(self._caught, body, reading(), frame, doubted)] if suppresses else []
                left = self._either([reading(*body), *caught], frame)
                self._forget_names(doubted, frame)
                for value in held:
                    self._special(value, "exit")
                return left
            case (
                ast.Try(body=body, handlers=handlers, orelse=other, finalbody=final)
                | ast.TryStar(body=body, handlers=handlers, orelse=other, finalbody=final)
            ):
                entered = (reading(*each.body, names=stored(each)) for each in handlers)
                caught = [partial(self._caught, body, handler, frame, doubted) for handler in entered]
                left = self._either([reading(*body, *other), *caught], frame)
                self._forget_names(doubted, frame)
                imports = (each for each in body if isinstance(each, ast.ImportFrom))  # as if optional ones were there
                for known in (each for each in imports if f"{each.module}.".startswith(KNOWN_PACKAGES)):
                    self._import(known, frame)
                return self._sequence(final, frame, returned) or left
            case ast.Delete(targets=targets):
                return self._assign(targets, UNKNOWN, frame)
            case ast.Match(subject=subject, cases=cases):
                held = unknown(evaluate(subject, frame, self))
                bodies = (
                    reading(*map(ast.Expr, guards), *case.body, names=_stored_in(case.pattern), held=held)
                    for case in cases
                    for guards in [[case.guard] if case.guard else []]  # it runs before the body
                )
                return self._either([reading(), *bodies], frame)
            case _:
                return None

    def _either(self, branches: Sequence[Callable[[], Left]], frame: Frame) -> Left:
        """Read every branch from the same start; what they leave with different values is unknown.

        It ends as all of them leave the statements around; None if one goes on. One that raises counts for nothing.
        """
        if len(branches) == 1:
            return branches[0]()
        before, around, begun = frame.names, self._branch, len(self.trail)
        ends: list[tuple[Left, dict[str, Any], dict[tuple[int, str], Changed]]] = []
        for branch in branches:
            frame.names = dict(before)
            self._branches += 1
            self._branch = (*around, self._branches)
            ends.append((branch(), frame.names, self._taken_back(begun)))
        self._branch = around
        ends = [end for end in ends if end[0] != "raise"] or ends
        names = frame.names = {**ends[0][1]}
        for _, found, _ in ends[1:]:
            for name, value in found.items():
                names[name] = _either_of(names.get(name, UNSET), value)
        for key, (of, name, _) in {key: each for _, _, now in ends for key, each in now.items()}.items():
            values = (now[key][2] if key in now else of.names.get(name, UNSET) for _, _, now in ends)
            self.trail.append((of, name, of.names.get(name, UNSET)))
            of.names[name] = reduce(_either_of, values)
        leaving: set[Left] = {left for left, _, _ in ends}
        self._may_have_left = self._may_have_left or len(leaving) > 1
        return leaving.pop() if len(leaving) == 1 else None

    def _taken_back(self, begun: int) -> dict[tuple[int, str], Changed]:
        """Take back what was changed of objects since then, and tell what it was changed to."""
        found: dict[tuple[int, str], Changed] = {}
        while len(self.trail) > begun:
            of, name, before = self.trail.pop()
            found.setdefault((id(of.names), name), (of, name, of.names.pop(name)))
            of.sure.discard(name)  # what is left may be from before
            if before is not UNSET:
                of.names[name] = before
        return found

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, returned: list[Any]) -> Left:
        target = None if isinstance(node, ast.While) else node.target
        source = evaluate(node.test if isinstance(node, ast.While) else node.iter, frame, self)
        self.operated(source)
        values = iterated(source) if isinstance(node, ast.For) else None
        around, self._may_have_left = self._may_have_left, False
        ends = {type(inner) for inner in every(node)} & {ast.Break, ast.Return}
        nothing = partial(self._sequence, [], frame, returned)

        def passes(items: Sequence[Any]) -> Left:
            for place, value in enumerate(items):
                if place and self.hurries:
                    return self._either([nothing, any_item], frame)
                self.step(len(node.body))
                if target is not None:
                    bind(target, value, frame, self)
                left = self._sequence(node.body, frame, returned)
                if left and left != "continue":
                    return left
                if self._may_have_left and ends:
                    rest = any_item if len(items) > MOST_NUMBERS else partial(passes, items[place + 1 :])
                    return self._either([nothing, rest], frame)
            return None

        def any_item() -> Left:
            self._forget_names([node], frame)
            return passes([part_of(source.held if isinstance(source, Grip) else source)])

        left = self._either([nothing, any_item], frame) if values is None else passes(values)
        self._may_have_left = around or (self._may_have_left and ast.Return in ends)
        other = None if left == "break" else self._sequence(node.orelse, frame, returned)
        return left if left == "return" or left == "raise" else other

    def _caught(self, body: Sequence[ast.stmt], handler: Callable[[], Left], frame: Frame, doubted: list[Any]) -> Left:
        """Read what follows when some statement of a body failed: what they gave names is done or not."""
        self._forget_names(body, frame)
        left, given = handler(), Counter(name for node in body for name in _stored_in(node))
        # A name that the body alone gives values, one after the other, may have kept the first.
        again = (name for name in given if given[name] > 1 and name not in frame.names and left is None)
        doubted += (ast.Name(name, ast.Store()) for name in again)
        return left

    def _forget_names(self, nodes: Sequence[ast.AST], frame: Frame) -> None:
        """Take what statements give values, other than graphs, for unknown."""
        for name in {name for node in nodes for name in _stored_in(node)}:
            if not isinstance(held := frame.names.get(name, UNKNOWN), GraphValue) and held is not UNKNOWN:
                frame.names[name] = unknown(held)

    def _assign(self, targets: Iterable[ast.expr], value: Any, frame: Frame) -> None:
        for target in targets:
            bind(target, value, frame, self)

    def _augment(self, node: ast.AugAssign, changed: Any, frame: Frame) -> None:
        """Give the target of ``+=`` its new value; a list or table stays the same object."""
        held = evaluate(node.target, frame, self)
        self._past_methods(held if isinstance(held, Grip) else None, node, frame)
        if isinstance(held, list | dict):
            items = None if self._branch or isinstance(held, dict) else iterated(changed)
            fill(held, changed) if items is None else held.__setitem__(slice(None), items)
            changed = held
        self._assign([node.target], changed if isinstance(node.target, ast.Name) else UNKNOWN, frame)

    def _class(self, node: ast.ClassDef, frame: Frame) -> None:
        inner = Frame(node, frame.file, f"{frame.name}.{node.name}".lstrip("."), frame)
        self.run(node.body, inner)
        plain = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)  # of ``Base[T]``
        bases = tuple(evaluate(base, frame, self) for base in plain)
        made = self.classes[node] = ClassValue(node.name, bases, inner.names, node, self.project, inner)
        for decorator in reversed(node.decorator_list):  # one of the project may do something to a graph
            known = evaluate(decorator, frame, self)
            if isinstance(known, FunctionValue):
                self._inline(known, None, [made])
        for word in node.keywords:
            evaluate(word.value, frame, self)
        frame.names[node.name] = made
        for base in bases:  # Python runs it for every class made of it: a registry, say
            hook = base.find("__init_subclass__") if isinstance(base, ClassValue) else UNKNOWN
            if isinstance(hook, FunctionValue):
                self._inline(replace(hook, bound=made), None)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> Any:
        """A function as its decorators leave it: those of the project are read, those of other packages hand it on."""
        value: Any = FunctionValue(node, frame, defaults=defaults_in(node, frame, self))
        for decorator in reversed(node.decorator_list):
            functions = value.parts if isinstance(value, OneOf) else [value]
            pairs = product(self._decorators(decorator, frame), functions)
            value = same([self._wrapped(each, known, node.name, decorator, frame) for known, each in pairs])
        return value

    def _decorators(self, decorator: ast.expr, frame: Frame) -> Sequence[Any]:
        """What a decorator is, or may be: one of the project may stand in for a package that is not there."""
        call = decorator if isinstance(decorator, ast.Call) else None
        of = evaluate(call.func, frame, self) if call and not calls_in(call.func) else UNKNOWN
        if call is None or not isinstance(of, OneOf):
            known = evaluate(decorator, frame, self)
            return known.parts if isinstance(known, OneOf) else [known]
        given = Arguments(call, frame, self)
        own = [self._inline(part, given) for part in of.parts if isinstance(part, FunctionValue)]
        return [*own, *(Made(str.__str__(part), {}) for part in of.parts if isinstance(part, Symbol))]

    def _wrapped(self, value: Any, known: Any, name: str, decorator: ast.expr, frame: Frame) -> Any:
        """What one decorator makes of a function of that name."""
        called = identifier(decorator)
        known = member(known, "__call__") if isinstance(known, InstanceValue) else known
        own = ("staticmethod", "classmethod", "property", "setter", "getter", "deleter", "cached_property")
        if called in own and (known is UNKNOWN or known == f"functools.{called}"):
            known = called
        if isinstance(known, FunctionValue) and not known.unread:
            known = self._inline(known, None, [value])
            if isinstance(known, FunctionValue) and isinstance(value, FunctionValue):
                wraps = any(str(getattr(made, "of", "")) == "functools.wraps" for made in known.decorators)
                return replace(known, label=value.name) if wraps else known
        if not isinstance(value, FunctionValue):
            return UNKNOWN
        if known is UNKNOWN and isinstance(made := frame.look_up(ast.unparse(decorator).partition(".")[0]), Made):
            known = made  # by a method of what another package made
        if isinstance(known, Grip) and known.method:  # ``@builder.add_node``, which returns the builder
            frame.names[name] = value
            call = ast.copy_location(ast.Call(decorator, [ast.Name(name, ast.Load())], []), decorator)
            return self(ast.fix_missing_locations(call), frame)
        if isinstance(known, GraphValue):  # of the functional API
            return known
        if not isinstance(known, Symbol | Made | str):
            return replace(value, unread=True)
        others = known == "functools.singledispatch"  # which of several functions runs, it decides
        return replace(value, decorators=(*value.decorators, known), unread=value.unread or others)

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            frame.imported.add(name)
            if name == "*" and isinstance(node, ast.ImportFrom):
                inner = self._project_module(node.module or "", node.level, frame)
                names = inner.names if inner else {}
                public = iterated(names.get("__all__")) or [key for key in names if key[0] != "_"]
                held = {key: self._taken(inner, key) for key in names if key in public} if inner else {}
                held |= {key: symbol(f"{node.module}.{key}") for key in _STARRED.get(node.module or "", ())}
                frame.names |= held
                frame.imported |= held.keys()
                continue
            if isinstance(node, ast.Import):
                wholes = [*accumulate(alias.name.split("."), "{}.{}".format)]
                found = [self._project_module(whole, 0, frame) for whole in wholes]
                for whole, owner, inner in zip(wholes[1:], found, found[1:], strict=False):
                    if owner and inner:  # as Python does it
                        owner.names.setdefault(whole.rpartition(".")[2], inner)
                at = -1 if alias.asname else 0
                frame.names[name] = found[at] or symbol(wholes[at])
            else:
                frame.names[name] = self._imported(node, alias, frame)

    def _imported(self, node: ast.ImportFrom, alias: ast.alias, frame: Frame) -> Any:
        module, name = node.module or "", alias.name
        inner = self._project_module(module, node.level, frame)
        if inner is not None and name in inner.names:
            return self._taken(inner, name)
        nested = self._project_module(f"{module}.{name}".lstrip("."), node.level, frame)
        return nested or (UNKNOWN if inner else symbol(f"{'.' * node.level}{module}.{name}"))

    def _taken(self, module: Frame, name: str) -> Any:
        """What an import takes from a module, where another file may have given it another value before."""
        value = module.look_up(name)
        fixed = isinstance(value, GraphValue | FunctionValue | ClassValue | Frame)
        return value if fixed or not may_differ(module, name, None) else unknown(value)

    def _known(self, name: Symbol, node: ast.Call, given: Arguments, frame: Frame) -> Any:
        alone = given.complete and len(given.given) == 1 and not given.named
        if name == "importlib.import_module" and alone and (module := text_of(given.given[0])):
            return self._project_module(module, 0, frame) or symbol(module)
        if name in ("dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve") and given.complete:
            if isinstance(old := given.take(0, "obj"), InstanceValue):
                given.given, given.named = [], {key: member(old, key) for key in old.of.fields()} | given.named
                return self._object(old.of, node, given, frame)
        return super()._known(name, node, given, frame)

    def _project_module(self, module: str, level: int, frame: Frame) -> Frame | None:
        if not level and (module == "loopwright" or f"{module}.".startswith(KNOWN_PACKAGES)):
            return None
        path = self.project.find(module, level, frame.file)
        with suppress(GraphError):  # it is reported where it is checked itself
            return self.module(path) if path else None
        return None


@lru_cache(maxsize=16384)
def _stored_in(node: ast.AST) -> list[str]:
    """The names that a piece of the syntax gives values."""
    return [name for inner in ast.walk(node) for name in stored(inner)]


def asks_for_main(test: ast.expr) -> bool:
    """``if __name__ == "__main__"``: what an import does not run."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _either_of(one: Any, other: Any) -> Any:
    """What a name stands for behind two branches; one that gives it nothing counts for nothing."""
    if one is UNSET or other is UNSET or one is other:
        return other if one is UNSET else one
    return same([one, other])
