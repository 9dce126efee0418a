"""What holds of jobs that several processes share: leases, and who hears what."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import procrastinate.utils
import psycopg
import pytest
from hosted_graphs import until
from job_engines import LEASE, Engine, a_job, at_work, claimed, gone, job_engine  # noqa: F401
from postgres import postgres_server, postgres_url  # noqa: F401

pytestmark = pytest.mark.parametrize("engine", ["procrastinate"], indirect=True)


async def test_who_beats_keeps_a_job_and_who_does_not_loses_it(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await at_work(first, answer="kept")
    assert await claimed(second, 3 * LEASE) is None, "it beats"
    await gone(first)
    began = time.monotonic()
    job = await claimed(second)
    assert (job.run_id, job.answer) == ("a", "kept")
    assert LEASE / 2 < time.monotonic() - began < 3 * LEASE + 1


@pytest.mark.parametrize(("what", "value"), [("_BEAT", b"SELECT nothing"), ("STUCK", -1.0)])
async def test_who_does_not_beat_claims_nothing(engine: Engine, monkeypatch, what: str, value: object) -> None:
    jobs = await engine.worker()
    monkeypatch.setattr(f"loopwright.runs.jobs.shared.{what}", value)
    assert await claimed(jobs, LEASE) is None
    both = [jobs, await engine.worker()]
    await jobs.submit(a_job("a"))
    assert [await claimed(each, 1.5) for each in both] == [None, None]
    monkeypatch.undo()
    assert (await claimed(both[1])).run_id == "a"


async def test_a_job_whose_claim_never_reached_the_process_comes_again(engine: Engine) -> None:
    jobs = await engine.worker()
    await jobs.submit(a_job("a"))
    assert await jobs._manager.fetch_job(queues=["walk"], worker_id=jobs._worker)
    assert (await claimed(jobs, 10.0)).run_id == "a"


async def test_who_claims_the_same_job_again_keeps_its_places(engine: Engine) -> None:
    jobs = await engine.worker(most=2)
    first = await at_work(jobs)
    await jobs._put_back(first.id, jobs._worker)
    second = await claimed(jobs)
    await jobs.drop(first)
    await jobs.finish(second)
    await jobs.submit(a_job("b"))
    await jobs.submit(a_job("c"))
    assert await claimed(jobs, 10.0) and await claimed(jobs, 10.0)


async def test_a_connection_to_a_server_that_takes_no_writes_is_not_used_again(engine: Engine) -> None:
    pool = (await engine.worker())._connector.pool
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        async with pool.connection() as connection:
            await connection.execute("SET TRANSACTION READ ONLY")
            await connection.execute("CREATE TABLE refused ()")
    assert connection.closed


async def test_a_worker_that_leaves_gives_its_jobs_away_at_once(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await at_work(first)
    await first.close()
    assert (await claimed(second)).run_id == "a"
    await until(lambda: not first._heart.is_alive())


async def test_who_works_on_a_cancelled_run_is_told_at_once(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    job = await at_work(first)
    assert not await second.cancel("a")
    await until(lambda: engine.cancelled)
    assert set(engine.cancelled) == {"a"}
    await first.finish(job)
    assert await second.list() == []


async def test_a_run_whose_worker_died_after_it_was_cancelled_is_only_ended(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await at_work(first)
    await gone(first)
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
    assert (await claimed(await engine.worker(queues=("walk", "walk@old")))).run_id == "a"


async def test_who_is_to_go_alone_does_not_wait_for_one_that_nobody_works_on(engine: Engine) -> None:
    jobs = await engine.worker(queues=("walk", "other"))
    for job in (a_job("a"), replace(a_job("b"), workflow="other")):
        await jobs.submit(job)
    for job in [await claimed(jobs), await claimed(jobs)]:
        await jobs.give_back(job, alone=True)
    await jobs.close()
    other = await engine.worker(queues=("other",))
    job = await claimed(other, 10.0)
    assert job.run_id == "b"
    walk = await engine.worker()
    assert await claimed(walk, 1.5) is None, "the other one goes on"
    await other.finish(job)
    assert (await claimed(walk, 10.0)).run_id == "a"


async def test_nobody_takes_its_own_jobs_away(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopwright.runs.jobs.shared._BEAT", b"SELECT %(worker_id)s")
    jobs = await engine.worker()
    assert (await at_work(jobs)).run_id == "a"
    assert await claimed(jobs, 3 * LEASE) is None


async def test_a_host_whose_clock_is_a_minute_ahead(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: datetime.now(UTC) + timedelta(minutes=1))
    first, second = await engine.worker(), await engine.worker()
    await first.give_back(await at_work(first))
    assert await claimed(second) is not None
    await gone(second)
    assert (await claimed(first)).run_id == "a"


@pytest.mark.slow
async def test_who_stands_still_while_it_holds_a_lock_loses_it(engine: Engine) -> None:
    first, second = await engine.worker(), await engine.worker()
    await at_work(first)
    await gone(first)
    async with first._connector.pool.connection() as connection:
        key = f"{first._address.schema} rescue"
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        assert (await claimed(second)).run_id == "a"
        await connection.close()
