"""The gate node: grant or refuse one pass of a loop, and keep the books.

A gate stands between a loop's sources and its target. LangGraph runs it once per superstep however many branches ask,
so simultaneous requests are one pass. It is an ordinary node: its ledger lives in an ordinary channel, so it survives
resume, fork and time travel without help.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import LastValue
from langgraph.runtime import get_runtime
from langgraph.types import Command

from loopwright.engine.events import LoopDecided
from loopwright.engine.loops import Loop, Spend, Verdict, decide

logger = logging.getLogger("loopwright.loops")

LEDGER = "loop_ledger"
"""The hidden channel of what every loop has spent."""

REQUESTS = "loop_requests"
"""The hidden channel of who asked, for loops whose fallback depends on the source."""

STOP_REASON = "stop_reason"
"""The state key that says which bound was reached."""

NO_STOP: dict[str, Any] = {}
"""Written to the stop reason when a new input arrives."""

NEW_RUN: dict[str, Any] = {"": {}}
"""Written to the ledger when a new input arrives."""


ENGINE_NODES = "loop."
"""How the names of all nodes begin that the engine adds to a graph."""

NEW_RUN_NODE = "loop..start"
"""The hidden node beside the entry that starts new ledgers; no gate has this name: no loop's name begins with a dot."""


def is_engine_node(name: str) -> bool:
    """Whether a node's name is of those that the engine gives to its own nodes."""
    return name.startswith(ENGINE_NODES)


class StopReason(TypedDict):
    """Why a loop did not go round again; the value of the state key ``stop_reason``."""

    loop: str
    """The loop's name; ``recursion_limit`` for LangGraph's own step limit."""
    outcome: Literal["exhausted", "stalled"]
    """Whether the bound was reached or no progress was made."""
    limit: int
    """The limit in force."""
    spent: int
    """Passes granted before the refused one."""
    reason: str
    """Why the refused pass was wanted."""
    step: int
    """The superstep of the refusal."""


class GateState(dict[str, Any]):
    """The input schema of gates: every channel, as a plain dict."""


def merge_ledger(old: Mapping[str, Spend], new: Mapping[str, Any]) -> dict[str, Spend]:
    """Reduce two ledgers: a count never falls, unless a new run starts.

    Args:
        old: The ledger so far.
        new: One gate's entry, or `NEW_RUN`.
    """
    if "" in new:
        return {}
    merged = dict(old)
    for name, spend in new.items():
        if name not in merged or _order(spend) >= _order(merged[name]):
            merged[name] = spend
    return merged


def _order(spend: Spend) -> tuple[int, int, int]:
    return spend.get("pass_of", 0), spend["spent"], spend["refused"]


def merge_requests(old: Mapping[str, list[str]], new: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Reduce two sets of requests: join the sources per loop; an empty list clears a loop's."""
    merged = {name: list(sources) for name, sources in old.items()}
    for name, sources in new.items():
        merged[name] = sorted({*merged.get(name, []), *sources}) if sources else []
    return merged


class StopReasons(LastValue[Any]):
    """The channel of the stop reason: those of one superstep become a list, and a later one replaces an earlier one.

    `NO_STOP` clears. None changes nothing: a bounded subgraph that came to its own end returns it.
    """

    def get(self) -> Any:
        """The stop reason, or None."""
        return self.value if self.is_available() else None

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        if not values or all(value is None for value in values):
            return False
        stops = [stop for value in values for stop in (value if isinstance(value, list) else [value]) if stop]
        self.value = stops if len(stops) > 1 else stops[0] if stops else None
        return True


def last_write(_old: Any, new: Any) -> Any:
    """Reduce two writes of a key that the engine owns: the last one counts."""
    return new


class Gate(Runnable[GateState, Command[Any]]):
    """The node of one loop.

    Args:
        loop: The declaration.
        view: Makes the graph's own schema out of the plain state, for the loop's ``reason`` and ``stall`` callables.
    """

    def __init__(self, loop: Loop, view: Callable[[Mapping[str, Any]], Any]) -> None:
        self.loop = loop
        self.name = loop.gate
        self._view = view

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and say where control goes."""
        verdict, reason = self._decide(input)
        wait = self._wait(verdict)
        if wait:
            time.sleep(wait)
        return self._answer(input, verdict, reason, wait, config)

    async def ainvoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and say where control goes."""
        verdict, reason = self._decide(input)
        wait = self._wait(verdict)
        if wait:
            await asyncio.sleep(wait)
        return self._answer(input, verdict, reason, wait, config)

    def _decide(self, state: GateState) -> tuple[Verdict, str]:
        loop = self.loop
        view = self._view(state) if loop.reason or loop.stall else state
        verdict = decide(loop, state, view, state.get(LEDGER) or {})
        return verdict, (loop.reason(view) if loop.reason else None) or "no reason given"

    def _wait(self, verdict: Verdict) -> float:
        if verdict.decision != "granted" or self.loop.backoff is None:
            return 0.0
        return self.loop.backoff.seconds(verdict.spend["spent"] - 1)

    def _answer(
        self, state: GateState, verdict: Verdict, reason: str, waited: float, config: RunnableConfig | None
    ) -> Command[Any]:
        loop, spend = self.loop, verdict.spend
        step = int((config or {}).get("metadata", {}).get("langgraph_step", 0))
        update: dict[str, Any] = {LEDGER: {loop.name: spend}}
        if loop.counter and loop.counter_by == "engine":
            update[loop.counter] = spend["spent"]
        if verdict.decision == "granted":
            goto = [loop.target]
            if loop.history:
                update[loop.history] = self._history(state, loop.history, spend, reason)
        else:
            goto = self._refused_route(state, verdict)
            update[STOP_REASON] = StopReason(
                loop=loop.name, outcome=verdict.decision, limit=spend["limit"], spent=spend["spent"], reason=reason,
                step=step,
            )  # fmt: skip
        if not isinstance(loop.exhausted, str):
            update[REQUESTS] = {loop.name: []}
        self._log(verdict, reason)
        event = LoopDecided(
            loop=loop.name, decision=verdict.decision, spent=spend["spent"], limit=spend["limit"], reason=reason,
            goto=goto, step=step, waited=waited,
        )  # fmt: skip
        get_runtime().stream_writer(event.model_dump(mode="json"))
        return Command(goto=goto, update=update)

    def _refused_route(self, state: GateState, verdict: Verdict) -> list[str]:
        loop = self.loop
        if verdict.decision == "stalled" and loop.stall and loop.stall.route:
            return [loop.stall.route]
        if isinstance(loop.exhausted, str):
            return [loop.exhausted]
        asked = (state.get(REQUESTS) or {}).get(loop.name) or list(loop.sources)
        return list(dict.fromkeys(loop.exhausted[source] for source in asked))

    def _history(self, state: GateState, key: str, spend: Spend, reason: str) -> list[str]:
        loop, words = self.loop, self._words(spend, reason)
        lines: list[str] = [*(state.get(key) or []), loop.history_entry.format(**words)]
        for _ in range(len(lines) - loop.history_limit):
            logger.warning(loop.messages.evicted.format(**words))
        return lines[-loop.history_limit :]

    def _words(self, spend: Spend, reason: str) -> dict[str, Any]:
        loop = self.loop
        return {"loop": loop.name, "reason": reason, "target": loop.target, "spent": spend["spent"],
                "limit": spend["limit"]}  # fmt: skip

    def _log(self, verdict: Verdict, reason: str) -> None:
        messages, words = self.loop.messages, self._words(verdict.spend, reason)
        if verdict.decision == "granted":
            if logger.isEnabledFor(logging.INFO):
                for line in messages.granted:
                    logger.info(line.format(**words))
        else:
            template = messages.exhausted if verdict.decision == "exhausted" else messages.stalled
            logger.warning(template.format(**words))


class Asker(Runnable[GateState, dict[str, Any]]):
    """Notes which source asked, on its way into a gate whose fallback depends on the source."""

    def __init__(self, loop: Loop, source: str) -> None:
        self._update = {REQUESTS: {loop.name: [source]}}

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Write the note."""
        return self._update

    async def ainvoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Write the note."""
        return self._update


class NewRun(Runnable[GateState, dict[str, Any]]):
    """Starts new ledgers when a new input arrives; runs beside the entry node, so it costs no superstep.

    Args:
        loops: The loops of the graph, whose visible counters and histories start anew too.
    """

    def __init__(self, loops: tuple[Loop, ...]) -> None:
        self._update: dict[str, Any] = {LEDGER: NEW_RUN, STOP_REASON: NO_STOP}
        by_source = [loop.name for loop in loops if not isinstance(loop.exhausted, str)]
        if by_source:
            self._update[REQUESTS] = {name: [] for name in by_source}
        for loop in loops:
            if loop.counter and loop.counter_by == "engine":
                self._update[loop.counter] = 0
            if loop.history:
                self._update[loop.history] = []

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Clear the books."""
        return self._update

    async def ainvoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Clear the books."""
        return self._update
