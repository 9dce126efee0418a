"""A run that goes on in this process: what is made of it is kept first; its followers read what is kept.

Its events are numbered as they are made. One task for each run hands what has come since to the writer, and wakes the
followers when that is kept; so a client never saw what a killed server does not know any more. The writer keeps what
happens in many runs at once: in one transaction all that came during the last.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

from loopwright.errors import StoreError, TooManyEvents
from loopwright.runs.schemas import Channel, KeptEvent, NewEvents, RunLimits, RunRecord
from loopwright.runs.store.history import RunStore, within

T = TypeVar("T")

logger = logging.getLogger(__name__)

BEHIND = 1000
"""Events that may wait to be kept before the run waits for the store."""

REMEMBERED = 2**17
"""Characters of JSON of a channel's last events that stay in memory once they are kept; the last one does anyhow."""

PATIENCE = 10.0
"""How long a write that fails for a passing reason is tried again, in seconds."""
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 1.0

Stopping = Literal["cancelled", "shutdown", "store"]
"""Why a run is ended before its time: somebody asked, the server stops, or nothing more of it is kept."""


def patiently(call: Callable[[], T], patience: float) -> T:
    """Make a call to the run history, again for so many seconds while it fails for a passing reason; blocks."""
    wait, end = _FIRST_WAIT, time.monotonic() + patience
    while True:
        try:
            return call()
        except StoreError as error:
            if not error.transient or time.monotonic() + wait > end:
                raise
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class _Entry:
    run: RunRecord | None
    events: Sequence[NewEvents]
    done: asyncio.Future[None]


class Writer:
    """Keeps runs and their events; whoever waits for a write knows that it outlives this process.

    A write that fails for a passing reason is tried again for so many seconds (`patience`). Belongs to one event loop;
    the store stays open.
    """

    def __init__(self, store: RunStore, patience: float = PATIENCE) -> None:
        self._store = store
        self.patience = patience
        self._waiting: list[_Entry] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, run: RunRecord | None, events: Sequence[NewEvents] = ()) -> None:
        """Keep what happened, in the order of the calls; returns when it is kept. A cancelled wait cancels no write.

        Args:
            run: The run as it is now, if it changed; only the last record that waits for its turn is written.
            events: New events.

        Raises:
            StoreError: If the database fails, and goes on failing.
        """
        entry = _Entry(run, events, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if self._writing is None:
            self._writing = asyncio.create_task(self._work(), name="writing runs")
        await asyncio.shield(entry.done)

    async def aclose(self) -> None:
        """Wait until all is written."""
        while self._writing:
            await self._writing

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await self._keep(batch)
        self._writing = None

    async def _keep(self, batch: Sequence[_Entry]) -> None:
        runs = {entry.run.id: entry.run for entry in batch if entry.run is not None}
        events = [item for entry in batch for item in entry.events]
        try:
            await self._store.aside(patiently, partial(self._store.write, runs.values(), events), self.patience)
        except Exception as error:
            if len(batch) == 1 or (isinstance(error, StoreError) and error.transient):
                for entry in batch:
                    entry.done.set_exception(error)
                return
            # What cannot be kept takes nothing else with it.
            for entry in batch:
                await self._keep([entry])
            return
        for entry in batch:
            entry.done.set_result(None)


@dataclass
class Log:
    """One channel of a run that goes on."""

    made: int = 0
    """The number of the last event that was made."""
    size: int = 0
    """Characters of JSON of the events that this process made."""
    waiting: list[KeptEvent] = field(default_factory=list[KeptEvent])
    """Events that are not kept yet."""
    last: Sequence[KeptEvent] = ()
    """The events that were kept last, for those who follow closely."""


class LiveRun:
    """A run that goes on, with its record and its events so far. Belongs to one event loop.

    The record, and so many events of each channel (`counts`), are kept already.

    Attributes:
        id: Names it.
    """

    def __init__(self, record: RunRecord, writer: Writer, limits: RunLimits, counts: Mapping[Channel, int]) -> None:
        self.id = record.id
        self.record = record
        """The run as it is kept by now."""
        self.latest = record
        """The run as it is now, kept or not."""
        self.ended = False
        """Whether nothing more will come of it, and all that came is kept."""
        self._writer = writer
        self.limits = limits
        """How much it may hold."""
        self._logs: dict[Channel, Log] = {channel: Log(count) for channel, count in counts.items()}
        self._begun = self._ending = self._changed = False
        self.refreshed: Callable[[], RunRecord] | None = None
        """Gives the latest record, brought up to date with the events that were made."""
        self._made = asyncio.Event()
        self._news = asyncio.Event()
        self.broken: Exception | None = None
        """Why nothing more can be kept of it, once that is so."""
        self.stopping: Stopping | None = None
        """Why it is to end before its time, once that is so."""
        self.task: asyncio.Task[None] | None = None
        """What drives it."""
        self.on_news: Callable[[], object] = lambda: None
        """Called whenever more of it is kept, and once it has ended."""
        self._keeping = asyncio.create_task(self._keep(), name=f"keeping run {self.id}")

    def add(self, channel: Channel, name: str, data: str, *, last: bool = False) -> None:
        """Number an event, a tag and JSON, and have it kept; for the last, which tell of the end, there is always room.

        Raises:
            TooManyEvents: If there is no room for it.
        """
        log, limits = self._logs[channel], self.limits
        if self.broken:
            return
        if not last and (log.made >= limits.events or log.size + len(data) > limits.event_bytes):
            most = f"{limits.events} events or {limits.event_bytes} characters of JSON"
            raise TooManyEvents(f"the run was stopped: it made more than {most}")
        log.made += 1
        log.size += len(data)
        log.waiting.append(KeptEvent(log.made, name, data))
        self._made.set()

    def touch(self) -> None:
        """Have the record kept as it is once it is `refreshed`."""
        if not self.broken:
            self._changed = True
            self._made.set()

    def kept_behind(self, channel: Channel, after: int) -> Sequence[KeptEvent] | None:
        """What is kept behind an event; None where the store must be asked, since it was kept a while ago."""
        last = self._logs[channel].last
        return last[after + 1 - last[0].seq :] if last and last[0].seq <= after + 1 else None

    def begin(self) -> None:
        """Take note that its task runs, so that it can be cancelled from now on.

        Raises:
            CancelledError: If it was to end before it began.
        """
        self._begun = True
        if self.stopping:
            raise asyncio.CancelledError

    def stop(self, why: Stopping) -> None:
        """End it before its time, if it does not end already."""
        if self.stopping or self._ending:
            return
        self.stopping = why
        # A task that is cancelled before its first step would never tell of its end.
        if self.task and self._begun:
            self.task.cancel()

    async def room(self) -> None:
        """Wait while far too much waits to be kept."""
        while not self.ended and sum(len(log.waiting) for log in self._logs.values()) > BEHIND:
            self._news.clear()
            await self._news.wait()

    async def end(self, record: RunRecord) -> None:
        """End it, and wait until all of it is kept: the record, and the events that were made until now."""
        if not self.broken:
            self.latest = record.model_copy(update={"events": self._logs["run"].made})
            self.touch()
        self._ending = True
        await asyncio.shield(self._keeping)

    async def _keep(self) -> None:
        while not self.ended:
            await self._made.wait()
            self._made.clear()
            ending = self._ending
            if self._changed and self.refreshed and not ending:
                made = self._logs["run"].made
                self.latest = self.refreshed().model_copy(update={"events": made})
            record = self.latest if self._changed else None
            new = [
                NewEvents(self.id, channel, log.waiting, self.latest.epoch)
                for channel, log in self._logs.items()
                if log.waiting
            ]
            for log in self._logs.values():
                log.waiting = []
            self._changed = False
            try:
                await self._writer.write(record, new)
            except Exception as error:
                # Not even its end: the store says how it stands, and whoever has its job goes on from there.
                logger.warning("run %s is stopped here, since nothing more of it can be kept: %s", self.id, error)
                self.broken, self.ended = error, True
                self.stop("store")
            else:
                for part in new:
                    self._logs[part.channel].last = [*within(reversed(part.events), REMEMBERED)][::-1]
                self.record = record or self.record
                # What was made while this was written goes first.
                self.ended = ending and not self._made.is_set()
            self._news.set()
            self.on_news()
