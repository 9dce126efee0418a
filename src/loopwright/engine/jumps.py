"""One wrapper of nodes, and one of routers: what they return is looked at on its way out.

It sends a jump through the gate of the loop that it belongs to, counts what is sent with ``Send``, writes what was
spent, and refuses a jump that the proof did not know, so that the proof need not assume that there is none.

Nodes are wrapped after compiling: what LangGraph learns of a node when it compiles (its subgraphs, whether it is async)
stays as it is.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import Command, Send

from loopwright.engine.budget.meter import current_meter, spending
from loopwright.engine.langgraph_private import is_for, limit_around, write_beside
from loopwright.engine.ledger import HIDDEN, REQUESTS
from loopwright.engine.loop import END, Loop
from loopwright.errors import LoopDeclarationError, UndeclaredFanOutError, UndeclaredJumpError

logger = logging.getLogger("loopwright.loops")


class RefusedJump(UndeclaredJumpError, GraphBubbleUp):
    """One that LangGraph neither tries again nor hands to an error handler, as the two below."""


class RefusedFanOut(UndeclaredFanOutError, GraphBubbleUp):
    """See `RefusedJump`."""


class RefusedSend(LoopDeclarationError, GraphBubbleUp):
    """See `RefusedJump`."""


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a node or router may go."""

    node: str
    """The node, or the one behind which the router stands."""
    sender: str
    """What to call it in a message: ``node 'plan'``."""
    known: frozenset[str] | None
    """The nodes that the proof counts with; None if it counts with every node."""
    gates: Mapping[str, Loop] = field(default_factory=dict[str, Loop])
    """Target of a loop -> the loop through whose gate a jump to the target goes."""
    fan_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Node whose fan-out is declared -> the most tasks that one run may send to it; 0 if it is not known to send."""
    sends: bool = True
    """Whether the proof counts with a ``Send``."""
    crossed: frozenset[str] = frozenset()
    """Targets of loops across whose edge it may send: what is sent waits before the gate."""
    noted: frozenset[str] = frozenset()
    """Targets of loops of which it is noted who asks, and for what: their fallback depends on it, or it is sent on."""
    again: str | None = None
    """For an error handler, the node that failed: a resumed run tries it again, which is an attempt and no jump."""

    def check(self, gotos: Sequence[Any]) -> None:
        """Refuse what the proof did not count with: an unknown node, too many Sends, or a Send across a loop's edge."""
        for goto in gotos:
            target = _name(goto)
            if isinstance(goto, Send) and target in self.gates and target not in self.crossed:
                raise RefusedSend(
                    self.gates[target].name,
                    f"{self.sender} sent a Send to {target!r} across the loop's edge, where passes cannot be counted. "
                    "Go to the node's name instead, move the fan-out behind the target, or say how many it may send: "
                    f"fan_out={{{target!r}: 10}}.",
                )
            if isinstance(goto, Send) and not self.sends:
                raise RefusedFanOut(self.sender, str(target), sent=1, declared=0)
            if self.known is not None and target not in {*self.known, END, self.again}:
                raise RefusedJump(self.sender, str(target), sorted(self.known))
        sent = Counter(goto.node for goto in gotos if isinstance(goto, Send) and goto.node in self.fan_out)
        for node, tasks in sent.items():
            entered = tasks + (node in gotos)
            if entered > self.fan_out[node]:
                raise RefusedFanOut(self.sender, node, sent=entered, declared=self.fan_out[node])

    def through(self, gotos: Sequence[Any]) -> tuple[list[Any], dict[str, list[Any]]]:
        """Where jumps really go, through the gates of the loops that they belong to; and what waits before these."""
        ways: list[Any] = []
        waiting: dict[str, list[Any]] = {}
        for goto in gotos:
            target = _name(goto)
            if target not in self.gates or (isinstance(goto, Send) and target not in self.crossed):
                ways.append(goto)
                continue
            loop = self.gates[target]
            if target in self.noted:
                waiting.setdefault(loop.name, []).append((self.node, goto))
            if loop.gate not in ways:
                ways.append(loop.gate)
        return ways, waiting


@dataclass(eq=False, repr=False)
class WatchedNode(Runnable[Any, Any]):
    """A node whose jumps are looked at, those of a graph inside it too."""

    bound: Runnable[Any, Any]
    """The node."""
    ways: Ways
    """Where it may go."""
    metered: bool = False
    """Whether to write what the run has spent beside its result."""
    settle: Callable[[Any, RunnableConfig], Any] | None = None
    """Makes an update of what it returns, where that is none yet."""

    def __post_init__(self) -> None:
        self.name = getattr(self.bound, "name", None)

    def __getattr__(self, name: str) -> Any:
        """What somebody looks for in the node: the tools of a ``ToolNode``, the function of any other."""
        if name == "bound" or name.startswith("__"):  # how Python asks what a copy can do, before it has anything
            raise AttributeError(name)
        return getattr(self.bound, name)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and look at what it returns."""
        try:
            limit_around(config)
            return self._leave(self.bound.invoke(input, config, **kwargs), config)
        except (GraphInterrupt, ParentCommand) as leaving:
            raise self._left(leaving, config) from None

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run it and look at what it returns."""
        try:
            limit_around(config)
            return self._leave(await self.bound.ainvoke(input, config, **kwargs), config)
        except (GraphInterrupt, ParentCommand) as leaving:
            raise self._left(leaving, config) from None

    def _leave(self, result: Any, config: RunnableConfig | None) -> Any:
        if self.settle:
            result = self.settle(result, config or {})
        if isinstance(result, dict):
            self._warn_of_books(result)
        elif isinstance(result, Command | Send):
            (result,) = self._through([result], config)
        elif isinstance(result, list | tuple) and any(isinstance(item, Command) for item in result):
            result = self._through(cast("Sequence[Any]", result), config)
        if self.metered:
            write_beside(config, spending(config))
        return result

    def _through(self, items: Sequence[Any], config: RunnableConfig | None) -> list[Any]:
        """What a node returned, its jumps through their gates; what waits there is noted beside it."""
        self.ways.check([goto for item in items for goto in _gotos(item)])
        return [self._translated(item, config) for item in items]

    def _translated(self, item: Any, config: RunnableConfig | None) -> Any:
        if isinstance(item, Send) and item.node in self.ways.crossed:
            item = Command(goto=item)
        if not isinstance(item, Command) or item.graph == Command.PARENT:
            self._warn_of_books(item)
            return item
        if self._warn_of_books(item.update):  # of a graph without keys, LangGraph would take them
            update = cast("dict[str, Any]", item.update)
            item = changed(item, update={key: update[key] for key in update if key not in HIDDEN})
        gotos = _gotos(item)
        ways, waiting = self.ways.through(gotos)
        write_beside(config, {REQUESTS: waiting} if waiting else {})
        return item if ways == gotos else changed(item, goto=ways)

    def _warn_of_books(self, update: Any) -> bool:
        """Say that what only the engine writes is dropped: no node can start its own ledger anew."""
        written = HIDDEN.intersection(cast("dict[str, Any]", update)) if isinstance(update, dict) else ()
        for key in written:
            logger.warning("node %r wrote to %r, which only the engine writes; that is dropped", self.ways.node, key)
        return bool(written)

    def _left(self, leaving: GraphInterrupt | ParentCommand, config: RunnableConfig | None) -> Exception:
        """What leaves the node in place of a result: a question, or the Command that a graph inside sent here."""
        if isinstance(leaving, GraphInterrupt):
            if self.metered and (meter := current_meter.get()):
                meter.keep()  # LangGraph drops what a node writes that asks
            return leaving
        command: Command[Any] = leaving.args[0]
        here = (config or {}).get("configurable", {}).get("checkpoint_ns", "")
        if not is_for(command, here, self.ways.node):
            return leaving  # for a graph further out
        (translated,) = self._through([changed(command, graph=None)], config)
        return ParentCommand(changed(translated, graph=command.graph))


@dataclass(eq=False, repr=False)
class WatchedRouter(WatchedNode):
    """A router whose answer is looked at: words, which are translated by its path map."""

    labels: Mapping[Any, str] = field(default_factory=dict[Any, str])
    """Its path map: its words -> the nodes that they stand for; empty where they are the nodes' names."""

    def _leave(self, result: Any, config: RunnableConfig | None) -> Any:
        if self.metered:
            write_beside(config, spending(config))
        if isinstance(result, str) and not self.ways.noted:
            target = self.labels.get(result, "") if self.labels else result
            if target in (self.ways.known or ()):  # most routers say one word: they pay for three look-ups
                return self.ways.gates[target].gate if target in self.ways.gates else target
        words: Sequence[Any] = result if isinstance(result, list | tuple) else (result,)
        self.ways.check([word if isinstance(word, Send) else self.labels.get(word, word) for word in words])
        # A word that is not in the path map is a KeyError, as it is LangGraph's.
        gotos = [word if isinstance(word, Send) or not self.labels else self.labels[word] for word in words]
        ways, waiting = self.ways.through(gotos)
        write_beside(config, {REQUESTS: waiting} if waiting else {})
        return ways


def changed(command: Command[Any], **changes: Any) -> Command[Any]:
    """A Command with other values. LangGraph reads these four alone; a subclass may have a constructor of its own."""
    same: dict[str, Any] = {key: getattr(command, key) for key in ("graph", "update", "resume", "goto")}
    return Command(**{**same, **changes})


def _name(goto: Any) -> Any:
    return goto.node if isinstance(goto, Send) else goto


def _gotos(item: Any) -> list[Any]:
    """Where one thing that a node returned goes in the node's own graph."""
    if isinstance(item, Send):
        return [item]
    if not isinstance(item, Command) or item.graph == Command.PARENT:
        return []  # LangGraph takes any other for one of the node's own graph
    goto: Any = item.goto
    return [goto] if isinstance(goto, str | Send) else [*cast("Sequence[Any]", goto)]
