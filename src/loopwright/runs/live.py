"""A run that goes on in this process: what is made of it is kept first and shown to its followers then.

Its events are numbered as they are made. One task for each run hands what has come since to the writer, and wakes the
followers when that is kept; so a client never saw what a killed server does not know any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from loopwright.engine.events.schema import RunFailed
from loopwright.errors import AttemptLost, TooManyEvents
from loopwright.runs.schemas import Channel, RunLimits, RunRecord
from loopwright.runs.store.entries import KeptEvent, NewEvents, within
from loopwright.runs.writer import Writer

logger = logging.getLogger(__name__)

BEHIND = 1000
"""Events that may wait to be kept before the run waits for the store."""


Stopping = Literal["cancelled", "shutdown", "store"]
"""Why a run is ended before its time: somebody asked, the server stops, or nothing more of it is kept."""

TAIL = 256
"""Kept events of a channel that stay in memory for those who follow closely; earlier ones are read from the store."""

TAIL_SIZE = 2**20
"""Characters of JSON that these have together at most; the last one stays whatever it has."""


@dataclass
class Log:
    """One channel of a run that goes on."""

    made: int = 0
    """The number of the last event that was made."""
    kept: int = 0
    """The number of the last event that is kept."""
    size: int = 0
    """Characters of JSON of the events that this process made."""
    waiting: list[KeptEvent] = field(default_factory=list[KeptEvent])
    """Events that are not kept yet."""
    _tail: deque[KeptEvent] = field(default_factory=deque[KeptEvent], init=False)
    _tail_size: int = field(default=0, init=False)

    def publish(self, events: Sequence[KeptEvent]) -> None:
        """Take note of events that are kept now; earlier ones that followers are not to have from here are let go.

        Args:
            events: The events, with the numbers that follow those kept; at least one.
        """
        self.kept = events[-1].seq
        for event in events:
            self._tail.append(event)
            self._tail_size += len(event.data)
            while len(self._tail) > TAIL or (self._tail_size > TAIL_SIZE and len(self._tail) > 1):
                self._tail_size -= len(self._tail.popleft().data)

    def behind(self, after: int, limit: int, size: int | None) -> list[KeptEvent] | None:
        """The kept events behind one of them.

        Args:
            after: The number of the last event that is known, 0 for none.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.

        Returns:
            The events; None if they are not in memory any more.
        """
        if after >= self.kept:
            return []
        if not self._tail or self._tail[0].seq > after + 1:
            return None
        return [*within(islice((event for event in self._tail if event.seq > after), limit), size)]


@dataclass(frozen=True)
class Following:
    """A part of a run's events."""

    events: list[KeptEvent]
    """The events."""
    ended: bool
    """Whether no more will come."""


class LiveRun:
    """A run that goes on, with its record and its events so far. Belongs to one event loop.

    Attributes:
        id: Names it.
    """

    def __init__(
        self, record: RunRecord, writer: Writer, limits: RunLimits, counts: Mapping[Channel, int] | None = None
    ) -> None:
        """Begin to follow a run, or go on with one.

        Args:
            record: The run, which is kept already.
            writer: Keeps what is made of it.
            limits: How much it may hold.
            counts: How many events of each channel are kept already.
        """
        self.id = record.id
        self._record = self._next = record
        self._writer = writer
        self.limits = limits
        """How much it may hold."""
        before = counts or {}
        self._logs: dict[Channel, Log] = {
            "run": Log(before.get("run", 0), before.get("run", 0)),
            "client": Log(before.get("client", 0), before.get("client", 0)),
        }
        self._begun = self._ending = self._ended = False
        self._changed = False
        self._made = asyncio.Event()
        self._news = asyncio.Event()
        self.broken: Exception | None = None
        """Why nothing more can be kept of it, once that is so."""
        self.stopping: Stopping | None = None
        """Why it is to end before its time, once that is so."""
        self.task: asyncio.Task[None] | None = None
        """What drives it."""
        self.on_end: Callable[[], object] | None = None
        """Called once all of it is kept, before anybody is told of its end."""
        self._keeping = asyncio.create_task(self._keep(), name=f"keeping run {self.id}")

    @property
    def record(self) -> RunRecord:
        """The run as it is kept by now."""
        return self._record

    @property
    def latest(self) -> RunRecord:
        """The run as it is now, kept or not."""
        return self._next

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it, and all that came is kept."""
        return self._ended

    def count(self, channel: Channel) -> int:
        """How many events there are, kept or not."""
        return self._logs[channel].made

    def add(self, channel: Channel, name: str, data: str, *, last: bool = False) -> None:
        """Number an event and have it kept.

        Args:
            channel: Its channel.
            name: Its tag.
            data: The event as JSON.
            last: Whether it tells of the run's end, for which there is always room.

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

    def update(self, record: RunRecord) -> None:
        """Have the record kept, together with the events that were made until now.

        Args:
            record: The run as it is now.
        """
        if self.broken:
            return
        self._next = record.model_copy(update={"events": self._logs["run"].made})
        self._changed = True
        self._made.set()

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
        while not self._ended and self._waiting() > BEHIND:
            await self._news.wait()

    async def end(self, record: RunRecord) -> None:
        """End it, and wait until all of it is kept."""
        self.update(record)
        self._ending = True
        await asyncio.shield(self._keeping)

    async def wait(self) -> RunRecord:
        """Wait until it has ended.

        Returns:
            The run as it ended.
        """
        while not self._ended:
            await self._news.wait()
        return self._record

    async def follow(
        self, channel: Channel, after: int, patience: float, limit: int, size: int | None = None
    ) -> Following | None:
        """The kept events behind one of them, as soon as there are any; see `RunHub.follow`.

        Args:
            channel: Which of its channels.
            after: The number of the last event that is known, 0 for none.
            patience: Seconds to wait for one.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.

        Returns:
            The events; None if they have to be read from the store.
        """
        log = self._logs[channel]
        deadline = asyncio.get_running_loop().time() + patience
        while log.kept <= after and not self._ended:
            news = self._news
            try:
                async with asyncio.timeout_at(deadline):
                    await news.wait()
            except TimeoutError:
                break
        events = log.behind(after, limit, size)
        if events is None:
            return None
        return Following(events, self._ended and (events[-1].seq if events else after) >= log.kept)

    def _waiting(self) -> int:
        return sum(len(log.waiting) for log in self._logs.values())

    async def _keep(self) -> None:
        while not self._ended:
            await self._made.wait()
            self._made.clear()
            ending = self._ending
            record = self._next if self._changed else None
            new = [
                NewEvents(self.id, channel, log.waiting, self._next.epoch)
                for channel, log in self._logs.items()
                if log.waiting
            ]
            for log in self._logs.values():
                log.waiting = []
            self._changed = False
            try:
                await self._writer.write(record, new)
            except AttemptLost as error:
                self._give_up(error)
                return
            except Exception as error:
                self._break(error)
                return
            self._publish(record, new)
            # What was made while this was written goes first.
            self._ended = ending and not self._made.is_set()
            if self._ended and self.on_end:
                self.on_end()
            self._wake()

    def _publish(self, record: RunRecord | None, new: Sequence[NewEvents]) -> None:
        for part in new:
            self._logs[part.channel].publish(part.events)
        if record is not None:
            self._record = record

    def _break(self, error: Exception) -> None:
        """End it as far as anybody in this process can see: nothing can be kept any more, not even its end."""
        self.broken = error
        logger.error("run %s cannot be kept any more, and is stopped: %s", self.id, error)
        for log in self._logs.values():
            log.made, log.waiting = log.kept, []
        message = f"the run was stopped, since nothing can be kept any more: {error}"
        failed = RunFailed(kind="StoreError", message=message)
        log = self._logs["run"]
        log.made = log.kept + 1
        log.publish([KeptEvent(log.made, failed.type, failed.model_dump_json())])
        update = {"status": "failed", "ended_at": failed.at, "error": message, "error_type": failed.kind}
        self._record = self._next = self._next.model_copy(update=update)
        self._ended = True
        self.stop("store")
        self._wake()

    def _give_up(self, lost: AttemptLost) -> None:
        """End it here: what it does from now on is told by the attempt that began elsewhere."""
        self.broken = lost
        logger.warning("%s", lost)
        for log in self._logs.values():
            log.made, log.waiting = log.kept, []
        update = {"status": "interrupted", "error": str(lost), "error_type": type(lost).__name__}
        self._record = self._next = self._record.model_copy(update=update)
        self._ended = True
        self.stop("store")
        self._wake()

    def _wake(self) -> None:
        # Everybody who waits holds the old event; who comes from now on waits for what comes next.
        self._news.set()
        self._news = asyncio.Event()
