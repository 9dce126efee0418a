"""Writing what happens in many runs at once: one thread, and one transaction for all that came since the last."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from loopwright.errors import StoreError
from loopwright.runs.schemas import RunRecord
from loopwright.runs.store.entries import NewEvents
from loopwright.runs.store.history import RunStore

PATIENCE = 10.0
"""How long a write that fails for a passing reason is tried again, in seconds."""
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 1.0

T = TypeVar("T")


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
    done: Future[None] = field(default_factory=Future[None])


class Writer:
    """Keeps runs and their events; whoever waits for a write knows that it outlives this process.

    A write that fails for a passing reason is tried again for so many seconds (`patience`). The store stays open.
    """

    def __init__(self, store: RunStore, patience: float = PATIENCE) -> None:
        self._store = store
        self.patience = patience
        self._news = threading.Condition()
        self._waiting: list[_Entry] = []
        self._closed = False
        # A process that ends without closing the writer is not held up: nobody was told that the rest is kept.
        self._thread = threading.Thread(target=self._work, name="loopwright-run-writer", daemon=True)
        self._thread.start()

    async def write(self, run: RunRecord | None, events: Sequence[NewEvents] = ()) -> None:
        """Keep what happened, in the order of the calls; returns when it is kept. A cancelled wait cancels no write.

        Args:
            run: The run as it is now, if it changed; only the last record that waits for its turn is written.
            events: New events.

        Raises:
            StoreError: If the database fails, and goes on failing; or if the writer is closed.
        """
        entry = _Entry(run, events)
        with self._news:
            if self._closed:
                raise StoreError("the writer of the run history is closed: nothing more is kept")
            self._waiting.append(entry)
            self._news.notify()
        await asyncio.shield(asyncio.wrap_future(entry.done))

    async def aclose(self) -> None:
        """Write what waits, and end the thread; again does nothing."""
        with self._news:
            self._closed = True
            self._news.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closed)
                batch, self._waiting = self._waiting, []
            if not batch:
                return
            self._keep(batch)

    def _keep(self, batch: Sequence[_Entry]) -> None:
        try:
            runs = {entry.run.id: entry.run for entry in batch if entry.run is not None}
            events = [item for entry in batch for item in entry.events]
            patiently(lambda: self._store.write(runs.values(), events), self.patience)
        except Exception as error:
            if len(batch) == 1 or (isinstance(error, StoreError) and error.transient):
                for entry in batch:
                    entry.done.set_exception(error)
                return
            # What cannot be kept takes nothing else with it.
            for entry in batch:
                self._keep([entry])
            return
        for entry in batch:
            entry.done.set_result(None)
