"""The two engines of jobs, each opened for as many workers as a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from postgres import postgres_server, postgres_url  # noqa: F401

from loopwright.runs.jobs.local import LocalJobs
from loopwright.runs.jobs.protocol import Job, Jobs, Served
from loopwright.runs.jobs.shared import ProcrastinateJobs
from loopwright.workflows.runtime import cancel

LEASE = 1.0
"""Seconds: short, so that tests need not wait."""


@dataclass
class Engine:
    """Opens workers; those on one process are the same one."""

    make: Callable[[int], Jobs]
    cancelled: list[str] = field(default_factory=list)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _one: Jobs | None = None

    async def worker(self, most: int = 10, queues: tuple[str, ...] = ("walk",)) -> Any:
        if self._one:
            return self._one
        jobs = self.make(most)
        if not jobs.shared:
            self._one = jobs
        await jobs.open(Served(queues=queues, cancel=self.cancelled.append, changed=lambda _run: None))
        self._stack.push_async_callback(jobs.close)
        return jobs


@pytest.fixture(name="engine", params=["local", "procrastinate"])
async def job_engine(request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    """Each engine."""
    if request.param == "local":
        made = Engine(LocalJobs)
    else:
        url = request.getfixturevalue("postgres_url")
        made = Engine(lambda most: ProcrastinateJobs(url, "told", most, LEASE))
    async with made._stack:
        yield made


def a_job(run_id: str, **more: Any) -> Job:
    return Job(run_id=run_id, workflow="walk", **more)


async def at_work(jobs: Any, run_id: str = "a", **more: Any) -> Job | None:
    """A job that is submitted and claimed."""
    await jobs.submit(a_job(run_id, **more))
    return await claimed(jobs)


async def gone(jobs: Any) -> None:
    """Let a worker's process be gone."""
    await cancel(jobs._tasks)
    jobs._ended.set()
    jobs._heart.join()


async def claimed(jobs: Any, seconds: float = 60.0) -> Job | None:
    """The next job, or None if there is none in time.

    A worker that itself stood still for some seconds, as on a busy machine, takes nobody for gone for twice as long.
    """
    with suppress(TimeoutError):
        return await asyncio.wait_for(jobs.claim(), seconds)
    return None
