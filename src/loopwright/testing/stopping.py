"""`assert_stops`: runs a graph whose graders are never satisfied, and looks how far it went."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.graph import StateGraph

from loopwright.engine.bind import Builder, copy_builder
from loopwright.engine.bounds import bounded
from loopwright.engine.graph import BoundedGraph
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.loop import Loop
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.read import builder_of
from loopwright.errors import GraphError, unknown_name_message

_MODES = ["debug", "values"]


@dataclasses.dataclass(frozen=True, slots=True)
class Stopped:
    """A run that ended within its certificate."""

    state: dict[str, Any]
    """The final state."""
    supersteps: int
    """LangGraph supersteps, gates included."""
    runs_by_node: dict[str, int]
    """Node -> how often it ran."""
    model_calls: int
    """Calls of chat models."""
    certificate: Certificate
    """What was known before."""

    @property
    def stop_reason(self) -> Any:
        """The bound that was reached: one, a list of them, or None."""
        return self.state.get(STOP_REASON)


def assert_stops(
    graph: Any,
    input: Any,
    loops: Sequence[Loop] = (),
    *,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    routers: Mapping[str, Callable[..., Any]] | None = None,
    config: RunnableConfig | None = None,
    at_bound: bool = True,
    **options: Any,
) -> Stopped:
    """Run a graph with graders that are never satisfied, and assert that it ends within its certificate.

    What is counted comes from LangGraph's own stream of tasks, not from what Loopwright reads in the graph.

    Args:
        graph: What `loopwright.bounded` made; or a graph that is bounded here, with `loops` or ``limit=``.
        input: The input of the run.
        loops: The loops, for a graph that is not bounded yet.
        nodes: Node -> the function that runs in its place, for example ``{"grade": no.node(grade="no")}``.
        routers: Node -> the router that decides after it instead, for example
            ``{"grade": no.router("rewrite", "generate")}``.
        config: The run's configuration.
        at_bound: Whether the run must reach a bound. If it does not, the graders did not make the graph go round, and
            the test tests nothing.
        **options: As for `loopwright.bounded`: ``limit``, ``fallback``, ``checkpointer`` and what else it takes.

    Returns:
        What the run did.

    Raises:
        AssertionError: If the run took more than its certificate says, waits at an interrupt, or reached no bound.
        GraphError: If a node or router is to be replaced that is not there, or in a graph that is bounded already.
    """
    __tracebackhide__ = True
    watched = _Watch(_prepared(graph, loops, nodes or {}, routers or {}, options), config)
    for mode, chunk in watched.app.stream(input, watched.config, stream_mode=_MODES):
        watched.see(mode, chunk)
    return watched.judge(at_bound)


async def aassert_stops(
    graph: Any,
    input: Any,
    loops: Sequence[Loop] = (),
    *,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    routers: Mapping[str, Callable[..., Any]] | None = None,
    config: RunnableConfig | None = None,
    at_bound: bool = True,
    **options: Any,
) -> Stopped:
    """Do what `assert_stops` does, for a graph with async nodes; see there for the arguments."""
    __tracebackhide__ = True
    watched = _Watch(_prepared(graph, loops, nodes or {}, routers or {}, options), config)
    async for mode, chunk in watched.app.astream(input, watched.config, stream_mode=_MODES):
        watched.see(mode, chunk)
    return watched.judge(at_bound)


def _prepared(
    graph: Any,
    loops: Sequence[Loop],
    nodes: Mapping[str, Callable[..., Any]],
    routers: Mapping[str, Callable[..., Any]],
    options: Mapping[str, Any],
) -> BoundedGraph:
    if isinstance(graph, BoundedGraph):
        if loops or nodes or routers or options:
            raise GraphError(
                "this graph is bounded already: give the graph as it was before, or only the input and the config"
            )
        return graph
    if nodes or routers:
        graph = _replaced(builder_of(graph), nodes, routers)
    return bounded(graph, loops, **options)


def _replaced(
    builder: Builder, nodes: Mapping[str, Callable[..., Any]], routers: Mapping[str, Callable[..., Any]]
) -> Builder:
    copied = copy_builder(builder)
    for node, function in nodes.items():
        if node not in copied.nodes:
            raise GraphError(unknown_name_message("node", node, copied.nodes))
        made = StateGraph(builder.state_schema).add_node(node, function)
        copied.nodes[node].runnable = made.nodes[node].runnable
    for node, function in routers.items():
        present = copied.branches.get(node) or {}
        if len(present) != 1:
            raise GraphError(
                f"node {node!r} has {len(present)} routers, and one is to be replaced. "
                f"Nodes with one: {', '.join(repr(name) for name, own in copied.branches.items() if len(own) == 1)}"
            )
        made = StateGraph(builder.state_schema).add_conditional_edges(node, function)
        ((name, branch),) = present.items()
        (fresh,) = made.branches[node].values()
        copied.branches[node] = {name: branch._replace(path=fresh.path, ends=branch.ends or fresh.ends)}
    return copied


class _Watch(BaseCallbackHandler):
    """Counts what a run does: tasks in LangGraph's stream, and calls of chat models."""

    def __init__(self, app: BoundedGraph, config: RunnableConfig | None) -> None:
        self.app = app
        self.config = merge_configs(config, {"callbacks": [self]})
        self._steps: set[int] = set()
        self._runs: Counter[str] = Counter()
        self._values: dict[str, Any] = {}
        self._calls = 0
        self._lock = threading.Lock()

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Called by LangChain just before a model is asked."""
        with self._lock:
            self._calls += 1

    def see(self, mode: str, chunk: Any) -> None:
        if mode == "values":
            self._values = chunk
        elif chunk["type"] == "task":
            self._steps.add(chunk["step"])
            self._runs[chunk["payload"]["name"]] += 1

    def judge(self, at_bound: bool) -> Stopped:
        __tracebackhide__ = True
        certificate = self.app.certificate
        counted: list[tuple[str, int, float | None]] = [
            ("supersteps", len(self._steps), certificate.max_supersteps),
            *((f"runs of {node!r}", runs, certificate.max_runs_by_node.get(node)) for node, runs in self._runs.items()),
            ("model calls", self._calls, certificate.max_model_calls),
        ]
        over = [f"{count} {what}, at most {most}" for what, count, most in counted if most is not None and count > most]
        if over:
            raise AssertionError(f"the run went beyond its certificate: {'; '.join(over)}")
        if "__interrupt__" in self._values:
            raise AssertionError(
                "the run did not end: it waits at an interrupt. Replace the node that asks, with nodes={...}"
            )
        stopped = Stopped(self._values, len(self._steps), dict(self._runs), self._calls, certificate)
        if at_bound and not stopped.stop_reason:
            raise AssertionError(
                f"the run ended by itself after {stopped.supersteps} supersteps and reached no bound: its graders did "
                "not make it go round. Replace them with nodes={...} or routers={...}, or pass at_bound=False"
            )
        return stopped
