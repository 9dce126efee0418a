"""The engine's one clock: what it sleeps and what it measures goes through here, so that a test can move the time.

`loopwright.testing.ManualClock` takes its place in tests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol


class Clock(Protocol):
    """What tells the time, and waits."""

    def now(self) -> float:
        """Seconds since some fixed moment; only differences mean something."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait, and block the thread."""
        ...

    async def asleep(self, seconds: float, /) -> None:
        """Wait, and let other tasks run."""
        ...


class SystemClock:
    """The real time."""

    now = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)
    asleep = staticmethod(asyncio.sleep)


_clock: Clock = SystemClock()
# One clock for all threads: a context variable would not reach threads that were started before.


def now() -> float:
    """Seconds since some fixed moment; only differences mean something."""
    return _clock.now()


def sleep(seconds: float) -> None:
    """Wait, and block the thread."""
    _clock.sleep(seconds)


async def asleep(seconds: float) -> None:
    """Wait, and let other tasks run."""
    await _clock.asleep(seconds)


@contextmanager
def use_clock(clock: Clock) -> Generator[None]:
    """Replace the engine's clock, in all threads, and restore the former one at the end.

    Args:
        clock: The clock to go by.
    """
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before
