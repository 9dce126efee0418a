"""A clock that a test moves, in place of the engine's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from loopwright.engine.clock import use_clock
from loopwright.errors import ConfigError

_PATIENCE = 10.0
"""Real seconds that a test waits for something to fall asleep."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sleeper:
    until: float
    wake: Callable[[], object]


class ManualClock:
    """Time that passes only when it is told to. As a context manager it replaces the engine's clock.

    By default a sleep ends at once and moves the time by its length. With ``moves_itself=False`` it lasts until
    `advance` has moved the time far enough, so that a test can look at what happens in between. Sleeps that overlap
    move the time one after the other.

    It moves whatever goes by `loopwright.engine.clock`. Timeouts of nodes, LangGraph's own waits and ``time.sleep`` in
    your nodes go by the real time.

    Example:
        >>> from loopwright.engine import clock
        >>> with ManualClock() as time:
        ...     clock.sleep(30)
        >>> time.slept, time.now()
        ([30], 30.0)
    """

    def __init__(self, start: float = 0.0, *, moves_itself: bool = True) -> None:
        """Set the clock.

        Args:
            start: What it shows first, in seconds.
            moves_itself: Whether a sleep moves the time.
        """
        self.slept: list[float] = []
        """How long each sleep was asked to be, in seconds, in order."""
        self._now = float(start)
        self._moves_itself = moves_itself
        self._changed = threading.Condition()
        self._sleepers: list[_Sleeper] = []
        self._in_place: AbstractContextManager[None] | None = None

    def __enter__(self) -> Self:
        self._in_place = use_clock(self)
        self._in_place.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._in_place is not None:
            self._in_place.__exit__(*error)

    @property
    def sleeping(self) -> int:
        """How many sleeps go on now."""
        return len(self._sleepers)

    def now(self) -> float:
        """What the clock shows, in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the time, and wake everything whose sleep is over.

        Args:
            seconds: By how much, from 0 up.

        Raises:
            ConfigError: If that would turn the time back.
        """
        if not seconds >= 0:
            raise ConfigError(f"seconds is {seconds!r}; time only moves forward")
        with self._changed:
            self._now += seconds
            due = [sleeper for sleeper in self._sleepers if sleeper.until <= self._now]
            # They count as awake from now on: else a test could take one for the next sleep.
            self._sleepers = [sleeper for sleeper in self._sleepers if sleeper not in due]
        for sleeper in due:
            sleeper.wake()

    def sleep(self, seconds: float) -> None:
        """Sleep, and block the thread."""
        over = threading.Event()
        with self._asleep(seconds, over.set):
            over.wait()

    async def asleep(self, seconds: float) -> None:
        """Sleep, and let other tasks run."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        with self._asleep(seconds, lambda: loop.call_soon_threadsafe(over.set)):
            await asyncio.sleep(0)
            await over.wait()

    @contextmanager
    def _asleep(self, seconds: float, wake: Callable[[], object]) -> Generator[None]:
        with self._changed:
            self.slept.append(seconds)
            sleeper = _Sleeper(self._now + max(0.0, seconds), wake)
            if self._moves_itself:
                self._now = sleeper.until
            if sleeper.until <= self._now:
                wake()
            else:
                self._sleepers.append(sleeper)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._sleepers = [other for other in self._sleepers if other is not sleeper]

    def until_sleeping(self, number: int = 1) -> None:
        """Wait, in real time, until so many sleeps go on: then the time can be moved.

        Args:
            number: How many.

        Raises:
            TimeoutError: If that takes more than ten seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self.sleeping >= number, _PATIENCE):
                raise TimeoutError(f"{self.sleeping} sleep(s) went on after {_PATIENCE:g} s, and not {number}")
