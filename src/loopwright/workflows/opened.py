"""What a workflow's services open at its first use, once, and close together."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from typing import TypeVar, cast

from loopwright.models import PriceTable, UsageRecorder
from loopwright.models.prices import kept_prices
from loopwright.workflows.background import LoopThread

T = TypeVar("T")

usage_of_the_run: ContextVar[UsageRecorder | None] = ContextVar("loopwright_usage_of_the_run", default=None)
"""Where the model calls of this run are counted, apart from those of runs at the same time."""


class Opened:
    """Keeps things by name, each made at its first use; safe in threads."""

    def __init__(self) -> None:
        self._exits = ExitStack()
        self._lock = threading.RLock()
        self._things: dict[str, object] = {}

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The thing of a name, made now if this is its first use.

        Args:
            name: The name.
            make: Makes it.
        """
        with self._lock:
            if name not in self._things:
                self._things[name] = make()
            return cast("T", self._things[name])

    def entered(self, name: str, make: Callable[[], AbstractContextManager[T]]) -> T:
        """The same for what is closed by `close`.

        Args:
            name: The name.
            make: Makes it.
        """
        return self.once(name, lambda: self._exits.enter_context(make()))

    @property
    def background(self) -> LoopThread:
        """Runs coroutines for callers without an event loop."""
        return self.once("background", LoopThread)

    @property
    def usage(self) -> UsageRecorder:
        """Where model calls are counted: in the run that asks, outside of any together."""
        return usage_of_the_run.get() or self.once("usage", lambda: UsageRecorder(prices()))

    def close(self) -> None:
        """Close everything; what is used again afterwards is opened again."""
        with self._lock:
            things, self._things = self._things, {}
            exits = self._exits.pop_all()
        # Outside of the lock, for which a run may be waiting; and the loop first, since runs use the rest.
        background = things.get("background")
        if isinstance(background, LoopThread):
            background.close()
        exits.close()


def prices() -> PriceTable | None:
    """What models cost; None where the package with the prices is not installed."""
    return kept_prices() if importlib.util.find_spec("genai_prices") else None
