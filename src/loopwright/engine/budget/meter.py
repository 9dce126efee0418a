"""Counts what a run spends on chat models, whoever calls them, and refuses the call that its budget does not cover.

LangChain calls a callback handler before and after every call of a chat model; the meter is one. It reaches a call in
two ways, and counts it once: by a context variable, which every task of the run has, also where a node hands nothing
on; and by the callbacks in the run's config, which reach the threads that a node starts itself and hands its config to.
What is spent is written to a hidden channel together with every node's result, and noted beside the checkpoint around
every call, so that a run that is killed, interrupted or cut short knows it when it goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, Protocol
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler, Callbacks
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphDrained
from langgraph.graph import StateGraph
from langgraph.runtime import RunControl

from loopwright.engine import clock
from loopwright.engine.budget.budget import (
    BEYOND,
    CLOSED,
    RUN_ID,
    UNITS,
    UNPRICED,
    Budget,
    Overspent,
    PriceTable,
    Spent,
    Usage,
    added,
    at_closing,
    new_run,
    overspent,
)
from loopwright.engine.events.schema import handlers_of, holding
from loopwright.engine.ledger import SPENT
from loopwright.engine.loop import END, Loop
from loopwright.engine.nodes.failures import errors_in
from loopwright.errors import GraphError, unknown_name_message


class Control(RunControl):
    """What LangGraph asks behind every superstep, those of graphs inside too: whether the run is to end."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    @property
    def drain_requested(self) -> bool:
        """Whether a budget is spent, that of a run around this one too, or anybody asked for an end."""
        return self.drain_reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why, of budgets first."""
        for meter in self._meter.around():
            meter.check_seconds()
            if meter.refusal:
                return str(meter.refusal)
            if meter.caller and meter.caller.drain_requested:
                return meter.caller.drain_reason
        return super().drain_reason


class Allowance(Protocol):
    """What a run may spend of something that it shares with other runs. Called from any thread; it may block."""

    def reserve(self, call: UUID, model: str, prompt_tokens: int, reply_tokens: int | None) -> Overspent | None:
        """Have the cost of a call that is about to be sent set aside, or be told what does not suffice.

        The prompt has about so many tokens, and the reply at most so many, if the call says.
        """
        ...

    def settle(self, call: UUID, model: str, usage: Usage | None) -> None:
        """Have what was set aside for a call replaced by what it took, which nobody knows of one that failed: None.

        Of a call that nothing was set aside for, all that it took is counted.
        """
        ...


@dataclass(eq=False, repr=False)
class Meter(BaseCallbackHandler):
    """What one run spends."""

    budget: Budget | None
    """The run's budget; None only counts, for the budgets of loops."""
    price: PriceTable | None
    """What a usage costs, if money is to be counted."""
    spent_before: Mapping[str, float]
    """What the run had spent before, if it is resumed."""
    note: Callable[[Spent], None] | None = None
    """Keeps what is spent in the middle of a superstep; None where nothing is kept."""
    caller: RunControl | None = None
    """By it the caller may ask for an end, too."""
    outer: Meter | None = None
    """The meter of the run around this one."""
    allowance: Allowance | None = None
    """What the run shares with others, for the outermost meter."""
    keeps: bool = True
    """Whether what is spent goes into the state, for a run that may go on from there."""
    refusal: Overspent | None = field(default=None, init=False)
    """What the budget lacks, once it does."""
    refused_a_call: bool = field(default=False, init=False)
    """Whether a call was refused for it, or a gate's wait."""
    step: int = field(default=0, init=False)
    """The superstep of the last node that finished."""

    raise_error = True
    run_inline = True
    # LangChain reads these on every call; it means them to be overridden, and types them as properties.
    ignore_chain = ignore_agent = ignore_retriever = ignore_custom_event = ignore_retry = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __post_init__(self) -> None:
        if self.allowance:
            self.run_inline = False  # an event loop must not wait for a database
        if isinstance(self.caller, Control):
            self.caller = None  # that of a run around is asked for itself
        self.control = Control(self)
        """By it LangGraph is asked to end the graph with the superstep that is under way."""
        self.closed = bool(self.spent_before.get(CLOSED))
        """Whether the run's fallback is on, which may spend what was kept for it."""
        self._spent: Spent = dict(self.spent_before)
        self.limits = self._limits_now()
        """Resource -> how much of it the run may spend now."""
        self._begins = False  # whether its fallback has not been asked yet for an end
        self._in_flight: dict[UUID, tuple[str, int]] = {}
        self._lock = threading.RLock()
        self._began = clock.now()
        if not self.closed:  # what was refused after the fact, before the run paused
            if self._spent.get(BEYOND):
                self.check_after_the_fact()
            if self._spent.get(UNPRICED):
                self._stop_unpriced("a model")

    # Counting

    def total(self) -> Spent:
        """What the run has spent so far, seconds included."""
        with self._lock:
            now = clock.now()
            self._spent["seconds"] = self._spent.get("seconds", 0.0) + now - self._began
            self._began = now
            return dict(self._spent)

    def spend(self, call: UUID, model: str, usage: Usage, calls: int = 0) -> None:
        """Count what a call took, and perhaps the call itself."""
        self._add({"model_calls": calls, "tokens": usage.total_tokens, **self._money(model, usage)})
        self.keep()
        if self.allowance:
            self.allowance.settle(call, model, usage)

    def _add(self, amounts: Mapping[str, float]) -> None:
        with self._lock:
            self._spent = added(self._spent, amounts)

    def keep(self) -> None:
        """Note what is spent beside the checkpoint, in the middle of a superstep."""
        if self.note:
            self.note(self.total())

    def _money(self, model: str, usage: Usage) -> Spent:
        price = self.price(model, usage) if self.price else None
        if price is not None:
            return {"money": price}
        self._stop_unpriced(f"model {model!r}")
        return {UNPRICED: 1.0} if self.price else {}

    def _stop_unpriced(self, what: str) -> None:
        if self.budget and self.budget.money is not None and self.refusal is None:
            note = f"no price is known for {what}, so its cost cannot be bounded"
            self.stop(Overspent("money", self.budget.money, self.total().get("money", 0.0), note))

    # Refusing

    def _limits_now(self) -> dict[str, float]:
        if self.budget is None:
            return {}
        return self.budget.limits_of_fallback(self._spent) if self.closed else self.budget.limits_before_fallback(END)

    def _overspent(self, limits: Mapping[str, float]) -> Overspent | None:
        """What the run has used up of what these limit, if anything; in the words of its whole budget."""
        over = overspent(limits, {**self.total(), UNPRICED: 0})  # for these, `_money` stops the run itself
        if over is None or self.budget is None:
            return None
        whole = self.budget.limits[over.resource]
        kept = f"{over.spent:g} of {whole:g} {UNITS[over.resource]} spent, the rest is kept for the fallback"
        return Overspent(over.resource, whole, over.spent, kept if over.limit < whole else "")

    def stop(self, reason: Overspent) -> None:
        """Let the run, and whatever runs inside it, end with the superstep that is under way."""
        self.refusal = self.refusal or reason

    def check_seconds(self) -> None:
        """Stop the run if its time is over, whatever else is used up and may be; its fallback begins in any case."""
        if self._begins:
            self._begins = False
            return
        seconds = {name: most for name, most in self.limits.items() if name == "seconds"}
        if seconds and self.refusal is None and (over := self._overspent(seconds)):
            self.stop(over)

    def stop_before_wait(self, seconds: float) -> bool:
        """Whether a wait would go beyond the seconds of the run, or of one around it: it is stopped then."""
        for meter in self.around():
            spent = meter.total()["seconds"]
            if meter.budget is not None and meter.limits.get("seconds", inf) - spent < seconds:
                limit = meter.budget.limits["seconds"]
                note = f"{spent:g} of {limit:g} seconds spent, and a wait of {seconds:g} more would go beyond"
                meter.refused_a_call = True  # the gate may lead to the end, before which nobody asks again
                meter.stop(Overspent("seconds", limit, spent, note))
                return True
        return False

    def check_after_the_fact(self) -> None:
        """Stop the run if more than its budget is spent, and not only all of it."""
        spent = self.total()
        if over := self._overspent({name: most for name, most in self.limits.items() if spent.get(name, 0) > most}):
            self._spent[BEYOND] = 1
            self.stop(over)

    def begin_fallback(self) -> Spent:
        """Let what was kept in reserve be spent now; gives what must be written to the channel."""
        with self._lock:
            if not self.closed:
                self._spent |= at_closing(self.total())
            self.closed, self.refusal, self.refused_a_call, self._begins = True, None, False, True
            self.limits = self._limits_now()
            return self.total()

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Count a call about to be sent, or refuse it by `GraphDrained`; LangChain calls this for chat models, too."""
        model, prompt_tokens = model_asked(serialized, kwargs.get("metadata")), sum(map(len, prompts)) // 4
        # That of the innermost run must agree before those around it count.
        inner = current_meter.get()
        meters = [*(inner if inner is not None and self in inner.around() else self).around()]
        with _counting:  # one lock for all: of two calls at once that ask for the last one, only one is sent
            new = [meter for meter in meters if run_id not in meter._in_flight]
            refusals = ((meter, meter.refusal or meter._overspent(meter.limits)) for meter in new)
            refused = next(((meter, over) for meter, over in refusals if over), None)
            for meter in new if refused is None else ():
                meter._in_flight[run_id] = (model, prompt_tokens)
                meter._add({"model_calls": 1})
        outermost = meters[-1]
        if refused is None and outermost in new and (over := outermost._lacking(run_id, model, prompt_tokens, kwargs)):
            refused = outermost, over
        if refused:
            for meter in meters:
                if meter._in_flight.pop(run_id, None):  # counted already, and not sent after all
                    meter._add({"model_calls": -1})
            meter, over = refused
            meter.refused_a_call = True
            meter.stop(over)
            raise GraphDrained(str(over))
        for meter in new:  # not under a lock: a saver may have to wait for the event loop
            meter.keep()

    def _lacking(self, call: UUID, model: str, prompt_tokens: int, given: Mapping[str, Any]) -> Overspent | None:
        """What the run's allowance lacks for a call; without one, nothing."""
        if self.allowance is None:
            return None
        parameters: dict[str, Any] = given.get("invocation_params") or {}
        most = next((parameters[name] for name in _REPLY_LIMITS if isinstance(parameters.get(name), int)), None)
        return self.allowance.reserve(call, model, prompt_tokens, most)

    def around(self) -> Iterator[Meter]:
        """This meter and those of the runs around it."""
        yield self
        yield from self.outer.around() if self.outer else ()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count what a call took."""
        if self.outer:
            self.outer.on_llm_end(response, run_id=run_id)
        call = self._in_flight.pop(run_id, None)
        if call is None:
            return  # reported to two meters of nested runs, and counted by both already
        model, prompt_tokens = call
        usage = Usage()
        for generation in (each for several in response.generations for each in several):
            found = Usage.of(generation.message) if isinstance(generation, ChatGeneration) else Usage(unmetered_calls=1)
            if found.unmetered_calls:  # the provider does not say: about four characters make a token
                found = Usage(input_tokens=prompt_tokens, output_tokens=len(generation.text) // 4)
            usage += found
        self.spend(run_id, model, usage)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a call that failed; of a reply that was broken or cut off, count what came of it."""
        begun, used = kwargs.get("response"), cut_off_usage(error)
        if used is None and isinstance(begun, LLMResult) and any(begun.generations):
            self.on_llm_end(begun, run_id=run_id)
            return
        for meter in self.around():
            call = meter._in_flight.pop(run_id, None)
            if call and used:
                meter.spend(run_id, call[0], used)
            elif call and meter.allowance:
                meter.allowance.settle(run_id, call[0], None)

    def awaits(self, call: UUID) -> bool:
        """Whether a call was sent, and nobody told of its end: it is under way, or was cancelled."""
        return call in self._in_flight

    def in_force(self) -> Callable[[], AbstractContextManager[None]]:
        """What a run's stream is followed within: this meter counts from now on what its chunks take."""
        self._began = clock.now()
        return partial(holding, current_meter, self)


_REPLY_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""What providers call the most tokens of a reply."""

_counting = threading.Lock()
"""Held while a call is checked and counted, which takes microseconds."""

# LangChain warns of each callback that raises, and a meter that does so refuses a call.
logging.getLogger("langchain_core.callbacks.manager").addFilter(lambda said: "Error in Meter." not in said.getMessage())

current_meter: ContextVar[Meter | None] = ContextVar("loopwright_meter", default=None)
"""The meter of the run that this code is a part of."""
register_configure_hook(current_meter, inheritable=False)

allowance: ContextVar[Allowance | None] = ContextVar("loopwright_allowance", default=None)
"""What the runs that are begun in this context share with others."""


def meter_around(callbacks: Callbacks) -> Meter | None:
    """The meter of the run inside of which a graph is called: by the context, or by the config that it is given."""
    if (meter := current_meter.get()) is not None:
        return meter
    return next((handler for handler in reversed(handlers_of(callbacks)) if isinstance(handler, Meter)), None)


def model_asked(serialized: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> str:
    """The name of the model of a call, from what LangChain tells a callback handler when it begins."""
    return str((metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "unknown")


def reply_of(response: LLMResult | None) -> BaseMessage:
    """What came of a call, from what LangChain tells a callback handler when it ends; an empty one for nothing."""
    made = (each for several in (response.generations if response else ()) for each in several)
    first = next(made, Generation(text=""))
    return first.message if isinstance(first, ChatGeneration) else AIMessage(first.text)


def cut_off_usage(error: BaseException | None) -> Usage | None:
    """What a structured reply took that the limit of tokens cut off: OpenAI's client raises it instead."""
    used: Any = getattr(getattr(error, "completion", None), "usage", None)
    return used and Usage(calls=1, input_tokens=used.prompt_tokens, output_tokens=used.completion_tokens)


def this_run() -> Spent:
    """What names the run that begins with this input, as its meter has it."""
    meter = current_meter.get()
    return {RUN_ID: meter.spent_before[RUN_ID]} if meter and RUN_ID in meter.spent_before else new_run()


def spending(config: RunnableConfig | None) -> dict[str, Any]:
    """What the run has spent so far, to be written together with a node's result."""
    meter = current_meter.get()
    if meter is None:
        return {}
    meter.step = int((config or {}).get("metadata", {}).get("langgraph_step", 0))
    return {SPENT: meter.total()} if meter.keeps else {}


def comes_of_refusal(error: BaseException) -> bool:
    """Whether an error was made of the refusal of a call by a budget of this run, or of one around it."""
    meter = current_meter.get()
    return comes_of_draining(error) and meter is not None and any(each.refusal for each in meter.around())


def comes_of_draining(error: BaseException | None, seen: frozenset[int] = frozenset()) -> bool:
    """Whether an error, or all in a group, is that a graph was drained, or was made of it; `seen` are what holds it."""
    while error is not None and id(error) not in seen:
        seen |= {id(error)}
        if isinstance(error, GraphDrained) or {comes_of_draining(each, seen) for each in errors_in(error)} == {True}:
            return True
        error = error.__cause__ or error.__context__
    return not seen


def record_usage(usage: Usage, *, model: str = "unknown") -> None:
    """Count a model call that LangChain does not see, such as one through a provider's own client.

    Call it inside a node. Where it goes beyond the run's budget, the run takes its fallback when the superstep ends.
    Without a budget around it, nothing happens. A usage without `calls` is one call's; the model is for its price.
    """
    usage = usage if usage.calls else replace(usage, calls=1)
    meter = current_meter.get()
    meters = [*meter.around()] if meter else []
    for one in meters:
        one.spend(uuid4(), model, usage, usage.calls)
    for one in meters:
        one.check_after_the_fact()


# What a graph is given


def check_budgets(builder: StateGraph[Any, Any, Any, Any], loops: Sequence[Loop], budget: Budget | None) -> None:
    """Refuse budgets that do not fit the graph or each other, and name the culprit: a `GraphError`."""
    if budget and budget.exhausted not in (None, END, *builder.nodes):
        known = [*builder.nodes, END]
        raise GraphError(f"the run's Budget: {unknown_name_message('node', str(budget.exhausted), known)}")
    if len({id(price) for price in prices_of(loops, budget)}) > 1:
        raise GraphError("the budgets of one graph have different prices; give all of them the same price table")


def prices_of(loops: Sequence[Loop], budget: Budget | None) -> list[PriceTable]:
    """The price tables of a graph's budgets, which share one, if they have any."""
    return [one.price for one in (budget, *(loop.budget for loop in loops)) if one and one.price]
