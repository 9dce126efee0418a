"""Declared fan-out: how many tasks one run of a router or node may send to a node with ``Send``.

A declaration is worth what enforces it: every router and node that could send is wrapped, and raises as soon as one of
its runs sends more than declared. The certificate reads its figures from the same wrappers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import ParentCommand
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send

from loopwright.engine.gate import DISPATCHER
from loopwright.engine.loops import is_count
from loopwright.engine.rerouting import goes_to_parent, may_send, unwrapped
from loopwright.engine.topology import Topology
from loopwright.errors import GraphError, unknown_name_message

Builder = StateGraph[Any, Any, Any, Any]

ORDINARY = frozenset({"static", "join", "request", "granted", "exhausted"})
"""Kinds of edge along which a node is entered once in a superstep, however many ask."""


class LimitedSends(Runnable[Any, Any]):
    """A router or node whose Sends are counted, run by run.

    Args:
        bound: The router or node.
        sender: What to call it in a message.
        declared: Every node of the graph whose fan-out is declared.
        most: Of these, the ones that it is known to send to, with the most tasks of one run; a plain name is one.
    """

    def __init__(
        self, bound: Runnable[Any, Any], sender: str, declared: Iterable[str], most: Mapping[str, int]
    ) -> None:
        self.bound = bound
        self.name = getattr(bound, "name", None)
        self.most = dict(most)
        self._sender = sender
        self._declared = frozenset(declared)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and count what it sends."""
        result = self.bound.invoke(input, config, **kwargs)
        self.check(self.gotos(result))
        return result

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and count what it sends."""
        result = await self.bound.ainvoke(input, config, **kwargs)
        self.check(self.gotos(result))
        return result

    def gotos(self, result: Any) -> list[Any]:
        """Where a result goes: names of nodes and Sends.

        Args:
            result: What the router or node returned.
        """
        raise NotImplementedError

    def check(self, gotos: Sequence[Any]) -> None:
        """Count, and refuse what is more than declared.

        Args:
            gotos: Where one run goes.

        Raises:
            GraphError: It names the sender, the node, both numbers and the fix.
        """
        sent = Counter(goto.node for goto in gotos if isinstance(goto, Send) and goto.node in self._declared)
        for node, tasks in sent.items():
            if node not in self.most:
                raise GraphError(
                    f"{self._sender} sent {tasks} Send(s) to {node!r}, and the certificate does not know of it. "
                    f"Make the Send in its own source, and name {node!r} among its destinations."
                )
            entered = tasks + (node in gotos)
            if entered > self.most[node]:
                raise GraphError(
                    f"{self._sender} sent {entered} tasks to {node!r} in one run, and its declared fan_out is "
                    f"{self.most[node]}. Declare fan_out={{{node!r}: {entered}}} or more, or send fewer at once."
                )


class LimitedRouter(LimitedSends):
    """A router whose Sends are counted."""

    labels: Mapping[Any, str] = {}
    """The router's words -> the nodes that they stand for, where they differ."""

    def gotos(self, result: Any) -> list[Any]:
        """The nodes that the router's words stand for, and its Sends."""
        words: Sequence[Any] = result if isinstance(result, list | tuple) else [result]
        return [word if isinstance(word, Send) else self.labels.get(word, word) for word in words]


class LimitedNode(LimitedSends):
    """A node whose Commands and Sends are counted, those from a graph inside it too."""

    def __init__(self, bound: Runnable[Any, Any], node: str, declared: Iterable[str], most: Mapping[str, int]) -> None:
        super().__init__(bound, f"node {node!r}", declared, most)
        self._node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and count what it sends."""
        try:
            return super().invoke(input, config, **kwargs)
        except ParentCommand as jump:
            self._check_inside(jump, config)
            raise

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and count what it sends."""
        try:
            return await super().ainvoke(input, config, **kwargs)
        except ParentCommand as jump:
            self._check_inside(jump, config)
            raise

    def _check_inside(self, jump: ParentCommand, config: RunnableConfig | None) -> None:
        command: Command[Any] = jump.args[0]
        if goes_to_parent(command, self._node, config):
            self.check(_gotos_of(command))

    def gotos(self, result: Any) -> list[Any]:
        """The destinations of its Commands in this graph, or the Send that it returned."""
        if isinstance(result, Send):
            return [result]
        items: Sequence[Any] = result if isinstance(result, list | tuple) else [result]
        here = [item for item in items if isinstance(item, Command) and item.graph is None]
        return [goto for command in here for goto in _gotos_of(command)]


def _gotos_of(command: Command[Any]) -> list[Any]:
    return [command.goto] if isinstance(command.goto, str | Send) else [*cast("Sequence[Any]", command.goto)]


def limit_sends(builder: Builder, fan_out: Mapping[str, int]) -> None:
    """Wrap every router and node that could send to a node whose fan-out is declared.

    Args:
        builder: A copy of the graph that may be changed, before its gates are put in.
        fan_out: Node -> the most tasks that one run of a router or node may send to it.

    Raises:
        GraphError: If a node is unknown, or a number is not a whole one from 1 up.
    """
    for node, most in fan_out.items():
        if node not in builder.nodes:
            raise GraphError(f"fan_out: {unknown_name_message('node', node, builder.nodes)}")
        if not is_count(most) or most < 1:
            raise GraphError(f"fan_out of {node!r} must be a whole number from 1 up, not {most!r}")
    if not fan_out:
        return
    for source, branches in builder.branches.items():
        for name, branch in branches.items():
            most = _allowed(branch.path, branch.ends.values() if branch.ends else None, fan_out)
            sender = f"the router {name!r} of {source!r}"
            limited = LimitedRouter(branch.path, sender, fan_out, most)
            limited.labels = branch.ends or {}
            branches[name] = branch._replace(path=limited)
    for node, spec in builder.nodes.items():
        runnable = cast("Runnable[Any, Any]", spec.runnable)
        # A graph stays as it is where it can: LangGraph finds no graph behind a wrapper.
        if spec.ends or (sends_itself(runnable) and not isinstance(unwrapped(runnable), CompiledStateGraph)):
            most = _allowed(runnable, spec.ends or None, fan_out)
            spec.runnable = LimitedNode(runnable, node, fan_out, most)


def _allowed(sender: Any, targets: Iterable[str] | None, fan_out: Mapping[str, int]) -> dict[str, int]:
    if not sends_itself(sender):
        return {}
    return {node: most for node, most in fan_out.items() if targets is None or node in set(targets)}


def sends_itself(runnable: Any) -> bool:
    """Whether a router or node could return a `Send`; a graph, if one of its nodes could."""
    inner = unwrapped(runnable)
    if isinstance(inner, CompiledStateGraph):
        return any(sends_itself(spec.runnable) for spec in inner.builder.nodes.values())
    return may_send(inner)


@dataclass(frozen=True, slots=True)
class FanOut:
    """Who sends how much to whom."""

    widths: dict[str, dict[str, int]]
    """Node -> sender -> the most tasks that reach the node from one run of the sender."""
    ordinary: dict[str, set[str]]
    """Node with senders -> the nodes that enter it without a Send, all of one superstep together once."""
    unknown: frozenset[str]
    """Nodes that an undeclared number of Sends can reach, and what runs as often as they do."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One thing that says where control goes: a router, a node or an error handler."""

    source: str
    targets: frozenset[str]
    runnable: Any

    def width(self, target: str) -> int | None:
        """Tasks that one run sends to the target at most; 0 if it only names it, None if nobody knows."""
        wrapper: Any = self.runnable
        while wrapper is not None:
            if isinstance(wrapper, LimitedSends) and target in wrapper.most:
                return wrapper.most[target]
            wrapper = getattr(wrapper, "bound", None)
        return None if sends_itself(self.runnable) else 0


def read_fan_out(builder: Builder, topology: Topology) -> FanOut:
    """Read who sends how much to whom, as far as it is declared.

    Args:
        builder: The graph with its gates.
        topology: Its nodes and edges.
    """
    widths: dict[str, dict[str, int]] = {}
    unknown: set[str] = set()
    ordinary: dict[str, set[str]] = {node: set() for node in topology.nodes}
    for edge in topology.edges:
        # The engine itself goes to a budget's fallback by its name.
        if (edge.kind in ORDINARY or edge.source == DISPATCHER) and edge.target in ordinary:
            ordinary[edge.target].add(edge.source)
    by_name = topology.hidden | {loop.gate for loop in topology.loops}
    for way in _ways(builder, topology):
        for target in way.targets & ordinary.keys():
            # A Send across a loop's edge is refused, so a gate is only ever entered by its name.
            width = 0 if target in by_name else way.width(target)
            if width is None:
                unknown.add(target)
            elif width == 0:
                ordinary[target].add(way.source)
            else:
                its = widths.setdefault(target, {})
                its[way.source] = its.get(way.source, 0) + width
    return FanOut(widths, {node: ordinary[node] for node in widths}, frozenset(_spread(builder, unknown, widths)))


def _ways(builder: Builder, topology: Topology) -> Iterator[_Way]:
    def seen(source: str, *kinds: str) -> frozenset[str]:
        """Where a router or node that declares nothing leads, as far as the reader could tell."""
        return frozenset(target for kind in kinds for target in led.get((source, kind), ()))

    led: dict[tuple[str, str], set[str]] = {}
    for edge in topology.edges:
        led.setdefault((edge.source, edge.kind), set()).add(edge.target)
    for source, branches in builder.branches.items():
        for branch in branches.values():
            ends = frozenset(branch.ends.values()) if branch.ends else seen(source, "conditional", "request", "assumed")
            yield _Way(source, ends, branch.path)
    gates = {edge.source for edge in topology.edges if edge.kind == "granted"}
    handled = {node: spec.error_handler_node for node, spec in builder.nodes.items() if spec.error_handler_node}
    for node, spec in builder.nodes.items():
        if node in gates or node == DISPATCHER:
            continue
        # A handler runs in the superstep of the node that failed, so its jumps are that node's.
        sources = [served for served, its in handled.items() if its == node] if spec.is_error_handler else [node]
        kind = "handler" if spec.is_error_handler else "command"
        for source in sources:
            yield _Way(source, frozenset(spec.ends or seen(source, kind, "assumed")), spec.runnable)


def _spread(builder: Builder, unknown: set[str], widths: Mapping[str, Mapping[str, int]]) -> set[str]:
    """What runs as often as a node of unknown width: its error handler, and what it sends to itself."""
    found, queue = set[str](), [*unknown]
    while queue:
        node = queue.pop()
        if node not in found:
            found.add(node)
            handler = builder.nodes[node].error_handler_node
            queue += [handler] if handler else []
            queue += [target for target, senders in widths.items() if node in senders]
    return found
