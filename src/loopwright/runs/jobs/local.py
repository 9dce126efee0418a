"""Jobs of one process: so many runs go on at once, and the others wait their turn.

What waits is kept by the run store alone; a process that opens it after another one was killed submits it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from loopwright.runs.jobs.protocol import Job, Served


@dataclass
class _Place:
    job: Job
    lock: str
    turn: asyncio.Event | None = None
    """Set when it is the turn of a run that was made ready; other jobs are claimed."""
    order: tuple[int, int] = field(default=(0, 0))


class LocalJobs:
    """`Jobs` within one process; its methods say only what the protocol does not."""

    shared = False

    def __init__(self, most: int) -> None:
        """Begin empty.

        Args:
            most: How many may go on at once.
        """
        self._most = most
        self._count = 0
        self._on: dict[str, _Place] = {}
        self._places: dict[str, _Place] = {}
        self._claimable: asyncio.Queue[Job] = asyncio.Queue()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._places)

    async def open(self, served: Served) -> None:
        """Nothing is to be opened."""

    async def submit(self, job: Job) -> None:
        """Let a job wait for its turn."""
        self._place(job, None)

    def join(self, job: Job) -> None:
        """Give a run that is made ready right now a place; it waits for its `turn`, and nobody claims it."""
        self._place(job, asyncio.Event())

    def leave(self, run_id: str) -> None:
        """Take a run out, wherever it is; again does nothing."""
        self._on.pop(run_id, None)
        self._places.pop(run_id, None)
        self._move_up()

    def status(self, run_id: str) -> Literal["running", "queued"]:
        """How a run stands that has a place."""
        return "running" if run_id in self._on else "queued"

    async def turn(self, run_id: str) -> None:
        """Wait until it is a run's turn."""
        if (place := self._places.get(run_id)) and place.turn:
            await place.turn.wait()

    async def claim(self) -> Job:
        """Wait for the next submitted job."""
        return await self._claimable.get()

    async def finish(self, job: Job) -> None:
        """Free its place."""
        self._on.pop(job.run_id, None)
        self._move_up()

    async def give_back(self, job: Job, *, alone: bool = False, graph: str | None = None) -> None:
        """Let it wait once more, behind those of its priority."""
        self._on.pop(job.run_id, None)
        self._place(job, None, "alone" if alone else None)

    async def drop(self, job: Job) -> None:
        """Free its place."""
        await self.finish(job)

    async def cancel(self, run_id: str) -> bool:
        """Take the waiting job of a run away; one that goes on is ended by who drives it."""
        waited = run_id in self._places
        if waited:
            self.leave(run_id)
        return waited

    async def list(self) -> Sequence[Job]:
        """Those that go on, then those that wait."""
        return [place.job for place in (*self._on.values(), *self._places.values())]

    async def close(self) -> None:
        """Nothing is to be closed."""

    def _place(self, job: Job, turn: asyncio.Event | None, lock: str | None = None) -> None:
        if job.run_id in self._places:
            return
        self._count += 1
        job = replace(job, id=self._count)
        self._places[job.run_id] = _Place(job, lock or job.run_id, turn, (-job.priority, self._count))
        self._move_up()

    def _move_up(self) -> None:
        while len(self._on) < self._most:
            taken = {place.lock for place in self._on.values()}
            free = [place for place in self._places.values() if place.lock not in taken]
            if not free:
                return
            first = min(free, key=lambda place: place.order)
            run_id = first.job.run_id
            self._on[run_id] = self._places.pop(run_id)
            if first.turn:
                first.turn.set()
            else:
                self._claimable.put_nowait(first.job)
