"""Routers and nodes whose jumps go through a gate: what they return is translated on its way out."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import ParentCommand
from langgraph.types import Command, Send

from loopwright.engine.loops import Loop
from loopwright.errors import LoopDeclarationError


def unwrapped(runnable: Any) -> Any:
    """What a node or router was before the engine, or a ``with_config``, wrapped it."""
    while not hasattr(runnable, "func") and hasattr(runnable, "bound"):
        runnable = runnable.bound
    return runnable


def may_send(path: Any) -> bool:
    """Whether a router or node could return a `Send`: its source mentions one, or cannot be read."""
    inner = unwrapped(path)
    function = getattr(inner, "func", None) or getattr(inner, "afunc", None)
    if function is None:
        return True
    try:
        return "Send" in inspect.getsource(function)
    except (OSError, TypeError):
        return True


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
        here = (config or {}).get("configurable", {}).get("checkpoint_ns", "")
        if command.graph not in (here, self._node):
            return jump
        translated = self._translate(dataclasses.replace(command, graph=None))
        return ParentCommand(dataclasses.replace(translated, graph=command.graph))

    def _translate(self, result: Any) -> Any:
        if isinstance(result, list):
            return [self._translate(item) for item in result]
        if not isinstance(result, Command) or result.graph is not None:
            return result
        target = self._loop.target
        single = isinstance(result.goto, str | Send)
        gotos = [result.goto] if single else list(cast("Sequence[Any]", result.goto))
        for goto in gotos:
            if isinstance(goto, Send) and goto.node == target:
                raise LoopDeclarationError(
                    self._loop.name,
                    f"a Command sent a Send to {target!r} across the loop's edge; go to the node's name instead",
                )
        return dataclasses.replace(result, goto=[self._entrance if goto == target else goto for goto in gotos])
