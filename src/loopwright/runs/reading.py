"""Looks at runs, whether they go on in this process, ended long ago, or came from a file."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from loopwright.errors import InputError
from loopwright.runs import states
from loopwright.runs.driving import Drive
from loopwright.runs.live import Following, LiveRun
from loopwright.runs.schemas import ENDED, Channel, RunRecord
from loopwright.runs.states import CheckpointView
from loopwright.runs.store.history import RunStore

LOOK = 5.0
"""Seconds after which the store is looked at without a word of anything new."""


class KeptRun:
    """A run that any process may work on.

    Attributes:
        id: Names it.
        record: The run as it was when it was asked for.
    """

    def __init__(self, reader: RunReader, record: RunRecord) -> None:
        """Name a run."""
        self.id = record.id
        self.record = record
        self._reader = reader

    async def wait(self) -> RunRecord:
        """Wait until it has ended.

        Returns:
            The run as it ended.

        Raises:
            InputError: If it was deleted meanwhile.
        """
        return await self._reader.until_ended(self.id, float("inf"))


class RunReader:
    """Looks at runs. Belongs to one event loop.

    Attributes:
        store: Where runs are kept.
    """

    def __init__(self, store: RunStore, *, shared: bool = False) -> None:
        """Know no run that goes on.

        Args:
            store: Where runs are kept.
            shared: Whether other processes work on them too.
        """
        self.store = store
        self._shared = shared
        self._news: dict[str, asyncio.Event] = {}
        self._closed = False
        self._going: dict[str, Drive] = {}
        self._reserved: set[str] = set()
        """Runs that are about to go on."""
        self._claimed: set[str] = set()
        """Runs on which this process works by a job."""
        self._broken: dict[str, LiveRun] = {}
        """Runs that could not be kept to their end and whose followers are still told so."""

    def live(self, run_id: str) -> LiveRun | None:
        """A run that goes on in this process, or None."""
        drive = self._going.get(run_id)
        return drive.live if drive else None

    async def record(self, run_id: str) -> RunRecord | None:
        """A run as it is now, with its children; None if it is unknown."""
        kept = await asyncio.to_thread(self.store.get, run_id)
        live = self.live(run_id) or self._broken.get(run_id)
        if live is None:
            return kept
        return live.record.model_copy(update={"children": kept.children}) if kept else live.record

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
            run_id: The run; it may have ended long ago.
            channel: Which of its channels.
            after: The number of the last event that is known, 0 for none.
            patience: Seconds to wait for one.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.

        Returns:
            The events, none if no one came in time; and whether no more will come, as far as that is known by now.

        Raises:
            InputError: If there is no such run.
        """
        live = self.live(run_id) or self._broken.get(run_id)
        followed = await live.follow(channel, after, patience, limit, size) if live else None
        if followed is not None and live is not None:
            # One that was given back goes on elsewhere.
            return Following(followed.events, followed.ended and live.latest.status in ENDED)
        if self._shared:
            return await self._follow_kept(run_id, channel, after, patience, limit, size)
        # Whether it goes on is asked first: what is kept after that has all that it made until then.
        goes_on = run_id in self._going or run_id in self._reserved or run_id in self._claimed
        events = await asyncio.to_thread(self.store.events, run_id, channel, after, limit + 1, size)
        if not events and live is None and await asyncio.to_thread(self.store.get, run_id) is None:
            raise InputError(f"there is no run {run_id!r}")
        # Where the size may have cut them off, the next part tells: it is empty.
        complete = len(events) <= limit and (size is None or not events)
        return Following(events[:limit], ended=complete and not goes_on)

    async def until_ended(self, run_id: str, patience: float) -> RunRecord:
        """Wait until a run has ended, wherever it goes on.

        Args:
            run_id: The run.
            patience: Seconds to wait at most.

        Returns:
            The run as it is then.

        Raises:
            InputError: If there is no such run.
        """
        end = asyncio.get_running_loop().time() + patience
        while True:
            news = self._expected(run_id)
            record = await self._known(run_id)
            left = end - asyncio.get_running_loop().time()
            if record.status in ENDED or left <= 0 or self._closed:
                return record
            await _heard(news, min(left, LOOK))

    def changed(self, run_id: str | None) -> None:
        """Wake those who wait for something new.

        Args:
            run_id: Of this run; None for all runs.
        """
        for event in [*self._news.values()] if run_id is None else filter(None, [self._news.pop(run_id, None)]):
            event.set()

    async def _follow_kept(
        self, run_id: str, channel: Channel, after: int, patience: float, limit: int, size: int | None
    ) -> Following:
        """Follow a run that goes on elsewhere: what is heard of it wakes, the store decides."""
        end = asyncio.get_running_loop().time() + patience
        while True:
            news = self._expected(run_id)
            events = await asyncio.to_thread(self.store.events, run_id, channel, after, limit, size)
            if not events:
                record = await asyncio.to_thread(self.store.get, run_id)
                if record is None:
                    raise InputError(f"there is no run {run_id!r}")
                if record.status in ENDED:
                    # All of it was kept before its end was.
                    events = await asyncio.to_thread(self.store.events, run_id, channel, after, limit, size)
                    return Following(events, ended=not events)
            left = end - asyncio.get_running_loop().time()
            if events or left <= 0 or self._closed:
                return Following(events, ended=self._closed and not events)
            await _heard(news, min(left, LOOK))

    def _expected(self, run_id: str) -> asyncio.Event:
        return self._news.setdefault(run_id, asyncio.Event())

    async def checkpoints(self, run_id: str) -> list[CheckpointView]:
        """The checkpoints of a run, oldest first, as its log tells of them.

        Raises:
            InputError: If there is no such run.
        """
        await self._known(run_id)
        return await asyncio.to_thread(states.checkpoints, self.store, run_id)

    async def state(self, run_id: str, checkpoint_id: str) -> dict[str, Any]:
        """The whole state at a checkpoint in plain JSON, as developers see it: shortened, and without secrets.

        Raises:
            InputError: If there is no such run or checkpoint.
        """
        await self._known(run_id)
        return await asyncio.to_thread(states.state_at, self.store, run_id, checkpoint_id)

    async def _known(self, run_id: str) -> RunRecord:
        record = await self.record(run_id)
        if record is None:
            raise InputError(f"there is no run {run_id!r}")
        return record


async def _heard(news: asyncio.Event, patience: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await news.wait()
