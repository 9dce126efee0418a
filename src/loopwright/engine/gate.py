"""The gate node: grant or refuse one pass of a loop, and keep the books.

A gate stands between a loop's sources and its target. LangGraph runs it once per superstep however many branches ask,
so simultaneous requests are one pass. It is an ordinary node: its ledger lives in an ordinary channel, so it survives
resume, fork and time travel without help.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, Send

from loopwright.engine import clock
from loopwright.engine.budget.meter import current_meter, spending
from loopwright.engine.events.reasons import MESSAGES, marks, wanted, warning
from loopwright.engine.events.schema import emit, holding
from loopwright.engine.langgraph_private import obey, read
from loopwright.engine.ledger import HIDDEN, LEDGER, REQUESTS, STOP_REASON, VISITED, StopReason
from loopwright.engine.loop import RUN, Loop, Spend, StateLimit, Verdict, decide, refused
from loopwright.engine.nodes.policy import is_transient
from loopwright.errors import LoopDeclarationError, LoopwrightError, UndeclaredFanOutError

logger = logging.getLogger("loopwright.loops")

ENGINE_NODES = "loop."
"""How the names of all nodes begin that the engine adds to a graph."""

DISPATCHER = "loop..dispatch"
"""The node in whose name a run's end at a bound is written, and from which it goes on to the fallback; it never runs.
No gate has this name: no loop's name begins with a dot."""


def is_engine_node(name: str) -> bool:
    """Whether a node's name is of those that the engine gives to its own nodes."""
    return name.startswith(ENGINE_NODES)


class GateState(dict[str, Any]):
    """The input schema of gates: every channel, as a plain dict."""


@dataclass(eq=False, repr=False)
class Gate(Runnable[GateState, Command[Any]]):
    """The node of one loop."""

    loop: Loop
    """The declaration."""
    view: Callable[[Mapping[str, Any]], Any]
    """Makes the graph's own schema out of the plain state, for the loop's callables."""
    metered: bool
    """Whether budgets are counted in this graph."""
    fan_out: int | None
    """The most tasks of one pass, where Sends may cross the loop and it is declared."""
    fleeting: Sequence[str]
    """State keys that LangGraph empties after each superstep: the target reads what its sources wrote there."""
    adds_messages: bool
    """Whether LangGraph adds to the state's messages what is written there, and does not replace them."""
    resets: Sequence[str]
    """The counters of the loops that count anew with every pass of this one."""
    not_theirs: frozenset[str]
    """State keys in which no work of the graph's own nodes shows."""
    before: list[str] = field(default_factory=list[str])
    """The channels that start other gates: of those in one superstep, the first hands on what is emptied."""

    def __post_init__(self) -> None:
        loop, self.name = self.loop, self.loop.gate
        self._limit_key = loop.limit.key if isinstance(loop.limit, StateLimit) else None
        self._looks = bool(loop.reason or loop.stall_rules)
        self._ends_early = bool(self.metered or loop.stall_rules or loop.source_limits or self._limit_key)

    def invoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and write where control goes."""
        with holding(var_child_runnable_config, config):
            verdict, reason, wait = self._decide(input)
            if wait:
                clock.sleep(wait)
            return self._answer(input, verdict, reason, wait, config or {})

    async def ainvoke(self, input: GateState, config: RunnableConfig | None = None, **kwargs: Any) -> Command[Any]:
        """Decide, wait if the loop backs off, and write where control goes."""
        with holding(var_child_runnable_config, config):
            verdict, reason, wait = self._decide(input)
            if wait:
                await clock.asleep(wait)
            return self._answer(input, verdict, reason, wait, config or {})

    def _decide(self, state: GateState) -> tuple[Verdict, str, float]:
        """The answer, why the pass is wanted, and the seconds to wait before it."""
        loop, ledger = self.loop, state.get(LEDGER) or {}
        key = None if loop.name in ledger and loop.scope == RUN else self._limit_key  # what is frozen is not read again
        view = self.view(state) if self._looks or callable(key) else state
        if view is state and isinstance(key, str) and state.get(key) is None:
            with suppress(TypeError, ValueError):  # else a required field is not written yet, and no default is read
                view = self.view(state)
        around = current_meter.get()  # where nothing is counted in this graph, that of a run around it
        meter = around if self.metered else None
        entry = ledger.get(loop.name) or Spend(spent=0, limit=loop.ceiling, refused=0)
        if loop.first_free and loop.target not in (state.get(VISITED) or ()):
            return Verdict("granted", entry, first_visit=True), f"the first visit of {loop.target}", 0.0
        verdict, wait, what = None, 0.0, "limit or stall rule"
        try:
            if not (meter and meter.closed):
                verdict = decide(loop, state, view, ledger, meter.total() if meter else None, self._asked(state))
                if verdict.decision == "granted" and loop.backoff:
                    wait = loop.backoff.seconds(verdict.spend["spent"] - 1)
            if verdict is None or (wait and around and around.stop_before_wait(wait)):
                # The run's budget is spent, or the wait would go beyond it: nothing goes round any more.
                verdict, wait = Verdict("over_budget", refused(entry), closing=True), 0.0
            what = "reason"
            reason = str((loop.reason(view) if loop.reason else wanted(state)) or "")
        except Exception as error:
            blame(error, loop, what, state)
        if loop.reason is None and not state.get(MESSAGES):
            reason = reason or self._changed(state, verdict, entry)
        return verdict, reason, wait

    def _changed(self, state: GateState, verdict: Verdict, before: Spend) -> str:
        """The state keys that changed since the last pass, for a refusal; a granted pass that may be it takes note."""
        spend = verdict.spend
        if verdict.decision == "granted" and spend["spent"] < spend["limit"] and not self._ends_early:
            return ""
        found = marks(state, without=self.not_theirs)
        if verdict.decision == "granted":
            verdict.spend["marks"] = found
            return ""
        known = before.get("marks", {})
        return wanted({}, [key for key, mark in found.items() if known and known.get(key) != mark])

    def _asked(self, state: GateState) -> list[str]:
        """The sources that ask; all that could, where nobody took note of it."""
        return sorted({source for source, _ in self._requests(state)}) or list(self.loop.sources)

    def _requests(self, state: GateState) -> list[tuple[str, Any]]:
        return (state.get(REQUESTS) or {}).get(self.loop.name, [])

    def _answer(
        self, state: GateState, verdict: Verdict, reason: str, waited: float, config: RunnableConfig
    ) -> Command[Any]:
        loop, spend = self.loop, verdict.spend
        step = int(config.get("metadata", {}).get("langgraph_step", 0))
        waiting, asked = self._requests(state), self._asked(state)
        update: dict[str, Any] = {key: state[key] for key in self.fleeting if key in state}
        if update and read(config, self.before):
            update = {}
        if not verdict.first_visit:
            update[LEDGER] = {loop.name: spend}
        granted, left = verdict.decision == "granted", spend["limit"] - spend["spent"]
        if granted and loop.first_free:
            update[VISITED] = [loop.target]
        if loop.counter and loop.counter_by == "engine":
            update[loop.counter] = spend["spent"]
        if waiting:
            update[REQUESTS] = {loop.name: len(waiting)}
        goto = [loop.target] if granted else list(dict.fromkeys(map(loop.fallback_of, asked)))
        if granted and not verdict.first_visit:
            update |= dict.fromkeys(self.resets, 0)
            update |= {loop.history: self._history(state, loop.history, verdict, reason)} if loop.history else {}
        said = state.get(MESSAGES) or []
        # Whatever stands between a call and its answer, models refuse.
        if granted and left <= loop.warn_at and loop.warn_at and not (said and getattr(said[-1], "tool_calls", None)):
            note = HumanMessage(warning(left), additional_kwargs={"lc_source": "loopwright"})  # no person wrote it
            update[MESSAGES] = [*([] if self.adds_messages else said), note]
        if not granted and not verdict.closing:  # else the run's own stop reason stands
            update[STOP_REASON] = stop_reason(loop, verdict, reason, step)
        update |= spending(config) if self.metered else {}
        tell(loop, verdict, reason, goto=goto, step=step, asked=asked, waited=waited)
        if waiting and granted:
            waiting = [each for each in waiting if verdict.first_visit or each[0] in verdict.entitled]
            named = [loop.target] if loop.target in [goto for _, goto in waiting] else []
            tasks = [*named, *(sent for _, sent in waiting if isinstance(sent, Send))]
            if self.fan_out is not None and len(tasks) > self.fan_out:
                raise UndeclaredFanOutError(f"loop {loop.name!r}", loop.target, sent=len(tasks), declared=self.fan_out)
            return obey(Command(goto=tasks, update=update), config)
        return obey(Command(goto=goto, update=update), config)

    def _history(self, state: GateState, key: str, verdict: Verdict, reason: str) -> list[str]:
        loop, words = self.loop, _words(self.loop, verdict, reason)
        lines: list[str] = [*(state.get(key) or []), f"[Iteration {words['spent']}] {reason}".rstrip()]
        for _ in range(len(lines) - loop.history_limit):
            logger.warning(loop.messages.evicted.format(**words))
        return lines[-loop.history_limit :]


def blame(error: Exception, loop: Loop, what: str, state: Mapping[str, Any]) -> NoReturn:
    """Raise a callable's error as a `LoopDeclarationError` that names its loop; one that may pass stays what it is."""
    if isinstance(error, GraphBubbleUp | LoopwrightError) or is_transient(error):
        raise error
    known = ", ".join(sorted(state.keys() - HIDDEN))
    problem = f"its {what} failed with {type(error).__name__}: {error}. The state has: {known}"
    raise LoopDeclarationError(loop.name, problem) from error


def _figures(loop: Loop, verdict: Verdict, source: str | None = None) -> tuple[int, int]:
    """The limit that counts, a source's own where that was reached, and how much of it is spent."""
    if verdict.source and (own := source or verdict.source) in loop.source_limits:
        return int(loop.source_limits[own]), verdict.spend.get("by_source", {}).get(own, 0)
    return verdict.spend["limit"], verdict.spend["spent"]


def stop_reason(loop: Loop, verdict: Verdict, reason: str, step: int) -> StopReason:
    """What the state says of a pass that was refused."""
    decision: Any = verdict.decision
    limit, spent = (over.limit, over.spent) if (over := verdict.overspent) else _figures(loop, verdict)
    stop = StopReason(loop=loop.name, outcome=decision, limit=limit, spent=spent, reason=reason, step=step)
    more = {
        "derived": True if reason and loop.reason is None else None,
        "rule": verdict.rule and verdict.rule.name,
        "asked": verdict.spend.get("asked"),
        "source": verdict.source,
        "resource": over and over.resource,
        "why": (over and over.note) or None,
    }
    return cast("StopReason", stop | {key: value for key, value in more.items() if value is not None})


def tell(
    loop: Loop, verdict: Verdict, reason: str, *, goto: list[str], step: int, asked: list[str], waited: float = 0.0
) -> None:
    """Log a decision and emit its event."""
    messages, spend = loop.messages, verdict.spend
    if "asked" in spend and spend["spent"] + spend["refused"] == 1:  # said once, at the first request
        logger.warning(
            "Loop %s: %s asks for %d passes, and its ceiling is %d: that counts",
            loop.name, cast("StateLimit", loop.limit).origin, spend["asked"], spend["limit"],
        )  # fmt: skip
    if verdict.decision != "granted":
        template: str | Mapping[str, str] = getattr(messages, verdict.decision)
        by_source = {None: template} if isinstance(template, str) else {source: template[source] for source in asked}
        for source, text in by_source.items():
            logger.warning(text.format(**_words(loop, verdict, reason, source)))
    elif logger.isEnabledFor(logging.INFO):
        words = _words(loop, verdict, reason)
        for line in messages.granted:
            logger.info(line.format(**words))
    # A plain dict: it is made for every pass, and checked by whoever reads it.
    emit({"type": "loop", "at": datetime.now(UTC).isoformat(), "loop": loop.name, "decision": verdict.decision,
          "spent": spend["spent"], "limit": spend["limit"], "reason": reason, "goto": goto, "step": step,
          "waited": waited, "why": verdict.why, "sources": asked})  # fmt: skip


def _words(loop: Loop, verdict: Verdict, reason: str, source: str | None = None) -> dict[str, Any]:
    limit, spent = _figures(loop, verdict, source)
    return {"loop": loop.name, "reason": reason, "target": loop.target, "spent": spent, "limit": limit,
            "why": verdict.why, "wanted": f"; wanted: {reason}" if reason else ""}  # fmt: skip
