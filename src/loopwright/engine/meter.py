"""Counts what a run spends on chat models, whoever calls them, and refuses the call that its budget does not cover.

LangChain tells a callback handler of every call of a chat model; the meter is one, and reaches every call made within
the run, in subgraphs and in graphs called inside a node too, without being handed on. What is spent is written to a
hidden channel together with every node's result, and noted beside the checkpoint around every call, so that a run that
is killed, interrupted or cut short knows it when it goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from loopwright.engine import clock
from loopwright.engine.budgets import CLOSED, UNITS, Budget, Overspent, Spent, added, at_closing, overspent
from loopwright.engine.draining import Control
from loopwright.engine.following import afollowing, closing, following
from loopwright.engine.loops import END
from loopwright.engine.usage import PriceTable, Usage


class Meter(BaseCallbackHandler):
    """What one run spends.

    Args:
        budget: The run's budget; None only counts, for the budgets of loops.
        price: What a usage costs, if money is to be counted.
        spent: What the run had spent before, if it is resumed.
        note: Keeps what is spent in the middle of a superstep; None where nothing is kept.
        caller: By it the caller may ask for an end, too.

    Attributes:
        control: By it LangGraph is asked to end the graph with the superstep that is under way.
        refusal: What the budget lacks, once it does.
        refused_a_call: Whether a call was refused for it.
        closed: Whether the run's fallback is on, which may spend what was kept for it.
        outer: The meter of the run around this one.
        step: The superstep of the last node that finished.
    """

    raise_error = True
    run_inline = True
    # LangChain reads these on every call; it means them to be overridden, and types them as properties.
    ignore_chain = ignore_agent = ignore_retriever = ignore_custom_event = ignore_retry = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(
        self,
        budget: Budget | None,
        price: PriceTable | None,
        spent: Mapping[str, float],
        note: Callable[[Spent], None] | None = None,
        caller: RunControl | None = None,
    ) -> None:
        self.budget = budget
        self._caller = caller
        self.control: RunControl = Control(caller)
        self.refusal: Overspent | None = None
        self.refused_a_call = False
        self.closed = bool(spent.get(CLOSED))
        self.outer = _meter.get()
        self.step = 0
        self._price = price
        self._note = note
        self._spent: Spent = dict(spent)
        self._in_flight: dict[UUID, tuple[str, int]] = {}
        self._inner: list[Meter] = []
        self._lock = threading.RLock()
        self._began = clock.now()
        self._timer: threading.Timer | None = None

    # Counting

    def total(self) -> Spent:
        """What the run has spent so far, seconds included."""
        with self._lock:
            now = clock.now()
            self._spent["seconds"] = self._spent.get("seconds", 0.0) + now - self._began
            self._began = now
            return dict(self._spent)

    def add(self, usage: Usage, model: str) -> None:
        """Count a usage that LangChain did not report, after the fact."""
        self._spend({"model_calls": usage.calls, "tokens": usage.total_tokens, **self._money(model, usage)})
        if self.outer:
            self.outer.add(usage, model)

    def _spend(self, amounts: Mapping[str, float]) -> None:
        self._add(amounts)
        self._keep()

    def _add(self, amounts: Mapping[str, float]) -> None:
        with self._lock:
            self._spent = added(self._spent, amounts)

    def _keep(self) -> None:
        if self._note:
            self._note(self.total())

    def _money(self, model: str, usage: Usage) -> Spent:
        if self._price is None:
            return {}
        price = self._price(model, usage)
        if price is None:
            if self.budget and self.budget.money is not None and self.refusal is None:
                note = f"no price is known for model {model!r}, so its cost cannot be bounded"
                self.stop(Overspent("money", self.budget.money, self.total().get("money", 0.0), note))
            return {}
        return {"money": price}

    # Refusing

    def limits(self) -> dict[str, float]:
        """Resource -> how much of it the run may spend now."""
        if self.budget is None:
            return {}
        if not self.closed:
            return self.budget.limits_before_fallback(END)
        return self.budget.limits_of_fallback(self.total())

    def _overspent(self) -> Overspent | None:
        """What the run has used up, if anything; in the words of its whole budget."""
        over = overspent(self.limits(), self.total())
        if over is None or self.budget is None:
            return None
        whole = self.budget.limits[over.resource]
        kept = f"{over.spent:g} of {whole:g} {UNITS[over.resource]} spent, the rest is kept for the fallback"
        return Overspent(over.resource, whole, over.spent, kept if over.limit < whole else "")

    def stop(self, reason: Overspent) -> None:
        """Let the run, and whatever runs inside it, end with the superstep that is under way."""
        self.refusal = self.refusal or reason
        self.drain(str(reason))

    def check_seconds(self) -> None:
        """Stop the run if its time is over."""
        if self.refusal is None and (over := self._overspent()) and over.resource == "seconds":
            self.stop(over)

    def check_after_the_fact(self) -> None:
        """Stop the run if more than its budget is spent, and not only all of it."""
        over = self._overspent()
        if over and over.spent > self.limits()[over.resource]:
            self.stop(over)

    def drain(self, reason: str) -> None:
        """Ask LangGraph to end the graph, and those inside it, with the superstep that is under way."""
        self.control.request_drain(reason)
        with self._lock:
            inner = [*self._inner]
        for meter in inner:
            meter.drain(reason)

    def begin_fallback(self) -> Spent:
        """Let what was kept in reserve be spent now.

        Returns:
            What must be written to the channel.
        """
        with self._lock:
            if not self.closed:
                self._spent |= at_closing(self.total())
            self.closed, self.refusal, self.control = True, None, Control(self._caller)
            self.refused_a_call = False
            return self.total()

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Count a call that is about to be sent, or refuse it.

        Raises:
            GraphDrained: If the run's budget does not cover another call.
        """
        model = str((metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "unknown")
        self._start(run_id, model, count_tokens_approximately(messages[0]) if messages else 0)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """As `on_chat_model_start`, for models that complete a text."""
        model = str((metadata or {}).get("ls_model_name") or (serialized or {}).get("name") or "unknown")
        self._start(run_id, model, sum(len(prompt) for prompt in prompts) // 4)

    def _start(self, run_id: UUID, model: str, prompt_tokens: int) -> None:
        meters = [*self._around()]
        with _counting:  # one lock for all: of two calls at once that ask for the last one, only one is sent
            refusals = [(meter, meter.refusal or meter._overspent()) for meter in meters]
            refused = next(((meter, over) for meter, over in refusals if over), None)
            if refused is None:
                for meter in meters:
                    meter._in_flight[run_id] = (model, prompt_tokens)
                    meter._add({"model_calls": 1})
        if refused:
            meter, over = refused
            meter.refused_a_call = True
            meter.stop(over)
            raise GraphDrained(str(over))
        for meter in meters:  # not under a lock: a saver may have to wait for the event loop
            meter._keep()

    def _around(self) -> Iterator[Meter]:
        """This meter and those of the runs around it."""
        meter: Meter | None = self
        while meter is not None:
            yield meter
            meter = meter.outer

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count what a call took."""
        if self.outer:
            self.outer.on_llm_end(response, run_id=run_id)
        model, prompt_tokens = self._in_flight.pop(run_id, ("unknown", 0))
        usage = Usage()
        for generation in (each for several in response.generations for each in several):
            message = generation.message if isinstance(generation, ChatGeneration) else None
            found = Usage.of(message) if message else Usage(unmetered_calls=1)
            if found.unmetered_calls:  # the provider does not say: about four characters make a token
                written = len(generation.text) // 4
                found = Usage(input_tokens=prompt_tokens, output_tokens=written, total_tokens=prompt_tokens + written)
            usage += found
        self._spend({"tokens": usage.total_tokens, **self._money(model, usage)})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a call that failed; of a stream that was broken off, count what came of it."""
        begun = kwargs.get("response")
        if isinstance(begun, LLMResult) and any(begun.generations):
            self.on_llm_end(begun, run_id=run_id)
            return
        for meter in self._around():
            meter._in_flight.pop(run_id, None)

    # Following a run

    def follow(self, stream: Iterator[Any]) -> Iterator[Any]:
        """Iterate over a run's stream with this meter in force."""
        self._enter()
        try:
            yield from following(stream, _meter, self)
        finally:
            self._leave()

    async def afollow(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Iterate over a run's stream with this meter in force."""
        self._enter()
        try:
            async with closing(afollowing(stream, _meter, self)) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            self._leave()

    def _enter(self) -> None:
        self._began = clock.now()
        if self.outer:
            with self.outer._lock:
                self.outer._inner.append(self)
        if (limit := self.limits().get("seconds")) is not None:
            left = max(0.0, limit - self.total().get("seconds", 0.0))
            self._timer = threading.Timer(left, self.check_seconds)
            self._timer.daemon = True
            self._timer.start()

    def _leave(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self.outer:
            with self.outer._lock:
                self.outer._inner.remove(self)


_counting = threading.Lock()
"""Held while a call is checked and counted, which takes microseconds."""


def _is_no_refusal(record: logging.LogRecord) -> bool:
    """Whether a warning of LangChain's about a callback that raised is anything but the meter refusing a call."""
    return "Error in Meter." not in record.getMessage()


logging.getLogger("langchain_core.callbacks.manager").addFilter(_is_no_refusal)

_meter: ContextVar[Meter | None] = ContextVar("loopwright_meter", default=None)
register_configure_hook(_meter, inheritable=False)


def current_meter() -> Meter | None:
    """The meter of the run that this code is a part of."""
    return _meter.get()


def record_usage(usage: Usage, *, model: str = "unknown") -> None:
    """Count a model call that LangChain does not see, such as one through a provider's own client.

    Call it inside a node. Where it goes beyond the run's budget, the run takes its fallback when the superstep ends.
    Without a budget around it, nothing happens.

    Args:
        usage: What was used.
        model: The model, for its price.
    """
    meter = _meter.get()
    if meter is None:
        return
    meter.add(usage, model)
    while meter is not None:
        meter.check_after_the_fact()
        meter = meter.outer
