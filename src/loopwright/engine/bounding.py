"""`bounded`: any LangGraph graph in, a graph that always stops out."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from loopwright.engine.binding import Builder, bind, copy_builder
from loopwright.engine.gate import LEDGER, NEW_RUN_NODE, REQUESTS, STOP_REASON, StopReason
from loopwright.engine.loops import Loop
from loopwright.engine.reading import builder_of, read_topology
from loopwright.engine.topology import Topology
from loopwright.engine.verify import Certificate, step_limit, verify
from loopwright.errors import GraphError

logger = logging.getLogger("loopwright.loops")

RECURSION_LIMIT = "recursion_limit"
"""The name of LangGraph's own step limit, as a config key and as the ``loop`` of its stop reason."""

FALLBACK = "fallback"
"""The node of the ``fallback`` function that `bounded` was given."""

_CARRIED = {
    "checkpointer": "checkpointer", "store": "store", "cache": "cache", "name": "name", "debug": "debug",
    "interrupt_before": "interrupt_before_nodes", "interrupt_after": "interrupt_after_nodes",
    "transformers": "stream_transformers",
}  # fmt: skip
"""Option of LangGraph's ``compile`` -> the attribute of a compiled graph that keeps it."""


class BoundedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled LangGraph graph whose every cycle is bounded.

    It is used like any compiled graph. Where LangGraph would raise ``GraphRecursionError``, because a step limit
    smaller than the certificate's was set, this graph ends with what it has and a ``stop_reason``.
    """

    loops: tuple[Loop, ...]
    """The loops whose gates it holds."""
    certificate: Certificate
    """The worst case of one run."""

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """A copy with some attributes changed, as LangGraph's ``with_config`` makes one."""
        return _as_bounded(self, update or {})

    def limited_to(self, supersteps: int) -> Self:
        """A copy that stops after so many supersteps, if that is less than the certificate's worst case.

        Args:
            supersteps: How many; LangGraph counts one more than it runs.
        """
        present = (self.config or {}).get(RECURSION_LIMIT, supersteps)
        return self.with_config(recursion_limit=min(supersteps, present))

    def topology(self) -> Topology:
        """The nodes and edges, gates included."""
        return read_topology(self)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:  # type: ignore[override]
        """Run and yield what LangGraph yields; reaching a step limit is an outcome.

        Args:
            input: The input, a ``Command``, or None to go on from a checkpoint.
            config: The run's configuration.
            **kwargs: As for LangGraph's ``stream``.
        """
        last = _LastValues(self, config, kwargs)
        try:
            for chunk in super().stream(input, config, **kwargs):
                last.see(chunk)
                yield chunk
        except GraphRecursionError as error:
            stop = last.stop_reason(error)
            if self.checkpointer and self.loops:
                self.update_state(self._thread(config), {STOP_REASON: stop}, as_node=NEW_RUN_NODE)
            yield from last.closing(stop)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """Run and yield what LangGraph yields; reaching a step limit is an outcome.

        Args:
            input: The input, a ``Command``, or None to go on from a checkpoint.
            config: The run's configuration.
            **kwargs: As for LangGraph's ``astream``.
        """
        last = _LastValues(self, config, kwargs)
        try:
            async for chunk in super().astream(input, config, **kwargs):
                last.see(chunk)
                yield chunk
        except GraphRecursionError as error:
            stop = last.stop_reason(error)
            if self.checkpointer and self.loops:
                await self.aupdate_state(self._thread(config), {STOP_REASON: stop}, as_node=NEW_RUN_NODE)
            for chunk in last.closing(stop):
                yield chunk

    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Change the state of a thread, as LangGraph does; behind a gate, its decision stands.

        Args:
            config: The thread, or one checkpoint of it.
            values: The update.
            as_node: The node that the update comes from; by default the last one that ran.
            task_id: As for LangGraph's ``update_state``.
        """
        if as_node is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            saved = self.checkpointer.get_tuple(merge_configs(self.config, config))
            if gate := self._last_gate(saved):
                values, as_node = Command(update=values, goto=[*self.get_state(config).next]), gate
        return super().update_state(config, values, as_node, task_id)

    async def aupdate_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> RunnableConfig:
        """Change the state of a thread; see `update_state`.

        Args:
            config: The thread, or one checkpoint of it.
            values: The update.
            as_node: The node that the update comes from; by default the last one that ran.
            task_id: As for LangGraph's ``update_state``.
        """
        if as_node is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            saved = await self.checkpointer.aget_tuple(merge_configs(self.config, config))
            if gate := self._last_gate(saved):
                values, as_node = Command(update=values, goto=[*(await self.aget_state(config)).next]), gate
        return await super().aupdate_state(config, values, as_node, task_id)

    def _last_gate(self, saved: CheckpointTuple | None) -> str | None:
        """The gate that ran last, if it was one: it would not repeat its jump for an update in its name."""
        if saved is None or saved.config.get("configurable", {}).get("checkpoint_ns"):
            return None
        last = self._infer_as_node(saved.checkpoint["versions_seen"])
        return last if last in {loop.gate for loop in self.loops} else None

    def _infer_as_node(self, versions_seen: dict[str, Any]) -> str | None:
        """The last node that ran, but for the hidden one beside the entry, which would make it ambiguous."""
        return super()._infer_as_node({node: seen for node, seen in versions_seen.items() if node != NEW_RUN_NODE})

    def _thread(self, config: RunnableConfig | None) -> RunnableConfig:
        """Where the run's last checkpoint is: not at the ``checkpoint_id`` from which a fork began."""
        merged = merge_configs(self.config, config)
        place = {key: value for key, value in merged.get("configurable", {}).items() if key != "checkpoint_id"}
        return {**merged, "configurable": place}


class _LastValues:
    """Follows a stream, so that a run that hits the step limit can still end with its last values."""

    def __init__(self, graph: BoundedGraph, config: RunnableConfig | None, options: Mapping[str, Any]) -> None:
        limits = [(source or {}).get(RECURSION_LIMIT) for source in (config, graph.config)]
        self._limit = next((limit for limit in limits if limit), None)
        modes = options.get("stream_mode") or graph.stream_mode
        self._modes: list[str] = [modes] if isinstance(modes, str) else list(modes)
        self._single = isinstance(modes, str)
        self._subgraphs = bool(options.get("subgraphs"))
        self._v2 = options.get("version") == "v2"
        self._values: Any = {}

    def see(self, chunk: Any) -> None:
        if self._v2:
            mode, space, payload = chunk["type"], chunk["ns"], chunk["data"]
        else:
            parts: tuple[Any, ...] = (chunk,) if self._single and not self._subgraphs else chunk
            payload = parts[-1]
            mode = self._modes[0] if self._single else parts[-2]
            space = parts[0] if self._subgraphs else ()
        if mode == "values" and not space:
            self._values = payload

    def stop_reason(self, error: GraphRecursionError) -> StopReason:
        """Turn the exception into an outcome; one from a graph inside a node goes on as it is.

        LangGraph adds a note to every exception that comes out of a node, and none to its own step limit.
        """
        if getattr(error, "__notes__", None):
            raise error
        limit = int(self._limit or 0)
        logger.warning(
            "step limit %s reached before the graph came to its end: it stops with what it has. "
            "Raise or drop recursion_limit to let every loop use its own limit.", limit,
        )  # fmt: skip
        return StopReason(
            loop=RECURSION_LIMIT, outcome="exhausted", limit=limit, spent=limit, reason="the step limit was reached",
            step=limit,
        )  # fmt: skip

    def closing(self, stop: StopReason) -> Iterator[Any]:
        """The last chunks of the stream, in the shape that the caller asked for."""
        payloads: dict[str, Any] = {"updates": {RECURSION_LIMIT: {STOP_REASON: stop}}}
        if isinstance(self._values, dict):  # and not the value of a single key that the caller asked for
            payloads["values"] = {**cast("dict[str, Any]", self._values), STOP_REASON: stop}
        for mode in self._modes:
            if mode not in payloads:
                continue
            if self._v2:
                yield {
                    "type": mode,
                    "ns": (),
                    "data": payloads[mode],
                    **({"interrupts": ()} if mode == "values" else {}),
                }
                continue
            parts = [*([()] if self._subgraphs else []), *([] if self._single else [mode]), payloads[mode]]
            yield parts[0] if len(parts) == 1 else tuple(parts)


def bounded(
    graph: StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any],
    loops: Sequence[Loop] = (),
    *,
    limit: int | None = None,
    fallback: Callable[..., Any] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Bound every cycle of a graph, prove it, and compile it.

    Args:
        graph: A graph that somebody wrote, compiled or not; it is left untouched.
        loops: Where it goes round and how often. Without any, `limit` bounds every cycle: the edges that close a cycle
            are chosen, and the `Loop`s that were chosen are logged, ready to paste.
        limit: Passes per loop, when no `loops` are given.
        fallback: A node function that answers when a bound is reached; with `limit` only (a `Loop` names its own).
        **compile_options: As for LangGraph's ``compile``; what a compiled graph had is carried over unless given.

    Returns:
        The compiled graph, with its certificate. Its step limit follows from the certificate.

    Raises:
        LoopDeclarationError: If a loop does not fit the graph.
        UnboundedCycleError: If a cycle is left that crosses no bound; it names every cycle found.
        GraphError: If a node cannot be reached, or neither `loops` nor `limit` is given for a graph that has cycles.
    """
    builder = builder_of(graph)
    if fallback is not None and (loops or limit is None):
        raise GraphError("fallback goes with limit; a Loop names its own node in 'exhausted'")
    if loops and limit is not None:
        raise GraphError("give either loops, which have their own limits, or limit, which bounds every cycle")
    if limit is not None:
        if fallback is not None:
            builder = _with_fallback(builder, fallback)
        loops = choose_loops(builder, limit, exhausted=FALLBACK if fallback else END)
        for loop in loops:
            logger.info(
                "chosen: Loop(name=%r, target=%r, sources=%r, limit=%r)", loop.name, loop.target, loop.sources, limit
            )
    bound = bind(builder, loops)
    certificate = verify(bound).require()
    compiled = bound.compile(**_compile_options(graph, builder, compile_options))
    if isinstance(graph, CompiledStateGraph) and graph.config:
        compiled = compiled.with_config(graph.config)
    if steps := step_limit(certificate, bound):
        steps = min(steps, (compiled.config or {}).get(RECURSION_LIMIT, steps))
        compiled = compiled.with_config(recursion_limit=steps)
    shown = [key for key in compiled.stream_channels_list if key not in (LEDGER, REQUESTS)]
    return _as_bounded(compiled, {"stream_channels": shown, "loops": bound.loops, "certificate": certificate})


def _as_bounded(original: CompiledStateGraph[Any, Any, Any, Any], attributes: dict[str, Any]) -> Any:
    """The same graph as a `BoundedGraph`.

    LangGraph's own constructor cannot take its private attributes back, so they are handed over as they are; but for
    those that would make the user's own class, which may have no ``stop_reason``, of a state that has one.
    """
    graph = BoundedGraph.__new__(BoundedGraph)
    mappers = {"_output_mapper": None, "_state_mapper": None}
    vars(graph).update({**vars(original), **mappers, **attributes})
    return graph


def _compile_options(graph: Any, builder: Builder, given: dict[str, Any]) -> dict[str, Any]:
    carried: dict[str, Any] = {}
    if isinstance(graph, CompiledStateGraph):
        carried = {option: getattr(graph, attribute) for option, attribute in _CARRIED.items()}
    options = {**{option: value for option, value in carried.items() if value}, **given}
    for option in ("interrupt_before", "interrupt_after"):
        if options.get(option) == "*":  # every node, but not the gates
            options[option] = [node for node, spec in builder.nodes.items() if not spec.is_error_handler]
    return options


def _with_fallback(builder: Builder, fallback: Callable[..., Any]) -> Builder:
    if FALLBACK in builder.nodes:
        raise GraphError(
            f"the graph has a node {FALLBACK!r} already: declare the loops and name it in their 'exhausted'"
        )
    copied = copy_builder(builder)
    copied.add_node(FALLBACK, fallback)
    copied.add_edge(FALLBACK, END)
    return copied


def choose_loops(builder: Builder, limit: int, exhausted: str = END) -> tuple[Loop, ...]:
    """Choose the edges that close a cycle, and declare a loop for each node that they lead to.

    A walk through the graph from its start, in the order of declaration, finds the edges that lead back to a node on
    the path walked.

    Args:
        builder: The graph.
        limit: Passes per loop.
        exhausted: Where control goes when a bound is reached.

    Returns:
        The loops; empty for a graph without cycles.

    Raises:
        GraphError: If a cycle closes in an error handler, which no gate can stand before.
    """
    follow: dict[str, list[str]] = {START: [], END: []}
    edges = read_topology(builder).edges
    only_handlers = {(edge.source, edge.target) for edge in edges if edge.kind == "handler"}
    only_handlers -= {(edge.source, edge.target) for edge in edges if edge.kind != "handler"}
    for edge in edges:
        targets = follow.setdefault(edge.source, [])
        if edge.target not in targets:
            targets.append(edge.target)
    back = _back_edges(follow)
    sources: dict[str, list[str]] = {}
    for source, target in back:
        if (source, target) in only_handlers:
            raise GraphError(
                f"the error handler of {source!r} leads back to {target!r}; bound that with the node's retries"
            )
        sources.setdefault(target, []).append(source)
    return tuple(
        Loop(name=target, target=target, sources=tuple(froms), limit=limit, exhausted=exhausted)
        for target, froms in sources.items()
    )


def _back_edges(follow: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    back: list[tuple[str, str]] = []
    done: set[str] = set()
    path = {START}
    stack: list[tuple[str, Iterator[str]]] = [(START, iter(follow[START]))]
    while stack:
        node, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            stack.pop()
            path.discard(node)
            done.add(node)
        elif target in path:
            back.append((node, target))
        elif target not in done:
            path.add(target)
            stack.append((target, iter(follow.get(target, ()))))
    return back
