"""All runs of a server: those that go on in this process, and those that are kept.

A run is an asyncio task on a checkpointer, with the run's id as its thread; it goes on by itself, whether or not
anybody follows it. What happens in it is kept before it is shown, see `loopwright.runs.live`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.engine import BoundedGraph
from loopwright.engine.budget.budget import PriceTable
from loopwright.errors import AttemptLost, BackendError, InputError, LoopwrightError
from loopwright.runs import forking, preparing
from loopwright.runs.driving import Drive
from loopwright.runs.launching import Launcher
from loopwright.runs.line import Line
from loopwright.runs.live import LiveRun
from loopwright.runs.reading import RunReader
from loopwright.runs.schemas import RESUMABLE, RunLimits, RunRecord
from loopwright.runs.store.protocol import RunStore
from loopwright.runs.writer import Writer
from loopwright.workflows.api import RunChanges, Workflow

logger = logging.getLogger(__name__)

UNCHANGED = RunChanges()
"""A run as its workflow is configured."""

STOPPING = 5.0
"""Seconds that a cancelled run has to clean up before whoever cancelled it goes on without it."""

_BROKEN = 100
"""Runs that could not be kept to their end and whose followers are still told so."""


class RunHub(RunReader):
    """Starts, resumes, forks, cancels and follows runs. Belongs to one event loop.

    Attributes:
        workflows: The workflows by name.
        store: Where runs are kept.
        limits: How much they may hold.
    """

    def __init__(
        self,
        store: RunStore,
        workflows: Iterable[Workflow],
        saver: BaseCheckpointSaver[str] | None,
        limits: RunLimits | None = None,
        prices: PriceTable | None = None,
        uploads: Mapping[str, Path] | None = None,
    ) -> None:
        """Prepare; nothing is read before `open`.

        Args:
            store: Where runs are kept.
            workflows: The workflows.
            saver: Where their states are kept; without one, runs can be neither resumed nor forked.
            limits: How much runs may hold.
            prices: What models cost; None leaves the cost unknown.
            uploads: Id of an uploaded file -> where it lies, for runs that go on or are forked.
        """
        super().__init__(store)
        self.limits = limits or RunLimits()
        self._writer = Writer(store)
        self._line = Line(self.limits.running)
        self._launcher = Launcher(
            store, workflows, saver, self.limits, prices, {} if uploads is None else uploads, self._writer, self._line
        )
        self.workflows = self._launcher.workflows
        self._saver = saver
        self._closed = False

    # The server's life

    async def open(self) -> None:
        """Mark the runs of a process that is gone, apply what people chose, and go on with what waited or was cut off.

        Raises:
            StoreError: If the store cannot be read, or another server has it.
        """
        await asyncio.to_thread(self.store.claim)
        lost = await asyncio.to_thread(self.store.interrupt_running)
        if lost:
            logger.warning("%d run(s) of a process that is gone are marked as interrupted", len(lost))
        for hosted in self.workflows.values():
            await asyncio.to_thread(preparing.assign_models, self.store, hosted)
        for record in await asyncio.to_thread(preparing.shut_down, self.store):
            try:
                with self._reserved_for(record.id):
                    self._go(await self._launcher.resumed(record, None, False))
            except LoopwrightError as error:
                logger.warning("run %s does not go on: %s", record.id, error)
                if record.status == "queued":
                    update = {"status": "interrupted", "error": str(error), "error_type": type(error).__name__}
                    await self._writer.write(record.model_copy(update=update))

    async def close(self, grace: float = 5.0) -> None:
        """Start no further run, let those that go on end with the superstep that is under way, and cancel the rest.

        Args:
            grace: Seconds for them to end by themselves.
        """
        self._closed = True
        drives = [*self._going.values()]
        for drive in drives:
            if self._line.status(drive.live.id) == "queued":
                drive.live.stop("shutdown")
            else:
                drive.control.request_drain("the server stops")
        await _ended(drives, grace)
        for drive in drives:
            drive.live.stop("shutdown")
        await _ended(drives, STOPPING)
        await self._writer.aclose()

    @property
    def refusal(self) -> str | None:
        """Why no further run can be taken now, or None."""
        if self._closed:
            return "the server is stopping: ask again when it is back"
        if len(self._line) >= self.limits.queued:
            return f"{self.limits.queued} runs wait their turn, which is the limit: ask again in a moment"
        return None

    def is_made_ready(self, run_id: str) -> bool:
        """Whether a run with this id was asked for, and is not kept yet."""
        return run_id in self._reserved

    # Runs

    async def start(
        self,
        workflow: str,
        given: Mapping[str, Any],
        *,
        changes: RunChanges = UNCHANGED,
        uploads: Mapping[str, Path] = {},
        run_id: str | None = None,
        request: str | None = None,
    ) -> LiveRun:
        """Start a run, or let it wait its turn.

        Args:
            workflow: Which workflow.
            given: Its input.
            changes: What it does otherwise than configured.
            uploads: Id of an uploaded file -> where it lies.
            run_id: Names it; None makes a new name.
            request: A digest of what was asked for, to be kept with it.

        Raises:
            InputError: If the input or a change is unusable, or there is a run with this id.
            BackendError: If no further run can be taken now; see `refusal`.
        """
        run_id = run_id or uuid.uuid4().hex
        with self._reserved_for(run_id):
            return self._go(await self._launcher.new(workflow, given, changes, uploads, run_id, request))

    async def resume(self, run_id: str, *, answer: Any = None, force: bool = False) -> LiveRun:
        """Go on with a run from its last checkpoint: finished nodes do not run again.

        Args:
            run_id: The run.
            answer: What a run that waits is answered.
            force: Go on also if a graph of another structure began it.

        Raises:
            InputError: If there is no such run, or it cannot go on; the message says why.
            BackendError: If no further run can be taken now; see `refusal`.
        """
        with self._reserved_for(run_id):
            record = await self._known(run_id)
            if record.status not in RESUMABLE:
                can = ", ".join(sorted(RESUMABLE))
                raise InputError(f"run {run_id!r} is {record.status}; what can be resumed is {can}")
            if record.status == "waiting" and answer is None:
                raise InputError(f"run {run_id!r} waits for an answer: give one")
            return self._go(await self._launcher.resumed(record, answer, force))

    async def fork(
        self,
        run_id: str,
        checkpoint_id: str,
        *,
        state: Mapping[str, Any] | None = None,
        changes: RunChanges = UNCHANGED,
    ) -> LiveRun:
        """Let a new run begin at a checkpoint of another one, which stays as it is.

        Args:
            run_id: The other run; it may go on.
            checkpoint_id: One of its checkpoints.
            state: Key of the state -> its new value in plain JSON.
            changes: What the new run does otherwise than the other one.

        Raises:
            InputError: If there is no such run or checkpoint, or a value does not fit the state.
            BackendError: If no further run can be taken now; see `refusal`.
        """
        record = await self._known(run_id)
        return await self._branch(partial(forking.forked, self._launcher, record, checkpoint_id, state or {}, changes))

    async def continued(self, run_id: str, given: Mapping[str, Any], *, turn: str) -> LiveRun:
        """Let a new run take up the state that another one ended with, and give it new input: the next turn.

        Args:
            run_id: The other run, which stays as it is.
            given: The input.
            turn: Names the new run.

        Raises:
            InputError: If there is no such run, its state is not kept, or the input is unusable.
            BackendError: If no further run can be taken now; see `refusal`.
        """
        record = await self._known(run_id)
        with self._reserved_for(turn):
            return self._go(await forking.continued(self._launcher, record, given, turn))

    def graph(self, workflow: str) -> BoundedGraph:
        """A workflow's graph as its runs have it, with what keeps their states.

        Raises:
            UnknownNameError: If there is no such workflow.
        """
        return self._launcher.hosted(workflow).graph(self._saver)

    async def counterfactual(self, run_id: str, loop: str) -> LiveRun:
        """Let a new run begin where a loop granted its first pass, and go on as if that loop's limit were 0.

        Args:
            run_id: The other run, which stays as it is.
            loop: The loop.

        Raises:
            InputError: If there is no such run or loop, or the loop never was granted a pass.
            BackendError: If no further run can be taken now; see `refusal`.
        """
        record = await self._known(run_id)
        return await self._branch(partial(forking.without_loop, self._launcher, record, loop))

    async def cancel(self, run_id: str) -> RunRecord:
        """End a run, and wait a short while until it has cleaned up; one that has ended stays as it is.

        Returns:
            The run as it is then.

        Raises:
            InputError: If there is no such run.
        """
        if drive := self._going.get(run_id):
            drive.live.stop("cancelled")
            await _ended([drive], STOPPING)
        return await self._known(run_id)

    async def delete(self, run_id: str) -> None:
        """Forget a run with its events and checkpoints.

        Raises:
            InputError: If there is no such run, or it goes on.
        """
        if run_id in self._going or run_id in self._reserved:
            raise InputError(f"run {run_id!r} goes on: cancel it first")
        if not await asyncio.to_thread(self.store.delete, run_id) and run_id not in self._broken:
            raise InputError(f"there is no run {run_id!r}")
        self._broken.pop(run_id, None)
        if self._saver:
            await self._saver.adelete_thread(run_id)

    # Inside

    @contextmanager
    def _reserved_for(self, run_id: str) -> Generator[None]:
        """Keep a place for a run that is about to go on, and everybody else off it."""
        if refusal := self.refusal:
            raise BackendError(refusal, transient=True)
        if run_id in self._going or run_id in self._reserved:
            raise InputError(f"run {run_id!r} goes on already")
        self._reserved.add(run_id)
        self._line.join(run_id)
        try:
            yield
        finally:
            self._reserved.discard(run_id)
            if run_id not in self._going:
                self._line.leave(run_id)

    async def _branch(self, make: Callable[[str], Awaitable[Drive]]) -> LiveRun:
        run_id = uuid.uuid4().hex
        with self._reserved_for(run_id):
            return self._go(await make(run_id))

    def _go(self, drive: Drive) -> LiveRun:
        live = drive.live
        self._broken.pop(live.id, None)
        self._going[live.id] = drive
        # Its place is free before anybody sees its end: who then starts, resumes or deletes a run is not refused.
        live.on_end = partial(self._leave, drive)
        live.task = asyncio.create_task(drive.go(), name=f"run {live.id}")
        live.task.add_done_callback(lambda task: self._conclude(drive, task))
        if self._closed:  # the server began to stop while this was made ready
            live.stop("shutdown")
        return live

    def _leave(self, drive: Drive) -> None:
        # One that ended as it should has left already, and may be going on again.
        if self._going.get(drive.live.id) is drive:
            del self._going[drive.live.id]
            self._line.leave(drive.live.id)

    def _conclude(self, drive: Drive, task: asyncio.Task[None]) -> None:
        live = drive.live
        self._leave(drive)
        if not task.cancelled() and (error := task.exception()):
            logger.error("run %s could not be brought to its end", live.id, exc_info=error)
        if live.broken and not isinstance(live.broken, AttemptLost):
            self._broken[live.id] = live
            if len(self._broken) > _BROKEN:
                del self._broken[next(iter(self._broken))]


async def _ended(drives: Sequence[Drive], patience: float) -> None:
    tasks = {drive.live.task for drive in drives if drive.live.task and not drive.live.task.done()}
    if tasks:
        await asyncio.wait(tasks, timeout=patience)
