"""A pool of worker processes in which the death of one costs one row.

The standard library's pool gives up as a whole when a process dies, and does not say over which job. Here each worker
has a pipe of its own and works through its jobs in order: whatever it was at when it died is known, becomes an error of
that sample, and a new process takes its place.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Self, cast

from loopwright.errors import BackendError
from loopwright.workflows.iqa.batch.processes import as_workers_inherit
from loopwright.workflows.iqa.batch.records import Record
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.batch.worker import work
from loopwright.workflows.iqa.config import IQAConfig

_AHEAD = 2
"""Jobs that a worker holds: one that it works on and one that it need not wait for."""

_FALSE_STARTS = 3
"""Workers that may end before they are ready, once one was; it may be memory that is short for a moment."""

_LOOK_S = 0.2
"""Seconds until it is looked again whether to stop."""


@dataclass(frozen=True, slots=True)
class Job:
    """One sample to assess."""

    sample: Sample
    """The sample."""
    finished: str | None = None
    """The key of its finished row, if there is one whose files may have changed since."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a job."""

    job: Job
    """The job."""
    record: Record | None
    """The run; None if it is the finished row, or the worker died."""
    died: str | None = None
    """How the worker died over it, or None."""


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False
    jobs: deque[Job] = field(default_factory=deque[Job])


class Pool:
    """Worker processes: entering its context starts them, leaving it ends them."""

    def __init__(self, count: int, root: Path, config: IQAConfig) -> None:
        """Prepare.

        Args:
            count: How many.
            root: What the samples' paths are relative to.
            config: The configuration.
        """
        self._given = (root, config)
        self._stopping = False
        self._begun = False
        self._false_starts = 0
        self._count = count
        self._workers: list[_Worker] = []

    def stop(self) -> None:
        """Send no further job; what is in flight is finished."""
        self._stopping = True

    def __enter__(self) -> Self:
        for _ in range(self._count):
            self._workers.append(self._start())
        return self

    def __exit__(self, *problem: object) -> None:
        for worker in self._workers:
            if problem[0] is not None or worker.jobs or not worker.ready:
                worker.process.kill()
            else:
                with contextlib.suppress(OSError):
                    worker.connection.send(None)
        for worker in self._workers:
            worker.process.join(5)
            # A worker whose tool hangs in a thread does not end by itself.
            worker.process.kill()
            worker.process.join()
            worker.connection.close()

    def run(self, jobs: Iterable[Job]) -> Iterator[Reply]:
        """Run jobs, and yield what came of each as it comes, in no order.

        Args:
            jobs: Taken as workers get free, so that no more than two for each worker wait.

        Raises:
            BackendError: If a worker ends before it is ready and none ever was, or too many do.
        """
        waiting = iter(jobs)
        again: deque[Job] = deque()
        while True:
            for worker in self._workers:
                while worker.ready and not self._stopping and len(worker.jobs) < _AHEAD:
                    job = again.popleft() if again else next(waiting, None)
                    if job is None:
                        break
                    worker.jobs.append(job)
                    # The pipe of a dead worker says so when it is read.
                    with contextlib.suppress(OSError):
                        worker.connection.send((job.sample, job.finished))
            busy = [worker for worker in self._workers if worker.jobs or not (worker.ready or self._stopping)]
            if not busy:
                return
            heard = wait([worker.connection for worker in busy], _LOOK_S)
            for worker in [worker for worker in busy if worker.connection in heard]:
                reply = self._receive(worker, again)
                if reply is not None:
                    yield reply

    def _receive(self, worker: _Worker, again: deque[Job]) -> Reply | None:
        try:
            record = cast("Record | None", worker.connection.recv())
        except (EOFError, OSError):
            return self._replace(worker, again)
        if not worker.ready:
            worker.ready = self._begun = True
            return None
        return Reply(worker.jobs.popleft(), record)

    def _replace(self, worker: _Worker, again: deque[Job]) -> Reply | None:
        worker.process.join()
        how = _ending(worker.process.exitcode or 0)
        culprit = worker.jobs.popleft() if worker.jobs else None
        if culprit is None:
            self._false_starts += 1
            if self._false_starts > _FALSE_STARTS or not self._begun:
                raise BackendError(
                    f"a worker process {how} before it began; run one image with `iqa assess` to see why"
                )
        again.extend(worker.jobs)
        worker.connection.close()
        self._workers[self._workers.index(worker)] = self._start()
        if culprit is None:
            return None
        return Reply(culprit, None, died=f"the worker process {how} over this image")

    def _start(self) -> _Worker:
        # A new interpreter: a fork would copy locks that threads of this one hold.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, *self._given), daemon=True)
        with as_workers_inherit():
            process.start()
        # Only the worker holds its end now, so that each side notices when the other is gone.
        theirs.close()
        return _Worker(process, ours)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    memory = ", perhaps because memory ran out: try fewer --workers" if name == "SIGKILL" else ""
    return f"was ended by {name}{memory}"
