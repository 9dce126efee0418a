"""What holds of jobs that several processes share: leases, and who hears what."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from unittest.mock import AsyncMock

import procrastinate.utils
import psycopg
import pytest
from hosted_graphs import until
from job_engines import LEASE, Engine, a_job, claimed, job_engine, postgres_server, postgres_url  # noqa: F401
from procrastinate.exceptions import ConnectorException

from loopwright.runs.jobs import shared
from loopwright.workflows.runtime import cancel

pytestmark = pytest.mark.parametrize("engine", ["procrastinate"], indirect=True)


async def test_who_beats_keeps_a_job_and_who_does_not_loses_it(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a", answer="kept"))
    await claimed(first)
    assert await claimed(second, 3 * LEASE) is None, "it beats"
    await cancel(first._tasks)  # its process is gone
    began = time.monotonic()
    job = await claimed(second)
    assert (job.run_id, job.answer) == ("a", "kept")
    assert LEASE / 2 < time.monotonic() - began < 3 * LEASE + 1


async def test_a_job_whose_claim_never_reached_the_process_comes_again(engine: Engine) -> None:
    jobs = await engine.worker()
    await jobs.submit(a_job("a"))
    assert await jobs._manager.fetch_job(queues=["walk"], worker_id=jobs._worker)
    assert (await claimed(jobs, 10.0)).run_id == "a"


async def test_who_claims_the_same_job_again_keeps_its_places(engine: Engine) -> None:
    jobs = await engine.worker(most=2)
    await jobs.submit(a_job("a"))
    first = await claimed(jobs)
    await jobs._put_back(first.id, jobs._worker)
    second = await claimed(jobs)
    await jobs.drop(first)
    await jobs.finish(second)
    await jobs.submit(a_job("b"))
    await jobs.submit(a_job("c"))
    assert await claimed(jobs, 10.0) and await claimed(jobs, 10.0)


async def test_a_database_that_takes_no_writes_for_a_while_is_waited_for(engine: Engine, monkeypatch) -> None:
    monkeypatch.setattr(shared, "_POLL", 0.01)
    refused = ConnectorException()
    refused.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
    call = AsyncMock(side_effect=[refused, None])
    await (await engine.worker())._surely(call)
    assert call.await_count == 2


async def test_a_worker_that_leaves_gives_its_jobs_away_at_once(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a"))
    await claimed(first)
    await first.close()
    assert (await claimed(second)).run_id == "a"


async def test_who_works_on_a_cancelled_run_is_told_at_once(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a"))
    job = await claimed(first)
    assert not await second.cancel("a")
    await until(lambda: engine.cancelled)
    assert set(engine.cancelled) == {"a"}
    await first.finish(job)
    assert await second.list() == []


async def test_a_run_whose_worker_died_after_it_was_cancelled_is_only_ended(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a"))
    await claimed(first)
    await cancel(first._tasks)
    await second.cancel("a")
    job = await claimed(second)
    assert (job.run_id, job.cancelled) == ("a", True)


async def test_a_graph_is_worked_on_where_it_is_and_who_waits_for_it_keeps_nobody_back(engine: Engine) -> None:
    newer = await engine.worker(queues=("walk", "walk@new"))
    for name in "ab":
        await newer.submit(a_job(name))
    suspect, other = await claimed(newer), await claimed(newer)
    await newer.give_back(suspect, alone=True)
    await newer.give_back(await claimed(newer), graph="old")
    await newer.give_back(other, alone=True)
    assert (await claimed(newer)).run_id == "b"
    assert await claimed(newer, 1.5) is None
    older = await engine.worker(queues=("walk", "walk@old"))
    assert (await claimed(older)).run_id == "a"


async def test_a_job_goes_only_to_a_worker_of_its_workflow(engine: Engine) -> None:
    other, walking = await engine.worker(queues=("other",)), await engine.worker()
    await other.submit(a_job("a"))
    assert await claimed(other, 1.5) is None
    assert (await claimed(walking)).run_id == "a"


async def test_a_host_whose_clock_is_a_minute_ahead(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: datetime.now(UTC) + timedelta(minutes=1))
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a"))
    await first.give_back(await claimed(first))
    assert await claimed(second) is not None
    await cancel(second._tasks)
    assert (await claimed(first)).run_id == "a"


@pytest.mark.slow
async def test_who_stands_still_while_it_holds_a_lock_loses_it(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await first.submit(a_job("a"))
    await claimed(first)
    await cancel(first._tasks)
    async with first._connector.pool.connection() as connection:
        key = f"{first._address.schema} rescue"
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        assert (await claimed(second)).run_id == "a"
        await connection.close()
