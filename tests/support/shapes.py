"""Named graph shapes: how to build one, what the proof must say of it, and where a run must go.

A run is watched through LangGraph's own ``debug`` stream of the plain parent class, never through the engine's reader.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.gate import is_engine_node
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.loop import Loop
from loopwright.engine.nodes.runner import add_node
from loopwright.engine.proof.certificate import Certificate
from loopwright.errors import GraphError

HERE: Any = {"configurable": {"thread_id": "t"}}
"""The thread of a test that needs one."""


class State(TypedDict, total=False):
    """What the tests' graphs keep: each uses what it needs."""

    log: Annotated[list[str], operator.add]
    count: int
    limit: int
    past: list[str]
    plan: str
    want: int
    most: Any
    error: str
    route: str
    text: str
    api_key: str
    passes: int


def note(name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that notes its name."""

    def node(_state: Any) -> dict[str, Any]:
        return {"log": [name]}

    return node


def jump(*gotos: str | Send, **update: Any) -> Callable[[Any], Any]:
    """A node that jumps with a Command."""

    def node(_state: Any) -> Any:
        return Command(goto=[*gotos], update=update or None)

    return node


def sends(target: str, width: int) -> Callable[[Any], Any]:
    """A router that sends so many tasks to a node."""

    def route(_state: Any) -> Any:
        return [Send(target, {"log": []}) for _ in range(width)]

    return route


def graph(edges: str, schema: Any = State, routes: Mapping[str, Any] = {}, **options: Any) -> StateGraph[Any]:
    """A graph from words: ``a-b`` an edge, ``a?b`` one way of a router that takes the first, ``a+b-c`` a join.

    A grader's first way is the one back, so it always says no; ``routes`` are other routers, by their nodes. Options
    are a node's own: what it does, or the arguments of ``add_node``, of the engine's own where there is a ``policy``.
    The schema may be a builder that has one for its input or its output too.
    """
    made = schema if isinstance(schema, StateGraph) else StateGraph(schema)
    routed: dict[str, list[str]] = {}
    plain: list[tuple[list[str], str]] = []
    for word in edges.split():
        sources, target = word.replace("?", "-").split("-")
        if "?" in word:
            routed.setdefault(sources, []).append(target)
        else:
            plain.append((sources.split("+"), target))
    ends = [(source, target) for sources, target in plain for source in sources]
    ends += [(source, target) for source, targets in routed.items() for target in targets]
    for name in dict.fromkeys(name for pair in ends for name in pair if name not in ("START", "END")):
        given = options.get(name, {})
        given = {"action": note(name), **given} if isinstance(given, dict) else {"action": given}
        if "policy" in given:
            add_node(made, name, given["action"], given["policy"])
        else:
            made.add_node(name, **given)
    for sources, target in plain:
        made.add_edge(sources if len(sources) > 1 else at(sources[0]), at(target))
    for source, targets in routed.items():
        ways = [at(target) for target in targets]
        made.add_conditional_edges(at(source), routes.get(source, lambda _, first=ways[0]: first), ways)
    return made


def to_parent(target: str) -> Any:
    """A graph whose node jumps in the graph around it."""
    return graph("START-x", x=lambda _: Command(goto=target, graph=Command.PARENT)).compile()


def handled(edges: str, failing: str, target: str) -> StateGraph[Any]:
    """A graph with a node that always fails, and whose error handler jumps."""
    made = graph(edges, **{failing: {"action": lambda _: 1 / 0, "error_handler": jump(target)}})
    made.nodes[made.nodes[failing].error_handler_node or ""].ends = (target,)
    return made


def edges_of(app: BoundedGraph) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in app.topology().edges}


def at(name: str) -> str:
    return {"START": START, "END": END}.get(name, name)


def loop(name: str, sources: str, target: str, limit: Any, exhausted: Any = END, **more: Any) -> Loop:
    """A loop with its sources in one string."""
    return Loop(name=name, sources=tuple(sources.split()), target=target, limit=limit, exhausted=exhausted, **more)


@dataclass(frozen=True)
class Shape:
    """A graph, and what must come out."""

    build: Callable[[], Any]
    loops: Sequence[Loop] = ()
    limit: int | None = None
    """Instead of loops: passes for each loop that is found."""
    fan_out: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of ``bounded``; a class stands for a new one of its kind."""
    input: Any = field(default_factory=lambda: {"log": []})
    says: str = ""
    """For a graph that is refused: what the error says."""
    refused_while_running: bool = False
    """Whether that can only be seen while it runs."""
    path: str = ""
    """The nodes of each superstep, in alphabetical order."""
    steps: int = 0
    """``max_supersteps``."""
    runs: Mapping[str, int | None] = field(default_factory=dict)
    """``max_runs_by_node``."""
    inside: int = 0
    """What the nodes of subgraphs add to ``max_node_runs``."""
    ran_inside: int = 0
    """How many nodes of subgraphs run."""

    @property
    def total(self) -> int | None:
        """``max_node_runs``."""
        counts = [*self.runs.values()]
        return None if None in counts else sum(count for count in counts if count) + self.inside

    def app(self) -> BoundedGraph:
        options = {key: value() if isinstance(value, type) else value for key, value in self.options.items()}
        return show_gates(bounded(self.build(), self.loops, limit=self.limit, fan_out=self.fan_out, **options))


def show_gates(app: BoundedGraph) -> BoundedGraph:
    """Let plain LangGraph's streams, by which certificates are judged, tell of the gates too, those inside as well."""
    for graph in (app, *(inner for _, inner in app.get_subgraphs(recurse=True))):
        for name, node in graph.nodes.items():  # type: ignore[attr-defined]
            if is_engine_node(name):
                node.tags = None
    return app


@dataclass
class Watched:
    """What LangGraph reported of a run."""

    tasks: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Task id -> superstep and node, in the graph itself; a task that is run again after an interrupt is the same."""
    inside: set[str] = field(default_factory=set)
    """Tasks in subgraphs."""
    handled: Counter[str] = field(default_factory=Counter)
    """Error handler -> its runs, which the stream does not show."""

    def see(self, chunk: Any) -> None:
        """Take one chunk of the ``debug`` stream with subgraphs."""
        space, event = chunk
        if event["type"] == "task":
            task = event["payload"]
            if space:
                self.inside.add(task["id"])
            else:
                self.tasks[task["id"]] = (event["step"], task["name"])

    @property
    def runs(self) -> Counter[str]:
        return Counter(name for _step, name in self.tasks.values()) + self.handled

    @property
    def path(self) -> str:
        steps: dict[int, list[str]] = {}
        for step, name in self.tasks.values():
            steps.setdefault(step, []).append(name)
        return " ".join("+".join(sorted(names)) for _step, names in sorted(steps.items()))

    @property
    def last(self) -> int:
        return max((step for step, _name in self.tasks.values()), default=0)

    def hold_within(self, most: Certificate, inside: int, *where: object) -> None:
        """Fail where the run exceeds a certificate, which counts so many of its tasks in subgraphs."""
        assert most.max_supersteps is not None and self.last <= most.max_supersteps, (*where, self.last)
        for node, count in self.runs.items():
            allowed = most.max_runs_by_node[node]
            assert allowed is None or count <= allowed, (*where, node, count, allowed)
        total = self.runs.total() + inside
        assert most.max_node_runs is None or total <= most.max_node_runs, (*where, total, most.max_node_runs)


def turns(app: BoundedGraph, given: Any) -> Iterator[Any]:
    """What a run is given to its end: its input, and what a person says to a graph that waits."""
    yield given
    for _ in range(50):
        state = app.get_state(HERE) if app.checkpointer else None
        if state is None or not state.next:
            return
        yield Command(resume="again") if state.interrupts else None
    raise AssertionError("the run does not end")


def watch(app: BoundedGraph, given: Any) -> Watched:
    """Run to the end, answering what it asks."""
    seen = Watched()
    for said in turns(app, given):
        for chunk in CompiledStateGraph.stream(app, said, HERE, stream_mode="debug", subgraphs=True):
            seen.see(chunk)
    return seen


async def watch_async(app: BoundedGraph, given: Any) -> Watched:
    """Run to the end, answering what it asks."""
    seen = Watched()
    for said in turns(app, given):
        async for chunk in CompiledStateGraph.astream(app, said, HERE, stream_mode="debug", subgraphs=True):
            seen.see(chunk)
    return seen


async def hold(shape: Shape, mode: str) -> None:
    """Check everything that is said of a shape."""
    if shape.says and not shape.refused_while_running:
        with pytest.raises(GraphError, match=shape.says):
            shape.app()
        return
    app = shape.app()
    certificate = app.certificate
    assert certificate.bounded
    assert certificate.max_supersteps == shape.steps
    assert certificate.max_runs_by_node == shape.runs
    assert certificate.max_node_runs == shape.total
    if shape.says:
        with pytest.raises(GraphError, match=shape.says):
            watch(app, shape.input) if mode == "sync" else await watch_async(app, shape.input)
        return
    seen = watch(app, shape.input) if mode == "sync" else await watch_async(app, shape.input)
    assert seen.path == shape.path
    assert len(seen.inside) == shape.ran_inside
    seen.hold_within(certificate, min(shape.ran_inside, shape.inside))
