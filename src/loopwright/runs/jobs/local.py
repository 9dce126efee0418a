"""Jobs of one process: so many runs go on at once, and the others wait their turn.

What waits is kept by the run store alone; a process that opens it after another one was killed submits it again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from loopwright.runs.jobs.protocol import Job, Served

_ALONE = "alone"


class LocalJobs:
    """`Jobs` within one process, so `most` go on at once; its methods say only what the protocol does not."""

    shared = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._on: dict[str, tuple[Job, str]] = {}
        self._places: dict[str, tuple[Job, str]] = {}
        """The run -> its job, and what no two jobs that go on may have alike."""
        self._claimable: asyncio.Queue[Job] = asyncio.Queue()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._places)

    async def open(self, served: Served) -> None:
        """Know whom to tell of what is cancelled."""
        self._cancel = served.cancel

    async def submit(self, job: Job) -> None:
        """Let a job wait for its turn."""
        self._place(job, job.run_id)

    async def claim(self) -> Job:
        """Wait for the next job."""
        return await self._claimable.get()

    async def finish(self, job: Job) -> None:
        """Free its place."""
        self._on.pop(job.run_id, None)
        self._move_up()

    async def give_back(self, job: Job, *, alone: bool = False, graph: str | None = None) -> None:
        """Let it wait once more, behind those of its priority."""
        job, _lock = self._on.pop(job.run_id, (job, ""))
        self._place(job, _ALONE if alone else job.run_id)

    drop = finish

    async def cancel(self, run_id: str) -> bool:
        """Take the waiting job of a run away, or tell who works on it."""
        self._places.pop(run_id, None)
        if found := self._on.get(run_id):
            self._on[run_id] = replace(found[0], cancelled=True), found[1]
            self._cancel(run_id)
        return run_id not in self._on

    async def list(self) -> Sequence[str]:
        """Those that go on, then those that wait."""
        return [*self._on, *self._places]

    async def close(self) -> None:
        """Nothing is to be closed."""

    def _place(self, job: Job, lock: str) -> None:
        if job.run_id not in self._places:
            self._count += 1
            self._places[job.run_id] = replace(job, id=self._count), lock
            self._move_up()

    def _move_up(self) -> None:
        while len(self._on) < self._most:
            taken = {lock for _job, lock in self._on.values()}
            free = [job for job, lock in self._places.values() if lock not in taken]
            if not free:
                return
            first = min(free, key=lambda job: (-job.priority, job.id))
            self._on[first.run_id] = self._places.pop(first.run_id)
            self._claimable.put_nowait(first)
