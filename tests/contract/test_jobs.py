"""What holds of every engine of jobs: in this process, and Procrastinate on a real PostgreSQL."""

import asyncio
from contextlib import suppress

import pytest
from job_engines import Engine, a_job, at_work, claimed, job_engine, postgres_server, postgres_url  # noqa: F401

from loopwright.runs.jobs.protocol import Job
from loopwright.workflows import runtime


async def test_a_job_comes_as_it_was_submitted(engine: Engine) -> None:
    jobs = await engine.worker()
    given = a_job("a", priority=3, answer={"ids": [1, None]}, cancelled=True, given={"token": [0.5] * 40})
    await jobs.submit(given)
    job = await claimed(jobs)
    assert Job(**{**vars(job), "id": 0}) == given
    assert await jobs.list() == ["a"]
    await jobs.finish(job)
    assert await jobs.list() == []


async def test_a_job_is_claimed_once_however_many_ask(engine: Engine) -> None:
    workers = [await engine.worker() for _ in range(3)]
    for number in range(9):
        await workers[0].submit(a_job(f"r{number}"))
    got = await asyncio.gather(*(claimed(each, 2.0) for each in workers * 4))
    assert sorted(job.run_id for job in got if job) == [f"r{number}" for number in range(9)]


async def test_higher_priorities_go_first_and_equals_in_order(engine: Engine) -> None:
    jobs = await engine.worker(most=1)
    on = await at_work(jobs, "on")
    for name, priority in [("a", 0), ("low", -1), ("b", 0), ("high", 5)]:
        await jobs.submit(a_job(name, priority=priority))
    order = []
    for _ in range(4):
        await jobs.finish(on)
        on = await claimed(jobs)
        order.append(on.run_id)
    assert order == ["high", "a", "b", "low"]


async def test_so_many_at_once_as_a_worker_takes_and_a_waiting_job_is_cancelled(engine: Engine) -> None:
    jobs = await engine.worker(most=2)
    for name in "abcd":
        await jobs.submit(a_job(name))
    first, second = await claimed(jobs), await claimed(jobs)
    assert await claimed(jobs, 0.5) is None
    assert await jobs.cancel("c")
    await jobs.finish(second)
    assert (await claimed(jobs)).run_id == "d"
    assert (first.run_id, engine.cancelled) == ("a", [])


async def test_jobs_of_one_run_go_one_after_another(engine: Engine) -> None:
    jobs = await engine.worker()
    first = await at_work(jobs)
    await jobs.submit(a_job("a", answer="later"))
    await jobs.submit(a_job("a", answer="one of a run is enough"))
    assert await claimed(jobs, 0.5) is None
    await jobs.finish(first)
    second = await claimed(jobs)
    assert second.answer == "later"
    await jobs.finish(second)
    assert await claimed(jobs, 0.5) is None


@pytest.mark.parametrize("cancelled", [False, True])
async def test_what_is_given_back_goes_to_the_next_to_be_ended_if_it_was_cancelled(
    engine: Engine, cancelled: bool
) -> None:
    jobs = await engine.worker(most=1)
    job = await at_work(jobs, answer=1)
    assert not (cancelled and await jobs.cancel("a"))
    await jobs.give_back(job)
    again = await claimed(jobs, 10.0)
    assert (again.run_id, again.answer, again.cancelled) == ("a", 1, cancelled)


async def test_what_is_to_go_alone_waits_for_others_of_its_kind_only(engine: Engine) -> None:
    jobs = await engine.worker()
    for name in ("suspect", "another", "other"):
        await jobs.submit(a_job(name))
    found = {job.run_id: job for job in [await claimed(jobs) for _ in range(3)]}
    await jobs.give_back(found["suspect"], alone=True)
    suspect = await claimed(jobs)
    await jobs.give_back(found["another"], alone=True)
    assert suspect.run_id == "suspect"
    assert await claimed(jobs, 0.5) is None
    await jobs.submit(a_job("new"))
    assert (await claimed(jobs)).run_id == "new"
    await jobs.finish(suspect)
    assert (await claimed(jobs)).run_id == "another"


async def loses_a_cancellation() -> None:
    """As `asyncio.wait_for` before Python 3.12, where the result came at the same moment."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(600)
    await asyncio.sleep(600)


async def test_a_task_that_lost_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_AGAIN", 0.01)
    tasks = [asyncio.create_task(loses_a_cancellation()) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.wait_for(runtime.cancel(tasks), 60)
    assert all(task.cancelled() for task in tasks)
