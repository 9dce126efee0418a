"""The engine's one clock: what it sleeps and what it measures goes through here, so that a test can move the time."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

now, sleep, asleep = time.perf_counter, time.sleep, asyncio.sleep
"""Seconds since some fixed moment, of which only differences mean something; two ways to wait."""


@contextmanager
def use_clock(clock: Any) -> Generator[None]:
    """Replace the engine's clock, in all threads, by one with these three names, and restore the former at the end."""
    # Names of this module, for all threads: a context variable would not reach those that were started before.
    global now, sleep, asleep
    before = now, sleep, asleep
    now, sleep, asleep = clock.now, clock.sleep, clock.asleep
    try:
        yield
    finally:
        now, sleep, asleep = before
