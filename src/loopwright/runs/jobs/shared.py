"""Jobs of any number of processes on one PostgreSQL: Procrastinate has them, and decides who works on which.

Its table of jobs holds what waits or is worked on, and nothing else: a job that is done is deleted. Workers are known
by their heartbeats, by the database's own clock. A job whose worker did not beat for a lease goes to the next one.

`procrastinate.JobManager` is used and not Procrastinate's worker: that one stops beating while it waits for its last
jobs to end, and stops for good when the database is gone for a moment.
"""

import asyncio
import json
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job as Row
from procrastinate.jobs import Status
from procrastinate.schema import SchemaManager
from procrastinate.sql import queries

from loopwright.errors import StoreError
from loopwright.postgres import STANDSTILL, PostgresAddress
from loopwright.runs.jobs.protocol import Job, Served
from loopwright.workflows.runtime import cancel

logger = logging.getLogger(__name__)

LEASE = 6.0
"""Seconds without a heartbeat after which a worker's jobs are somebody else's."""

STUCK = 600.0
"""Seconds that an event loop may stand still; then its worker beats no more, and others go on with its runs."""

SCHEMA = "loopwright_jobs"
"""The schema where the address names none."""

_POLL = 1.0
"""Seconds after which is looked for a job without a word of one: who gives one back tells nobody."""

_TASK = "loopwright.run"
_ANY_QUEUE = "procrastinate_any_queue_v1"
_ALONE = "alone in all processes"
_FORGOTTEN = 3600.0
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # at once, whatever this host's clock says
# Counts while the machine sleeps, too: others do not wait for it, and whoever wakes knows that it did not beat.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)
_now = partial(time.clock_gettime, _CLOCK) if _CLOCK else time.monotonic

_GIVE_BACK = """
    UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1, scheduled_at = %(at)s,
        queue_name = coalesce(%(queue)s, queue_name), abort_requested = false,
        lock = CASE WHEN %(queue)s::text IS NULL THEN coalesce(%(lock)s, lock) ELSE queueing_lock END,
        args = CASE WHEN abort_requested THEN args || '{"cancelled": true}' ELSE args END
    WHERE id = %(id)s AND status = 'doing' AND worker_id IS NOT DISTINCT FROM %(worker)s
"""
# Procrastinate's own way lets a job fail whose end was asked for, and asks nobody whose it is by now.
# Its own lists bring what each run is given too.
_LIST = "SELECT queueing_lock FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
# Of those that are to go alone it offers the first only, also where nobody works on that one's queue.
_OVERTAKE = """
    UPDATE procrastinate_jobs SET priority = front.most + 1
    FROM (
        SELECT max(priority) AS most FROM procrastinate_jobs
        WHERE lock = %(lock)s AND status = 'todo' AND queue_name <> ALL(%(queues)s)
    ) AS front
    WHERE lock = %(lock)s AND status = 'todo' AND queue_name = ANY(%(queues)s) AND priority <= front.most
        AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = %(lock)s AND status = 'doing')
"""
_BEAT = queries["update_heartbeat"].encode()
_DOING = "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = %(worker)s"


class _Connection(psycopg.AsyncConnection[Any]):
    """Is closed once it was refused a write: to the server that takes none since a failover it would lead for good."""

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            await self.close()
        await super().__aexit__(kind, error, trace)


class ProcrastinateJobs:
    """`Jobs` on PostgreSQL; its methods say only what the protocol does not."""

    shared = True

    def __init__(self, url: str, channel: str, most: int, lease: float = LEASE) -> None:
        """Connect to nothing yet.

        Args:
            url: The address of the database, with the schema of the jobs.
            channel: Where the run history tells of what is new.
            most: How many jobs this process works on at once.
            lease: Seconds without a heartbeat after which a worker is taken for gone.

        Raises:
            ConfigError: If the address cannot be read.
        """
        self._address = PostgresAddress.parse(url, schema=SCHEMA, holds="a table of jobs")
        self._channel = channel
        self._lease = lease

        async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
            await connection.execute(self._address.settings(STANDSTILL))
            await connection.commit()

        pool: dict[str, Any] = {
            "connection_class": _Connection,
            "kwargs": self._address.libpq(),
            "configure": configure,
            "min_size": 1,
            "max_size": 4,
            # By its own back-off it would come back as long after an outage as that lasted.
            "reconnect_timeout": lease,
        }
        self._connector = PsycopgConnector(**pool, timeout=lease)
        self._manager = App(connector=self._connector).job_manager
        self._served = Served(queues=(), cancel=lambda _run: None, changed=lambda _run: None)
        self._room = asyncio.Semaphore(most)
        self._mine: dict[int, Job] = {}  # by what was given at the claim: a job may come back to who claimed it before
        self._news = asyncio.Event()
        self._worker: int | None = None
        self._every = min(lease, LEASE) / 4  # seconds between two beats: others may have the usual lease
        self._unbeaten: Exception | None = None
        self._moved, self._beaten, self._trusted = 0.0, -math.inf, 0.0
        self._ended = threading.Event()
        # A node that blocks the event loop does not hold it up, and it does not hold up the end of the process.
        self._heart = threading.Thread(target=self._beat, name="heartbeat of jobs", daemon=True)
        self._gone = False
        self._tasks: list[asyncio.Task[None]] = []
        self.waiting = 0

    async def open(self, served: Served) -> None:
        """Make the tables where they are missing, begin to beat, and listen."""
        self._served = served
        with self._usable():
            await asyncio.to_thread(self._prepare)
            await self._connector.open_async()
            if served.queues:
                self._worker = await self._manager.register_worker()
        self._moved, self._loop = _now(), asyncio.get_running_loop()
        self._heart.start()
        looking = (self._look, "looking"), (self._listen, "listening")
        self._tasks = [asyncio.create_task(each(), name=f"{name} of jobs") for each, name in looking]

    async def submit(self, job: Job) -> None:
        """Let a job wait for its turn."""
        args = {"workflow": job.workflow, "answer": job.answer, "cancelled": job.cancelled, "given": _whole(job.given)}
        row = Row(
            queue=job.workflow, priority=job.priority, lock=job.run_id, queueing_lock=job.run_id, task_name=_TASK,
            task_kwargs=args,
        )  # fmt: skip
        with suppress(AlreadyEnqueued), self._usable():
            await self._manager.defer_job_async(row)

    async def claim(self) -> Job:
        """Wait for the next job."""
        await self._room.acquire()
        try:
            while True:
                self._news.clear()
                if (row := await self._fetched()) and row.id is not None:
                    job = _job(row)
                    self._mine[id(job)] = job
                    return job
                with suppress(TimeoutError):
                    async with asyncio.timeout(_POLL):
                        await self._news.wait()
        except BaseException:
            self._room.release()
            raise

    async def finish(self, job: Job) -> None:
        """Delete it."""
        done = partial(self._manager.finish_job_by_id_async, job.id, status=Status.SUCCEEDED, delete_job=True)
        await self._surely(done)
        await self.drop(job)

    async def give_back(self, job: Job, *, alone: bool = False, graph: str | None = None) -> None:
        """Let somebody else go on with it."""
        lock = _ALONE if alone else None
        queue = f"{job.workflow}@{graph}" if graph else None
        await self._surely(lambda: self._put_back(job.id, self._worker, queue, lock))
        await self.drop(job)

    async def drop(self, job: Job) -> None:
        """Work on it no more."""
        if self._mine.pop(id(job), None) is not None:
            self._room.release()
        self._news.set()

    async def cancel(self, run_id: str) -> bool:
        """Take the waiting job of a run away, or tell who works on it."""
        told = False
        with self._usable():
            for row in await self._manager.list_jobs_async(queueing_lock=run_id):
                number = cast("int", row.id)
                if not await self._manager.cancel_job_by_id_async(number, delete_job=True):
                    told |= await self._manager.cancel_job_by_id_async(number, abort=True)
        return not told

    async def list(self) -> Sequence[str]:
        """The runs whose jobs wait or are worked on."""
        with self._usable():
            return [row["queueing_lock"] for row in await self._connector.execute_query_all_async(_LIST)]

    async def close(self) -> None:
        """Stop beating; what is worked on here is given to others at once."""
        self._ended.set()
        await cancel(self._tasks)
        worker, self._worker = self._worker, None  # a beat that is under way changes no row of who is not registered
        if worker is not None:
            with suppress(ConnectorException):
                await self._manager.unregister_worker(worker)
        await self._connector.close_async()

    # Inside

    @contextmanager
    def _usable(self) -> Generator[None]:
        try:
            yield
        except (psycopg.Error, ConnectorException) as error:
            raise StoreError(f"{self._address} cannot be used: {_cause(error)}", transient=True) from error

    def _beats(self) -> bool:
        """Whether others take this worker for alive: who does not beat would lose at once what it claims."""
        return self._unbeaten is None and _now() - self._beaten < 2 * self._every

    async def _fetched(self) -> Row | None:
        try:
            if self._worker is None or not self._beats():  # no worker: it waits for ever
                return None
            return await self._manager.fetch_job(queues=[*self._served.queues], worker_id=self._worker)
        except ConnectorException as error:
            if isinstance(error.__cause__, psycopg.errors.ForeignKeyViolation):
                # It stood still for so long that it was forgotten.
                with suppress(ConnectorException):
                    self._worker = await self._manager.register_worker()
            else:
                self._tell(error)
            return None

    async def _put_back(self, job: int, worker: int | None, queue: str | None = None, lock: str | None = None) -> None:
        """Let a job that a worker has wait once more; one whose end was asked for only to be ended."""
        how = {"at": _LONG_AGO, "queue": queue, "lock": lock}
        try:
            await self._connector.execute_query_async(_GIVE_BACK, id=job, worker=worker, **how)
        except UniqueViolation:  # another job of the run waits already
            await self._manager.finish_job_by_id_async(job, status=Status.SUCCEEDED, delete_job=True)
        self._news.set()

    def _over(self) -> bool:
        return self._ended.is_set() or self._loop.is_closed()  # nobody may have closed this

    def _beat(self) -> None:
        while not self._over():
            try:
                with psycopg.connect(**self._address.libpq(), autocommit=True) as connection:
                    self._address.configure(connection)
                    while not self._over():
                        if _now() - self._moved < STUCK:
                            connection.execute(_BEAT, {"worker_id": self._worker}, prepare=False)
                            now, again = _now(), not self._beats()
                            if self._lease < (gap := now - self._beaten) < math.inf:
                                self._trusted = now + min(2 * gap, 4 * self._lease)
                            self._beaten, self._unbeaten = now, None
                            if again:
                                self._loop.call_soon_threadsafe(self._news.set)
                        self._ended.wait(self._every)
            except Exception as error:  # whatever it is: who does not beat loses its runs
                self._unbeaten = error
                self._ended.wait(self._every)

    async def _look(self) -> None:
        """See again and again whose jobs are to be given to others, and what is to end here."""
        unknown: set[int] = set()
        while True:
            now = self._moved = _now()
            try:
                if error := self._unbeaten:  # read once: the thread may beat again meanwhile
                    raise error
                # Who did not beat itself cannot tell who is gone: all come back from the same outage.
                # The thread writes what is read first here last.
                if now - self._beaten < self._lease and now >= self._trusted:
                    await self._rescue()
                await self._end_cancelled()
                unknown = await self._put_unknown_back(unknown)
                queues = await self._manager.list_queues_async()
                self.waiting = sum(int(queue["todo"]) for queue in queues)
                if self._gone:
                    self._gone = False
                    logger.warning("%s can be reached again", self._address)
            except Exception as error:  # whatever it is, it is looked again
                self._tell(error)
            await asyncio.sleep(self._every)

    async def _rescue(self) -> None:
        """Give the jobs of workers that are gone to others, and let none that is to go alone wait for nobody."""
        async with self._connector.pool.connection() as connection, connection.transaction():
            # One at a time: what was given to a new worker since is not to be taken from that one.
            mine = await connection.execute(
                "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [f"{self._address.schema} rescue"]
            )
            if not (row := await mine.fetchone()) or not row[0]:
                return
            for stalled in await self._manager.get_stalled_jobs(seconds_since_heartbeat=self._lease):
                if stalled.worker_id is not None and stalled.worker_id == self._worker:
                    continue  # only others can tell that this one is gone
                logger.warning("the worker of run %s is gone: somebody else goes on with it", stalled.queueing_lock)
                await self._put_back(cast("int", stalled.id), stalled.worker_id)
            await self._connector.execute_query_async(_OVERTAKE, lock=_ALONE, queues=[*self._served.queues])
            await self._manager.prune_stalled_workers(_FORGOTTEN)

    async def _put_unknown_back(self, before: set[int]) -> set[int]:
        """Put back what is here by the table and not in this process, where it was so at the last look too."""
        if self._worker is None:
            return set()
        rows = await self._connector.execute_query_all_async(_DOING, worker=self._worker)
        unknown = {row["id"] for row in rows} - {job.id for job in self._mine.values()}
        for number in before & unknown:
            logger.warning("job %s has this process for its worker, which does not know of it: it waits again", number)
            await self._put_back(number, self._worker)
        return unknown

    async def _end_cancelled(self) -> None:
        if self._mine:
            numbers = {*await self._manager.list_jobs_to_abort_async()}
            for job in [*self._mine.values()]:
                if job.id in numbers:
                    self._served.cancel(job.run_id)

    async def _listen(self) -> None:
        async def heard(*, channel: str, payload: str) -> None:
            if channel == self._channel:
                self._served.changed(payload)
                return
            self._news.set()
            if json.loads(payload)["type"] == "abort_job_requested":
                await self._end_cancelled()

        while True:
            try:
                await self._connector.listen_notify(heard, channels=[_ANY_QUEUE, self._channel])
            except Exception as error:
                self._tell(error)
            await asyncio.sleep(_POLL)

    async def _surely(self, call: Callable[[], Awaitable[None]]) -> None:
        """Do it as soon as the database is there, unless somebody else has the job by now."""
        while True:
            try:
                return await call()
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException):  # Procrastinate's own word
                    return
                self._tell(error)
            await asyncio.sleep(_POLL)

    def _tell(self, error: Exception) -> None:
        if not self._gone:
            self._gone = True
            logger.warning(
                "%s cannot be reached (%s); runs wait, and go on when it is back", self._address, _cause(error)
            )

    def _prepare(self) -> None:
        schema = self._address.schema
        with psycopg.connect(**self._address.libpq()) as connection:
            self._address.configure(connection)
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{schema} tables"])
            made = connection.execute("SELECT to_regclass(%s)", [f"{schema}.procrastinate_jobs"]).fetchone()
            if made and made[0] is None:
                self._address.make_schema(connection)
                connection.execute(SchemaManager.get_schema().encode(), prepare=False)


def _job(row: Row) -> Job:
    given: dict[str, Any] = dict(row.task_kwargs)
    return Job(run_id=row.queueing_lock or "", priority=row.priority, id=row.id or 0, **given)


def _whole(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """An input as it was given, as the first checkpoint has it; None where JSON cannot say it: the kept one is read."""
    with suppress(TypeError, ValueError):
        return json.loads(json.dumps(given))
    return None


def _cause(error: Exception) -> str:
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
