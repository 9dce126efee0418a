"""A compiled graph that always stops: LangGraph's, with its step limit turned into an outcome."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.errors import GraphRecursionError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from loopwright.engine.certificate import Certificate
from loopwright.engine.gate import NEW_RUN_NODE, STOP_REASON, StopReason
from loopwright.engine.loops import Loop
from loopwright.engine.reading import read_topology
from loopwright.engine.topology import Topology

logger = logging.getLogger("loopwright.loops")

RECURSION_LIMIT = "recursion_limit"
"""The name of LangGraph's own step limit, as a config key and as the ``loop`` of its stop reason."""


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
        return as_bounded(self, update or {})

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


def as_bounded(original: CompiledStateGraph[Any, Any, Any, Any], attributes: dict[str, Any]) -> Any:
    """The same graph as a `BoundedGraph`.

    LangGraph's own constructor cannot take its private attributes back, so they are handed over as they are; but for
    those that would make the user's own class, which may have no ``stop_reason``, of a state that has one.
    """
    graph = BoundedGraph.__new__(BoundedGraph)
    mappers = {"_output_mapper": None, "_state_mapper": None}
    vars(graph).update({**vars(original), **mappers, **attributes})
    return graph
