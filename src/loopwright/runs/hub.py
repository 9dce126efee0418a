"""All runs of a server: those that go on in this process, and those that are kept.

A run that is asked for is kept and becomes a job; whoever claims that, in this process or another one, drives it: an
asyncio task on a checkpointer, with the run's id as its thread, that goes on whether or not anybody follows it. What
happens in it is kept before it is shown, see `loopwright.runs.live`, and read from the store.
"""

import asyncio
import logging
import re
import uuid
from collections.abc import Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

from loopwright.errors import (
    AttemptLost,
    BackendError,
    Busy,
    ConfigError,
    GraphChanged,
    InputError,
    LoopwrightError,
    RunGivenUp,
    UnknownNameError,
)
from loopwright.runs.checkpoints import before_pass, without_passes
from loopwright.runs.driving import PAUSED, Drive
from loopwright.runs.jobs.local import LocalJobs
from loopwright.runs.jobs.protocol import Job, Jobs, Served
from loopwright.runs.launching import Launcher
from loopwright.runs.live import PATIENCE, LiveRun, Writer
from loopwright.runs.schemas import ENDED, RESUMABLE, RunRecord
from loopwright.workflows.api import RunChanges, Workflow
from loopwright.workflows.runtime import cancel

logger = logging.getLogger(__name__)

UNCHANGED = RunChanges()
"""A run as its workflow is configured."""

STOPPING = 5.0
"""Seconds that a cancelled run has to clean up before whoever cancelled it goes on without it."""

SUSPECT = 2
"""A run that was lost so often in a row, at one checkpoint, goes on while no other such run does."""

MOST_LOST = 3
"""A run that was lost so often in a row, at one checkpoint, is given up."""

ORPHANED = 60.0
"""Seconds between two looks for runs that are to go on and have no job."""

SHARED_PATIENCE = 120.0
"""Seconds for which a write waits for a database that other processes share, and that is gone."""

QUESTION = re.compile(r"[0-9a-f]{32}")
"""What the id of a question looks like."""


@dataclass(eq=False)
class RunHub(Launcher):
    """Starts, resumes, forks, cancels and follows runs. Belongs to one event loop; nothing is read before `open`.

    Raises:
        ConfigError: If an allowance is in dollars, and prices are missing.
    """

    jobs: Jobs | None = None
    """Decides who works on which run; None for this process alone."""
    works: bool = True
    """Whether this process works on runs, where others do too."""
    shared: bool = field(init=False)
    """Whether other servers and workers have the same runs."""
    reserved: set[str] = field(default_factory=set[str], init=False)
    """Runs that are about to be begun or resumed."""
    _jobs: Jobs = field(init=False)
    _loops: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]], init=False)
    _carried: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]], init=False)
    _cancelled: set[str] = field(default_factory=set[str], init=False)
    """Runs that are made ready and are to end as soon as they begin."""
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self, served: Iterable[Workflow]) -> None:
        super().__post_init__(served)
        if self.prices is None and any(allowance.usd is not None for allowance in self.allowances):
            raise ConfigError("an allowance in usd needs prices: pip install 'loopwright[prices]'")
        self._jobs = self.jobs or LocalJobs(self.limits.running)
        self.shared = self._jobs.shared
        self.works = self.works or not self.shared
        self.writer = Writer(self.store, SHARED_PATIENCE if self.shared else PATIENCE)

    # The server's life

    async def open(self) -> None:
        """Go on with what waited or was cut off.

        Raises:
            StoreError: If the store cannot be read, or another server has it.
        """
        await self.store.aside(self.store.claim)
        queues = await asyncio.to_thread(self.queues) if self.works and self.shared else ()
        await self._jobs.open(Served(queues=queues, cancel=self._told_to_cancel, changed=self.changed))
        if self.shared:
            self._loops.append(asyncio.create_task(self._adopt_orphans(), name="orphaned runs"))
        else:
            for run_id in await self.store.aside(self.store.going_on):
                if record := await self.store.aside(self.store.get, run_id):
                    await self._jobs.give_back(_job(record), alone=record.lost >= SUSPECT)
        if self.works:
            self._loops.append(asyncio.create_task(self._work(), name="claiming runs"))

    async def close(self, grace: float = 5.0) -> None:
        """Begin no further run, let others end with their superstep, and cancel the rest `grace` seconds later."""
        self._stopping = True
        await cancel(self._loops)
        drives = [*self._going.values()]
        for drive in drives:
            drive.control.request_drain("the server stops")
        await _ended(drives, grace)
        self._closed = True  # what has not ended by now goes on later, and those who follow it need not wait
        self.changed(None)
        for drive in drives:
            drive.live.stop("shutdown")
        await _ended(drives, STOPPING)
        if self._carried:
            await asyncio.wait(self._carried, timeout=STOPPING)
        await cancel(self._carried)
        await self._jobs.close()
        await self.writer.aclose()

    @property
    def refusal(self) -> str | None:
        """Why no further run can be taken now, or None."""
        if self._stopping:
            return "the server is stopping: ask again when it is back"
        if self._jobs.waiting >= self.limits.queued:
            return f"{self.limits.queued} runs wait their turn, which is the limit: ask again in a moment"
        return None

    # Runs

    async def start(
        self,
        workflow: str,
        given: Mapping[str, Any],
        *,
        changes: RunChanges = UNCHANGED,
        run_id: str | None = None,
        request: str | None = None,
        priority: int = 0,
    ) -> RunRecord:
        """Start a run, or let it wait its turn.

        Args:
            workflow: Which workflow.
            given: Its input.
            changes: What it does otherwise than configured.
            run_id: Names it; None makes a new name.
            request: A digest of what was asked for, to be kept with it.
            priority: Of the runs that wait, those with the highest have their turn first.

        Raises:
            InputError: If the input or a change is unusable, or there is a run with this id.
            Busy: If no further run can be taken now; see `refusal`.
        """
        run_id = run_id or uuid.uuid4().hex
        with self._reserved_for(run_id):
            record = await self.prepared(workflow, given, changes, run_id)
            record = await self.create(record.model_copy(update={"request": request, "priority": priority}))
            return await self._submitted(record, given=given)

    async def resume(self, run_id: str, *, answer: Any = None, changes: RunChanges = UNCHANGED) -> RunRecord:
        """Go on with a run from its last checkpoint: finished nodes do not run again.

        Args:
            run_id: The run.
            answer: What a run that waits is answered.
            changes: Where it stops from now on; its models and prompts stay.

        Raises:
            InputError: If there is no such run, or it cannot go on; the message says why.
            Busy: If no further run can be taken now; see `refusal`.
        """
        record = await self.known(run_id)
        with self._reserved_for(run_id):
            if record.status not in RESUMABLE:
                can = ", ".join(sorted(RESUMABLE))
                raise InputError(f"run {run_id!r} is {record.status}; what can be resumed is {can}")
            if record.status == "waiting" and answer is None:
                raise InputError(f"run {run_id!r} waits for an answer: give one")
            _require_fitting(record, answer)
            pauses = {"pause_before": changes.pause_before, "pause_after": changes.pause_after}
            record = record.model_copy(update={"lost": 0, "changes": record.changes.model_copy(update=pauses)})
            if not self.shared:  # another process may have what this one has not
                await self.require_resumable(record)
            return await self._submitted(await self.waiting(record), answer=answer)

    async def fork(
        self,
        run_id: str,
        checkpoint_id: str | None,
        *,
        given: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        changes: RunChanges = UNCHANGED,
        fork_id: str | None = None,
    ) -> RunRecord:
        """Let a new run begin at a checkpoint of another one, which stays as it is.

        Args:
            run_id: The other run; it may go on.
            checkpoint_id: One of its checkpoints; None for the state that it ended with.
            given: New input, which makes it the next turn; without one it goes on with the other run's.
            state: Key of the state -> its new value in plain JSON.
            changes: What the new run does otherwise than the other one.
            fork_id: Names the new run; None makes a new name.

        Raises:
            InputError: If there is no such run or checkpoint, the input is unusable, or a value does not fit the state.
            Busy: If no further run can be taken now; see `refusal`.
        """
        record, fork_id = await self.known(run_id), fork_id or uuid.uuid4().hex
        kind = "fork" if given is None else "turn"
        with self._reserved_for(fork_id):
            made = await self.branch(record, checkpoint_id, changes, fork_id, kind=kind, state=state, given=given)
            return await self._submitted(made, given=given)

    async def counterfactual(self, run_id: str, loop: str, kept: int = 0) -> RunRecord:
        """Let a new run begin where a loop granted its first pass, and go on as if that loop's limit were 0.

        Args:
            run_id: The other run, which stays as it is.
            loop: The loop.
            kept: So many passes stay: it begins where the one behind them was granted.

        Raises:
            InputError: If there is no such run or loop, the loop never was granted that pass, or nothing tells where
                the run would have gone without it.
            Busy: If no further run can be taken now; see `refusal`.
        """
        record, new_id = await self.known(run_id), uuid.uuid4().hex
        with self._reserved_for(new_id):
            graph = self.graph(record.workflow)
            if loop not in (loops := [each.name for each in graph.loops]):
                raise UnknownNameError("loop", loop, loops)
            before = await self.store.aside(before_pass, self.store, run_id, loop, kept)
            if before is None:
                more = f"more than {kept} passes" if kept else "a pass"
                told = f"loop {loop!r} never was granted {more} in run {run_id!r}: there is nothing to leave out"
                raise InputError(told)
            without_passes(graph, loop)  # says if it cannot be compared
            at = before.checkpoint_id
            made = await self.branch(record, at, UNCHANGED, new_id, kind="counterfactual", loop=loop, kept=kept)
            return await self._submitted(made)

    async def cancel(self, run_id: str) -> RunRecord:
        """End a run, or one that waits; the run once it has cleaned up, or a short while later.

        One that has ended stays as it is.

        Raises:
            InputError: If there is no such run.
        """
        while run_id in self.reserved:  # it has no job yet that could be taken away
            await self._expected(run_id).wait()
        record = None if run_id in self._going else await self.known(run_id)
        if drive := self._going.get(run_id):  # it may have begun while its record was read
            drive.live.stop("cancelled")
            await _ended([drive], STOPPING)
            return await self.known(run_id)
        if record and record.status not in ENDED:
            if await self._jobs.cancel(run_id):  # nobody works on it: it is ended here
                await self._carry(_job(record, cancelled=True))
        elif record and record.status in ("waiting", "interrupted"):  # it goes on only to be ended here
            try:
                await self._carry(_job(await self.waiting(record), cancelled=True))
            except AttemptLost:  # somebody else was faster
                return await self.cancel(run_id)
        return await self.until_ended(run_id, STOPPING)

    def cancel_soon(self, run_id: str) -> None:
        """End a run for somebody who leaves, and cannot wait for that."""
        self._kept(self.cancel(run_id), f"cancelling run {run_id}")

    async def delete(self, run_id: str) -> None:
        """Forget a run with its events and checkpoints.

        Raises:
            InputError: If there is no such run, or it goes on.
        """
        if (await self.known(run_id)).status not in ENDED:
            raise InputError(f"run {run_id!r} goes on: cancel it first")
        deleted = await self.store.aside(self.store.delete, run_id, self.saver.delete_thread)
        if not deleted and await self.known(run_id):
            raise InputError(f"run {run_id!r} goes on again: cancel it first")

    # Inside

    @contextmanager
    def _reserved_for(self, run_id: str) -> Generator[None]:
        """Keep everybody else off a run that is about to be begun or resumed."""
        if refusal := self.refusal:
            raise Busy(refusal)
        if run_id in self.reserved:
            raise InputError(f"run {run_id!r} goes on already")
        self.reserved.add(run_id)
        try:
            yield
        except AttemptLost as error:  # another server was faster: who is told to ask again may answer what comes next
            raise InputError(f"run {run_id!r} goes on already") from error
        finally:
            self.reserved.discard(run_id)
            self.changed(run_id)

    async def _submitted(self, record: RunRecord, **more: Any) -> RunRecord:
        await self._jobs.submit(_job(record, **more))
        return record

    # Working

    async def _work(self) -> None:
        while True:
            try:
                job = await self._jobs.claim()
            except Exception:
                logger.exception("no run could be claimed; it is tried again")
                await asyncio.sleep(1)
                continue
            self._kept(self._carry(job), f"job of run {job.run_id}")

    def _kept(self, what: Coroutine[Any, Any, object], name: str) -> None:
        task = asyncio.create_task(what, name=name)
        self._carried.add(task)
        task.add_done_callback(self._carried.discard)

    async def _carry(self, job: Job) -> None:
        """See one job to its end, or give it back."""
        try:
            await self._carry_on(job)
        except AttemptLost as error:
            logger.warning("%s", error)
            await self._jobs.drop(job)
        except Exception as error:
            logger.warning("run %s waits once more: %s", job.run_id, error)
            await asyncio.sleep(1)
            await self._jobs.give_back(job)
        finally:
            self._cancelled.discard(job.run_id)

    async def _carry_on(self, job: Job) -> None:
        record = await self.store.aside(self.store.get, job.run_id)
        if record is None or record.status in ENDED:
            return await self._jobs.finish(job)
        if record.status == "running":
            record = await self.taken_over(record)
            logger.warning("run %s goes on here: it was cut off where it ran", record.id)
            if record.lost == SUSPECT:
                return await self._jobs.give_back(job, alone=True)
        try:
            drive = await self.resumed(record, job)
        except Exception as error:
            if isinstance(error, AttemptLost) or (isinstance(error, BackendError) and error.transient):
                raise
            return await self._cannot_go_on(job, record, error)
        if record.lost >= MOST_LOST:
            drive.refused = RunGivenUp(
                f"the process in which it ran ended {record.lost} times in a row before it came any further, or could "
                "keep nothing of it, so it is given up: it may be what causes that; resume it to try again"
            )
        live = await self._driven(drive, cancelled=job.cancelled)
        if isinstance(live.broken, AttemptLost):
            await self._jobs.drop(job)
        elif live.broken or live.record.status == "queued":
            if live.stopping == "cancelled":  # which could not be kept
                await self._jobs.cancel(job.run_id)
            await self._jobs.give_back(job)
        else:
            await self._jobs.finish(job)

    async def _driven(self, drive: Drive, *, cancelled: bool) -> LiveRun:
        """Drive a run to its end."""
        live = drive.live
        self._going[live.id] = drive
        live.on_news = partial(self._heard_of, drive)
        live.task = asyncio.create_task(drive.go(), name=f"run {live.id}", context=drive.settings)
        if cancelled or live.id in self._cancelled:
            live.stop("cancelled")
        elif self._stopping:  # the server began to stop while this was made ready
            live.stop("shutdown")
        live.task.add_done_callback(lambda _: self._leave(drive))  # also where nobody waits any more
        await asyncio.wait({live.task})
        if not live.task.cancelled() and (error := live.task.exception()):
            logger.error("run %s could not be brought to its end", live.id, exc_info=error)
        return live

    async def _cannot_go_on(self, job: Job, record: RunRecord, error: Exception) -> None:
        foreseen = isinstance(error, LoopwrightError)
        logger.warning("run %s does not go on: %s", record.id, error, exc_info=None if foreseen else error)
        graph = error.__cause__.written if isinstance(error.__cause__, GraphChanged) else None
        told = {"error": str(error), "error_type": type(error).__name__}
        cancelled = job.cancelled or job.run_id in self._cancelled
        waits = graph and self.shared and not cancelled
        told |= {"ended_at": datetime.now(UTC)} if cancelled else {}
        status = "cancelled" if cancelled else "queued" if waits else "interrupted"
        await self.writer.write(record.model_copy(update={**told, "status": status}))
        self.changed(record.id)
        if waits:
            return await self._jobs.give_back(job, graph=graph)
        await self._jobs.finish(job)

    def _told_to_cancel(self, run_id: str) -> None:
        if drive := self._going.get(run_id):
            drive.live.stop("cancelled")
        else:
            self._cancelled.add(run_id)

    async def _adopt_orphans(self) -> None:
        """Submit what is to go on and has no job: its server died in between, or the jobs were lost."""
        before: set[str] = set()
        while True:
            try:
                known = {*await self._jobs.list()}
                orphans = {*await self.store.aside(self.store.going_on)} - known - self.reserved
                for run_id in before & orphans:
                    logger.warning("run %s had no job, and is given one", run_id)
                    try:
                        record = await self.store.aside(self.store.get, run_id)
                        if record and record.status not in ENDED:
                            await self._jobs.submit(_job(record))
                    except Exception as error:  # the others are not to wait for one that cannot be a job
                        logger.warning("run %s can be given none: %s", run_id, error)
                before = orphans
            except Exception as error:
                logger.warning("runs without a job are not looked for now: %s", error)
            await asyncio.sleep(ORPHANED)

    def _heard_of(self, drive: Drive) -> None:
        if drive.live.ended:
            self._leave(drive)
        self.changed(drive.live.id)

    def _leave(self, drive: Drive) -> None:
        # One that ended as it should has left already, and may be going on again.
        if self._going.get(drive.live.id) is drive:
            del self._going[drive.live.id]


def _require_fitting(record: RunRecord, answer: Any) -> None:
    """Refuse an answer to a question that is not asked, and one that does not say to which of several it is."""
    asked = {each.id for each in record.asked}
    # LangGraph takes such a mapping, and no other, for answers to the questions that it names.
    named = cast("dict[str, Any]", answer) if isinstance(answer, dict) and all(map(QUESTION.fullmatch, answer)) else {}
    if unknown := [*named.keys() - asked]:
        raise InputError(f"run {record.id!r} asks no question {unknown[0]!r} now: look at what it asks")
    if answer is not None and not asked and record.error_type != PAUSED:
        raise InputError(f"run {record.id!r} waits for no answer; forked at its last checkpoint, it asks again")
    if len(asked) > 1 and answer is not None and not named:
        raise InputError(f"run {record.id!r} asks {len(asked)} questions: answer with a mapping of their ids to values")


def _job(record: RunRecord, **more: Any) -> Job:
    return Job(run_id=record.id, workflow=record.workflow, priority=record.priority, **more)


async def _ended(drives: Sequence[Drive], patience: float) -> None:
    tasks = {drive.live.task for drive in drives if drive.live.task and not drive.live.task.done()}
    if tasks:
        await asyncio.wait(tasks, timeout=patience)
