"""The gate node: grant or refuse one pass of a loop, and keep the books.

A gate stands between a loop's sources and its target. LangGraph runs it once per superstep however many branches ask,
so simultaneous requests are one pass. It is an ordinary node: its ledger lives in an ordinary channel, so it survives
resume, fork and time travel without help.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.types import Command

from loopwright.engine import clock
from loopwright.engine.books import LEDGER, REQUESTS, STOP_REASON, StopReason
from loopwright.engine.listening import emit
from loopwright.engine.loops import Loop, Spend, Verdict, decide
from loopwright.engine.meter import current_meter

logger = logging.getLogger("loopwright.loops")

ENGINE_NODES = "loop."
"""How the names of all nodes begin that the engine adds to a graph."""

DISPATCHER = "loop..dispatch"
"""The node in whose name a run's end at a bound is written; no gate has this name: no loop's name begins with a dot."""


def is_engine_node(name: str) -> bool:
    """Whether a node's name is of those that the engine gives to its own nodes."""
    return name.startswith(ENGINE_NODES)


class GateState(dict[str, Any]):
    """The input schema of gates: every channel, as a plain dict."""


class Gate(Runnable[GateState, Command[Any]]):
    """The node of one loop.

    Args:
        loop: The declaration.
        view: Makes the graph's own schema out of the plain state, for the loop's ``reason`` and ``stall`` callables.
        metered: Whether budgets are counted in this graph.
    """

    def __init__(self, loop: Loop, view: Callable[[Mapping[str, Any]], Any], metered: bool = False) -> None:
        self.loop = loop
        self.name = loop.gate
        self._view = view
        self._looks = bool(loop.reason or loop.stall_rules)
        self._metered = metered

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and say where control goes."""
        verdict, reason = self._decide(input)
        wait = self._wait(verdict)
        if wait:
            clock.sleep(wait)
        return self._answer(input, verdict, reason, wait, config)

    async def ainvoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and say where control goes."""
        verdict, reason = self._decide(input)
        wait = self._wait(verdict)
        if wait:
            await clock.asleep(wait)
        return self._answer(input, verdict, reason, wait, config)

    def _decide(self, state: GateState) -> tuple[Verdict, str]:
        loop = self.loop
        view = self._view(state) if self._looks else state
        meter = current_meter() if self._metered else None
        ledger = state.get(LEDGER) or {}
        if meter and meter.closed:
            # The run's budget is spent and its fallback is on: nothing goes round any more.
            entry = ledger.get(loop.name) or Spend(spent=0, limit=loop.ceiling, refused=0)
            verdict = Verdict("over_budget", cast("Spend", {**entry, "refused": entry["refused"] + 1}), closing=True)
        else:
            verdict = decide(loop, state, view, ledger, meter.total() if meter else None, self._asked(state))
        return verdict, (loop.reason(view) if loop.reason else None) or "no reason given"

    def _asked(self, state: GateState) -> list[str]:
        """The sources that ask; all that could, where nobody took note of it."""
        return (state.get(REQUESTS) or {}).get(self.loop.name) or list(self.loop.sources)

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
                update[loop.history] = self._history(state, loop.history, verdict, reason)
        else:
            goto = self._refused_route(state, verdict)
            if not verdict.closing:  # else the run's own stop reason stands
                update[STOP_REASON] = self._stop_reason(verdict, reason, step)
        asked = self._asked(state)
        if loop.asks_by_source:
            update[REQUESTS] = {loop.name: []}
        self._log(verdict, reason, asked)
        # A plain dict: it is made for every pass, and checked by whoever reads it.
        event = {"type": "loop", "at": datetime.now(UTC).isoformat(), "loop": loop.name, "decision": verdict.decision,
                 "spent": spend["spent"], "limit": spend["limit"], "reason": reason, "goto": goto, "step": step,
                 "waited": waited, "why": verdict.why, "sources": asked}  # fmt: skip
        emit(event)
        return Command(goto=goto, update=update)

    def _stop_reason(self, verdict: Verdict, reason: str, step: int) -> StopReason:
        decision: Any = verdict.decision
        stop = StopReason(
            loop=self.loop.name, outcome=decision, limit=verdict.spend["limit"], spent=verdict.spend["spent"],
            reason=reason, step=step,
        )  # fmt: skip
        if verdict.rule:
            stop["rule"] = verdict.rule.name
        if source := verdict.source:
            stop["source"], stop["limit"], stop["spent"] = source, *self._of_source(verdict, source)
        if over := verdict.overspent:
            stop["resource"], stop["limit"], stop["spent"] = over.resource, over.limit, over.spent
        return stop

    def _of_source(self, verdict: Verdict, source: str) -> tuple[int, int]:
        """A source's own limit, and how much of it is spent."""
        return self.loop.source_limits[source], verdict.spend.get("by_source", {}).get(source, 0)

    def _refused_route(self, state: GateState, verdict: Verdict) -> list[str]:
        loop = self.loop
        own = verdict.rule.route if verdict.rule else None
        if verdict.overspent and loop.budget:
            own = loop.budget.exhausted
        if own:
            return [own]
        if isinstance(loop.exhausted, str):
            return [loop.exhausted]
        return list(dict.fromkeys(loop.exhausted[source] for source in self._asked(state)))

    def _history(self, state: GateState, key: str, verdict: Verdict, reason: str) -> list[str]:
        loop, words = self.loop, self._words(verdict, reason)
        lines: list[str] = [*(state.get(key) or []), loop.history_entry.format(**words)]
        for _ in range(len(lines) - loop.history_limit):
            logger.warning(loop.messages.evicted.format(**words))
        return lines[-loop.history_limit :]

    def _words(self, verdict: Verdict, reason: str, source: str | None = None) -> dict[str, Any]:
        loop, spend = self.loop, verdict.spend
        limit, spent = spend["limit"], spend["spent"]
        if verdict.source and (own := source or verdict.source) in loop.source_limits:
            limit, spent = self._of_source(verdict, own)
        return {"loop": loop.name, "reason": reason, "target": loop.target, "spent": spent, "limit": limit,
                "why": verdict.why}  # fmt: skip

    def _log(self, verdict: Verdict, reason: str, asked: list[str]) -> None:
        messages = self.loop.messages
        if verdict.decision != "granted":
            template: str | Mapping[str, str] = getattr(messages, verdict.decision)
            if isinstance(template, str):
                logger.warning(template.format(**self._words(verdict, reason)))
            else:
                for source in asked:
                    logger.warning(template[source].format(**self._words(verdict, reason, source)))
        elif logger.isEnabledFor(logging.INFO):
            words = self._words(verdict, reason)
            for line in messages.granted:
                logger.info(line.format(**words))


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


class Dispatcher(Runnable[GateState, None]):
    """Stands in the graph for the engine itself, and never runs.

    When a run ends at its budget or at a step limit, the engine writes the stop reason in this node's name, and goes on
    from here to the fallback.
    """

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> None:
        """Nothing leads here."""
