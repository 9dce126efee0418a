"""A clock for tests, in place of the engine's own."""

import asyncio
import threading
from contextlib import ExitStack
from typing import Any, Self

from loopwright.engine.clock import use_clock


class ManualClock:
    """Time that passes only by sleeping: a sleep ends at once and moves the time by its length.

    As a context manager it replaces the engine's clock: the waits of backoffs and retries, the seconds of budgets.
    Timeouts of nodes, LangGraph's own waits and ``time.sleep`` in your nodes go by the real time.

    Example:
        >>> from loopwright.engine import clock
        >>> with ManualClock() as time:
        ...     clock.sleep(30)
        >>> time.slept, time.now()
        ([30], 30.0)
    """

    def __init__(self, start: float = 0.0) -> None:
        """Set the clock to some seconds."""
        self.slept: list[float] = []
        """How long each sleep was asked to be, in seconds, in order."""
        self._now = float(start)
        self._lock = threading.Lock()
        self._in_place = ExitStack()

    def __enter__(self) -> Self:
        self._in_place.enter_context(use_clock(self))
        return self

    def __exit__(self, *error: Any) -> None:
        self._in_place.close()

    def now(self) -> float:
        """What the clock shows, in seconds."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move the time."""
        with self._lock:
            self.slept.append(seconds)
            self._now += max(0.0, seconds)

    async def asleep(self, seconds: float) -> None:
        """Move the time, and let other tasks run."""
        self.sleep(seconds)
        await asyncio.sleep(0)
