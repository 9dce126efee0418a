"""Looks at runs, whether they go on in this process, ended long ago, or came from a file."""

from __future__ import annotations

import asyncio
from typing import Any

from loopwright.errors import InputError
from loopwright.runs import states
from loopwright.runs.driving import Drive
from loopwright.runs.live import Following, LiveRun
from loopwright.runs.schemas import Channel, RunRecord
from loopwright.runs.states import CheckpointView
from loopwright.runs.store.protocol import RunStore


class RunReader:
    """Looks at runs. Belongs to one event loop.

    Attributes:
        store: Where runs are kept.
    """

    def __init__(self, store: RunStore) -> None:
        """Know no run that goes on."""
        self.store = store
        self._going: dict[str, Drive] = {}
        self._reserved: set[str] = set()
        """Runs that are about to go on."""
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
        if followed is not None:
            return followed
        # Whether it goes on is asked first: what is kept after that has all that it made until then.
        goes_on = run_id in self._going or run_id in self._reserved
        events = await asyncio.to_thread(self.store.events, run_id, channel, after, limit + 1, size)
        if not events and live is None and await asyncio.to_thread(self.store.get, run_id) is None:
            raise InputError(f"there is no run {run_id!r}")
        # Where the size may have cut them off, the next part tells: it is empty.
        complete = len(events) <= limit and (size is None or not events)
        return Following(events[:limit], ended=complete and not goes_on)

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
