"""Counts what models were asked and what it cost, per node and per model. Limits are the engine's business."""

import threading

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from loopwright.engine.budget.budget import PriceTable, Usage


class UsageRecorder:
    """Adds up usage per node and per model; safe to share among threads.

    Args:
        price: Prices, if the cost shall be known.
    """

    def __init__(self, price: PriceTable | None = None) -> None:
        self._price = price
        self._lock = threading.Lock()
        self._spent: dict[tuple[str | None, str], Usage] = {}

    def record(self, message: BaseMessage, *, model: str, node: str | None = None) -> None:
        """Count one reply."""
        self._add(Usage.of(message), model, node)

    def record_failure(self, *, model: str, node: str | None = None) -> None:
        """Count one call that raised: it was made, and may have been billed."""
        self._add(Usage(calls=1, unmetered_calls=1, failed_calls=1), model, node)

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

        Returns:
            The sum, 0.0 if nothing was asked; None without a price table, or if it does not know one of the models.
        """
        if self._price is None:
            return None
        total = 0.0
        for (_, model), usage in self.entries().items():
            price = self._price(model, usage)
            if price is None:
                return None
            total += price
        return total

    def _add(self, usage: Usage, model: str, node: str | None) -> None:
        with self._lock:
            self._spent[node, model] = self._spent.get((node, model), Usage()) + usage


def model_name(model: BaseChatModel) -> str:
    """The name under which a model's usage is counted: the configured one, or that of its class."""
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__
