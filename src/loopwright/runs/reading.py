"""Looks at runs, whether they go on in this process or ended long ago."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from loopwright.errors import StoreError, UnknownRun
from loopwright.runs.driving import Drive
from loopwright.runs.schemas import ENDED, Channel, KeptEvent, RunRecord
from loopwright.runs.store.history import RunStore, within

T = TypeVar("T")

LOOK = 5.0
"""Seconds after which the store is looked at without a word of anything new."""

Following = tuple[list[KeptEvent], bool]
"""A part of a run's events, and whether no more will come."""


@dataclass(eq=False)
class RunReader:
    """Looks at runs. Belongs to one event loop."""

    store: RunStore
    """Where runs are kept."""
    _news: WeakValueDictionary[str, asyncio.Event] = field(default_factory=WeakValueDictionary, init=False)
    _closed: bool = field(default=False, init=False)
    _going: dict[str, Drive] = field(default_factory=dict[str, Drive], init=False)

    async def record(self, run_id: str) -> RunRecord | None:
        """A run as it is now, with its children; None if it is unknown."""
        return await self.store.aside(self.store.get, run_id)

    async def known(self, run_id: str) -> RunRecord:
        """A run as it is now, with its children.

        Raises:
            UnknownRun: If it is not kept.
        """
        record = await self.record(run_id)
        if record is None:
            raise UnknownRun(run_id)
        return record

    async def follow(
        self,
        run_id: str,
        channel: Channel = "run",
        after: int = 0,
        patience: float = 15.0,
        limit: int = 256,
        size: int | None = None,
    ) -> Following:
        """The events of a run behind one of them, as soon as there are any.

        Args:
            run_id: The run; it may have ended long ago, or go on in another process.
            channel: Which of its channels.
            after: The number of the last event that is known, 0 for none.
            patience: Seconds to wait for one.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.

        Returns:
            The events, none if no one came in time; and whether no more will come, as far as that is known by now.

        Raises:
            UnknownRun: If it is not kept.
        """

        async def look() -> Following:
            here = self._going.get(run_id)
            known = here.live.kept_behind(channel, after) if here else None
            if known is not None:
                return [*within(known[:limit], size)], False
            try:
                return await self.store.aside(self._look, run_id, channel, after, limit, size)
            except StoreError:
                if run_id not in self._going:
                    raise
                return [], False

        events, ended = await self._awaited(run_id, patience, look, any)
        return events, ended or (self._closed and not events)

    def _look(self, run_id: str, channel: Channel, after: int, limit: int, size: int | None) -> Following:
        """What is kept behind an event; blocks."""
        events = self.store.events(run_id, channel, after, limit, size)
        if events:
            return events, False
        record = self.store.get(run_id)
        if record is None:
            raise UnknownRun(run_id)
        if record.status in ENDED:
            # All of it was kept before its end was.
            events = self.store.events(run_id, channel, after, limit, size)
        return events, record.status in ENDED and not events

    async def until_ended(self, run_id: str, patience: float = float("inf")) -> RunRecord:
        """Wait until a run has ended, wherever it goes on, for so many seconds at most; the run as it is then.

        Raises:
            UnknownRun: If it is not kept.
        """
        return await self._awaited(run_id, patience, partial(self.known, run_id), lambda known: known.status in ENDED)

    async def _awaited(
        self, run_id: str, patience: float, look: Callable[[], Awaitable[T]], enough: Callable[[T], bool]
    ) -> T:
        """Look at a run again and again, as soon as there may be something new of it, until that is enough."""
        end = asyncio.get_running_loop().time() + patience
        while True:
            news = self._expected(run_id)
            found = await look()
            left = end - asyncio.get_running_loop().time()
            if enough(found) or left <= 0 or self._closed:
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK)):
                    await news.wait()

    def changed(self, run_id: str | None) -> None:
        """Wake those who wait for something new of a run; None: of all runs."""
        for each in [*self._news] if run_id is None else [run_id]:
            if event := self._news.pop(each, None):
                event.set()

    def _expected(self, run_id: str) -> asyncio.Event:
        return self._news.setdefault(run_id, asyncio.Event())
