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


now = time.perf_counter
"""Seconds since some fixed moment; only differences mean something."""

sleep = time.sleep
"""Wait, and block the thread."""

asleep = asyncio.sleep
"""Wait, and let other tasks run."""


@contextmanager
def use_clock(clock: Clock) -> Generator[None]:
    """Replace the engine's clock, in all threads, and restore the former one at the end."""
    # Names of this module, for all threads: a context variable would not reach those that were started before.
    global now, sleep, asleep
    before = now, sleep, asleep
    now, sleep, asleep = clock.now, clock.sleep, clock.asleep
    try:
        yield
    finally:
        now, sleep, asleep = before
