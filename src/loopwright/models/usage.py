"""Counts what models were asked and what it cost, per node and per model. Limits are the engine's business."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.engine.budget.meter import Meter, current_meter, cut_off_usage, model_asked, reply_of
from loopwright.engine.events.schema import holding

_FAILED = Usage(calls=1, unmetered_calls=1, failed_calls=1)


class UsageRecorder(BaseCallbackHandler):
    """Adds up usage per node and per model; safe to share among threads.

    It is a callback handler of LangChain's; where `ask` is given it, calls are counted as its node's. A call that is
    under way counts as one that failed, and so does one that was cancelled: of its end nobody tells.

    Args:
        price: Prices, if the cost shall be known.
    """

    run_inline = True

    def __init__(self, price: PriceTable | None = None) -> None:
        self._price = price
        self._lock = threading.Lock()
        self._spent: dict[tuple[str | None, str], Usage] = {}
        self._asked: dict[UUID, tuple[tuple[str | None, str], Meter | None]] = {}
        """Each call of whose end nobody told -> its node and model, and the meter that may have refused it."""

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Note who asks which model; LangChain calls this for chat models, too."""
        with self._lock:
            who = _asking.get(), model_asked(serialized, kwargs.get("metadata"))
            self._asked[run_id] = who, current_meter.get()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count its reply."""
        self._count(run_id, Usage.of(reply_of(response)))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Count a call that raised, or whose stream was broken off: it was made, and may have been billed."""
        self._count(run_id, cut_off_usage(error) or _FAILED)

    def total(self) -> Usage:
        """Everything so far."""
        return sum(self.entries().values(), Usage())

    def entries(self) -> dict[tuple[str | None, str], Usage]:
        """Usage by node (None where nobody said) and model, in the order of first use."""
        with self._lock:
            spent = dict(self._spent)
            for call, (asked, meter) in self._asked.items():
                if meter is None or meter.awaits(call):
                    spent[asked] = spent.get(asked, Usage()) + _FAILED
        return spent

    def by_node(self) -> dict[str | None, Usage]:
        """Usage by node."""
        spent: dict[str | None, Usage] = {}
        for (node, _), usage in self.entries().items():
            spent[node] = spent.get(node, Usage()) + usage
        return spent

    def cost(self) -> float | None:
        """The price of everything so far, a lower bound where `Usage.unmetered_calls` is not 0.

        It is 0.0 if nothing was asked; None without a price table, or if it does not know one of the models.
        """
        if self._price is None:
            return None
        prices = [self._price(model, usage) for (_, model), usage in self.entries().items()]
        return None if None in prices else sum(filter(None, prices), 0.0)

    def _count(self, run_id: UUID, usage: Usage) -> None:
        with self._lock:
            if asked := self._asked.pop(run_id, None):
                self._spent[asked[0]] = self._spent.get(asked[0], Usage()) + usage


usage_of_the_run: ContextVar[UsageRecorder | None] = ContextVar("loopwright_usage_of_the_run", default=None)
"""Where every model call of this run is counted, whoever makes it, apart from those of runs at the same time."""

_further: ContextVar[UsageRecorder | None] = ContextVar("loopwright_further_usage", default=None)
_asking: ContextVar[str | None] = ContextVar("loopwright_asking_node", default=None)

register_configure_hook(usage_of_the_run, inheritable=False)
register_configure_hook(_further, inheritable=False)


@contextmanager
def counted(node: str | None, further: UsageRecorder | None) -> Generator[None]:
    """Have calls within counted as a node's, by a further recorder too, if there is one."""
    with holding(_asking, node), holding(_further, further):
        yield


def model_name(model: BaseChatModel) -> str:
    """The name under which a model's usage is counted: the configured one, or that of its class."""
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__
