"""Routers and nodes whose jumps go through a gate: what they return is translated on its way out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import FunctionType
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import ParentCommand
from langgraph.types import Command, Send

from loopwright.engine.closures import seen_by
from loopwright.engine.loops import Loop
from loopwright.errors import LoopDeclarationError


def unwrapped(runnable: Any) -> Any:
    """What a node or router was before the engine, or a ``with_config``, wrapped it."""
    while not hasattr(runnable, "func") and hasattr(runnable, "bound"):
        runnable = runnable.bound
    return runnable


def may_send(path: Any) -> bool:
    """Whether a router or node could return a `Send`: its source, or that of a function it calls, mentions one.

    What cannot be read could do anything.
    """
    inner = unwrapped(path)
    function = getattr(inner, "func", None) or getattr(inner, "afunc", None)
    return function is None or _mentions_send(function, set())


def _mentions_send(function: Any, looked_at: set[int]) -> bool:
    looked_at.add(id(function))
    seen = seen_by(function)
    if seen is None or "Send" in seen.names:
        return True
    ours = [value for value in seen.values if isinstance(value, FunctionType) and _same_package(value, function)]
    held = [item for value in seen.values for item in (value if isinstance(value, list | tuple) else (value,))]
    return any(item is Send or isinstance(item, Send) for item in held) or any(
        _mentions_send(value, looked_at) for value in ours if id(value) not in looked_at
    )


def _same_package(one: FunctionType, other: Any) -> bool:
    return one.__module__.partition(".")[0] == other.__module__.partition(".")[0]


def goes_to_parent(command: Command[Any], node: str | None, config: RunnableConfig | None) -> bool:
    """Whether a Command that comes out of a graph inside a node is for the graph that holds the node."""
    here = (config or {}).get("configurable", {}).get("checkpoint_ns", "")
    return command.graph in (here, node)


class WithoutSends(Runnable[Any, Any]):
    """A router that refuses, while it runs, a `Send` that would jump over the gate."""

    def __init__(self, bound: Runnable[Any, Any], loop: Loop) -> None:
        self.bound = bound
        self._loop = loop

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the router and look at its answer."""
        return self._check(self.bound.invoke(input, config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the router and look at its answer."""
        return self._check(await self.bound.ainvoke(input, config, **kwargs))

    def _check(self, result: Any) -> Any:
        for item in result if isinstance(result, list | tuple) else [result]:
            if isinstance(item, Send) and item.node == self._loop.target:
                raise LoopDeclarationError(
                    self._loop.name,
                    f"a router sent a Send to {item.node!r} across the loop's edge, where passes cannot be counted. "
                    "Return the node's name instead, or move the fan-out behind the target.",
                )
        return result


class Rerouted(Runnable[Any, Any]):
    """A node whose Commands go to the gate where they meant the loop's target."""

    def __init__(self, bound: Runnable[Any, Any], node: str, loop: Loop, entrance: str) -> None:
        self.bound = bound
        self.name = getattr(bound, "name", None)
        self._node = node
        self._loop = loop
        self._entrance = entrance

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node and translate its Commands."""
        try:
            return self._translate(self.bound.invoke(input, config, **kwargs))
        except ParentCommand as jump:
            raise self._from_inside(jump, config) from None

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node and translate its Commands."""
        try:
            return self._translate(await self.bound.ainvoke(input, config, **kwargs))
        except ParentCommand as jump:
            raise self._from_inside(jump, config) from None

    def _from_inside(self, jump: ParentCommand, config: RunnableConfig | None) -> ParentCommand:
        """Translate the Command that a subgraph sent to this graph; one for a graph further out goes on as it is."""
        command: Command[Any] = jump.args[0]
        if not goes_to_parent(command, self._node, config):
            return jump
        translated = self._translate(dataclasses.replace(command, graph=None))
        return ParentCommand(dataclasses.replace(translated, graph=command.graph))

    def _translate(self, result: Any) -> Any:
        if isinstance(result, list | tuple):
            return [self._translate(item) for item in result]
        if isinstance(result, Send):
            self._refuse(result)
        if not isinstance(result, Command) or result.graph is not None:
            return result
        target = self._loop.target
        single = isinstance(result.goto, str | Send)
        gotos = [result.goto] if single else list(cast("Sequence[Any]", result.goto))
        for goto in gotos:
            self._refuse(goto)
        return dataclasses.replace(result, goto=[self._entrance if goto == target else goto for goto in gotos])

    def _refuse(self, goto: Any) -> None:
        if isinstance(goto, Send) and goto.node == self._loop.target:
            raise LoopDeclarationError(
                self._loop.name,
                f"a Command sent a Send to {goto.node!r} across the loop's edge; go to the node's name instead",
            )
