"""Counts what models were asked and what it cost, per node and per model. Limits are the engine's business."""

import threading
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.engine.budget.meter import cut_off_usage, model_asked, reply_of


class UsageRecorder(BaseCallbackHandler):
    """Adds up usage per node and per model; safe to share among threads.

    As a callback handler of LangChain's it counts every call that it is told of, by nobody's node: of a call that was
    cancelled it is not. Give it either so or to `ask`, which counts by itself.

    Args:
        price: Prices, if the cost shall be known.
    """

    run_inline = True

    def __init__(self, price: PriceTable | None = None) -> None:
        self._price = price
        self._lock = threading.Lock()
        self._spent: dict[tuple[str | None, str], Usage] = {}
        self._asked: dict[UUID, str] = {}
        """Each call that is under way -> its model."""

    def record(self, message: BaseMessage, *, model: str, node: str | None = None) -> None:
        """Count one reply."""
        self._add(Usage.of(message), model, node)

    def record_failure(self, *, model: str, node: str | None = None, error: BaseException | None = None) -> None:
        """Count one call that raised: it was made, and may have been billed."""
        self._add(cut_off_usage(error) or Usage(calls=1, unmetered_calls=1, failed_calls=1), model, node)

    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """Note which model is asked; LangChain calls this for chat models, too."""
        self._asked[run_id] = model_asked(serialized, kwargs.get("metadata"))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count its reply."""
        if model := self._asked.pop(run_id, None):
            self.record(reply_of(response), model=model)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Count a call that raised, or whose stream was broken off."""
        if model := self._asked.pop(run_id, None):
            self.record_failure(model=model, error=error)

    def total(self) -> Usage:
        """Everything so far."""
        return sum(self.entries().values(), Usage())

    def entries(self) -> dict[tuple[str | None, str], Usage]:
        """Usage by node (None where nobody said) and model, in the order of first use."""
        with self._lock:
            return dict(self._spent)

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

    def _add(self, usage: Usage, model: str, node: str | None) -> None:
        with self._lock:
            self._spent[node, model] = self._spent.get((node, model), Usage()) + usage


usage_of_the_run: ContextVar[UsageRecorder | None] = ContextVar("loopwright_usage_of_the_run", default=None)
"""Where every model call of this run is counted, whoever makes it, apart from those of runs at the same time."""

register_configure_hook(usage_of_the_run, inheritable=False)


def recorders(further: UsageRecorder | None) -> list[UsageRecorder]:
    """Who counts a call that is made here: the run's recorder, and a further one if there is one."""
    return [each for each in dict.fromkeys((usage_of_the_run.get(), further)) if each is not None]


def model_name(model: BaseChatModel) -> str:
    """The name under which a model's usage is counted: the configured one, or that of its class."""
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__
