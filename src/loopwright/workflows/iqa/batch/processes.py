"""Work over processes with one thread of arithmetic each, in which the death of one costs one job at most.

The standard library's pool gives up as a whole when a process dies, and does not say over which job. Here each worker
has a pipe of its own and works through its jobs in order: whatever it was at when it died is known, is done once more,
and is lost only if that ends its worker too.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Self, TypeVar

import cv2

from loopwright.errors import BackendError

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Read by the arithmetic libraries when they are loaded."""

_AHEAD = 2
"""Jobs that a worker holds: one that it works on and one that it need not wait for."""

_FALSE_STARTS = 3
"""Workers that may end before they are ready, once one was; it may be memory that is short for a moment."""

_FAILURES_KEPT = 5

_LOOK_S = 0.2
"""Seconds until it is looked again whether to stop."""

J = TypeVar("J")
R = TypeVar("R")


@dataclass
class Progress:
    """How far many runs have come."""

    total: int
    """Samples in all."""
    unchanged: int = 0
    """Of them, those that were finished before."""
    assessed: int = 0
    """Runs that ended, failed ones too."""
    failed: int = 0
    """Of these runs, those with an error."""
    failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Sample and error of the first of them."""
    seconds: float = 0.0
    """Wall time since the workers were started."""
    _began: float = field(default_factory=time.monotonic, repr=False)

    def count(self, sample: str, error: str | None) -> None:
        """Count a run that ended."""
        self.seconds = time.monotonic() - self._began
        self.assessed += 1
        self.failed += error is not None
        if error is not None and len(self.failures) < _FAILURES_KEPT:
            self.failures.append((sample, error))

    @property
    def done(self) -> int:
        """Samples that need no more work now."""
        return self.unchanged + self.assessed

    @property
    def interrupted(self) -> bool:
        """Whether some are left, of a batch that has ended: Ctrl-C ended it."""
        return self.done < self.total

    @property
    def rate(self) -> float:
        """Runs per second; 0 before one ends."""
        return self.assessed / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest takes; None before the first run ends."""
        return (self.total - self.done) / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class Died:
    """In place of what came of a job over which its worker died, twice."""

    said: str
    """How it died, in a sentence."""


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_processes(
    make: Callable[..., Callable[[J], R]],
    given: tuple[Any, ...],
    jobs: Iterable[J],
    workers: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[J, R | Died]]:
    """Do jobs over processes, and yield what came of each as it comes, in no order.

    Args:
        make: Makes, once in each process, what does a job; must be found by its name in a new interpreter. What it
            raises over a job ends the process.
        given: What `make` is given.
        jobs: Taken as workers get free, so that no more than two for each worker wait.
        workers: Processes.
        stopped: Whether to send no further job; what is in flight is finished.

    Raises:
        BackendError: If a worker ends before it is ready and none ever was, or too many do.

    Whatever is raised meanwhile, Ctrl-C too, ends the processes where they are.
    """
    with Crew[J](make, given, workers) as crew:
        yield from crew.work(jobs, stopped)


@dataclass(frozen=True, slots=True)
class _Task(Generic[J]):
    job: J
    again: bool = False


class _Worker(Generic[J]):
    """A process, the pipe to it, and what it was sent and has not answered."""

    def __init__(self, make: Callable[..., Any], given: tuple[Any, ...]) -> None:
        self.ready = False
        self.tasks: deque[_Task[J]] = deque()
        # A new interpreter: a fork would copy locks that threads of this one hold.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, given), daemon=True)
        with _one_thread_each(), _ctrl_c_held_back():
            self._process.start()
        # Only the worker holds its end now, so that each side notices when the other is gone.
        theirs.close()

    def send(self, task: _Task[J]) -> None:
        self.tasks.append(task)
        # The pipe of a dead worker says so when it is read.
        with contextlib.suppress(OSError):
            self.connection.send((task.job,))

    def ending(self) -> str:
        self.join()
        code = self._process.exitcode or 0
        if code >= 0:
            return f"ended with exit code {code}"
        name = signal.Signals(-code).name
        memory = " (perhaps because memory ran out: try fewer --workers)" if name == "SIGKILL" else ""
        return f"was ended by {name}{memory}"

    def end(self, *, at_once: bool) -> None:
        if at_once:
            self._process.kill()
        else:
            with contextlib.suppress(OSError):
                self.connection.send(None)

    def join(self) -> None:
        self._process.join(5)
        # A worker whose tool hangs in a thread does not end by itself.
        self._process.kill()
        self._process.join()
        self.connection.close()


class Crew(Generic[J]):
    """Workers, and the jobs over which one died."""

    def __init__(self, make: Callable[..., Any], given: tuple[Any, ...], workers: int) -> None:
        self._workers: list[_Worker[J]] = []
        self._given = (make, given)
        self._again: deque[_Task[J]] = deque()
        self._begun = self._finished = False
        self._false_starts = 0
        for _ in range(workers):
            self._workers.append(_Worker(*self._given))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        # A second Ctrl-C in here would leave processes behind.
        with _ctrl_c_held_back():
            for worker in self._workers:
                worker.end(at_once=not self._finished or not worker.ready)
            for worker in self._workers:
                worker.join()

    def work(self, jobs: Iterable[J], stopped: Callable[[], bool] = lambda: False) -> Iterator[tuple[J, Any | Died]]:
        """Do jobs, as `over_processes`; the workers stay for the next ones."""
        self._finished = False
        waiting = (_Task(job) for job in jobs)
        while busy := self._feed(waiting, stopped):
            heard = wait([worker.connection for worker in busy], _LOOK_S)
            for worker in [worker for worker in busy if worker.connection in heard]:
                yield from self._hear(worker)
        self._finished = True

    def _feed(self, waiting: Iterator[_Task[J]], stopped: Callable[[], bool]) -> list[_Worker[J]]:
        """Send jobs to who has few; the workers that are to be heard of."""
        for worker in self._workers:
            while worker.ready and len(worker.tasks) < _AHEAD and not stopped():
                # What may end its worker again comes last, when as little as possible goes on beside it.
                task = next(waiting, None) or (self._again.popleft() if self._again else None)
                if task is None:
                    break
                worker.send(task)
        return [worker for worker in self._workers if worker.tasks or not (worker.ready or stopped())]

    def _hear(self, worker: _Worker[J]) -> Iterator[tuple[J, Any]]:
        """What came of a job, if anything did."""
        try:
            result = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._replace(worker)
            return
        if worker.ready:
            yield worker.tasks.popleft().job, result
        worker.ready = self._begun = True

    def _replace(self, worker: _Worker[J]) -> Iterator[tuple[J, Died]]:
        self._workers.remove(worker)
        how = worker.ending()
        if not worker.tasks:
            self._false_starts += 1
            if self._false_starts > _FALSE_STARTS or not self._begun:
                raise BackendError(
                    f"a worker process {how} before it began; run one image with `iqa assess` to see why, and in a "
                    "script, call this below `if __name__ == '__main__':`"
                )
        self._workers.append(_Worker(*self._given))
        if not worker.tasks:
            return
        culprit = worker.tasks.popleft()
        self._again.extend(worker.tasks)
        if culprit.again:
            yield culprit.job, Died(f"the worker process {how} over this image, twice")
        else:
            self._again.append(_Task(culprit.job, again=True))


def _serve(connection: Connection, make: Callable[..., Callable[[Any], Any]], given: tuple[Any, ...]) -> None:
    """The worker: does what it is sent until None comes or the parent is gone; the first None says that it is ready."""
    # Ctrl-C goes to the whole group; the parent alone decides what becomes of what is in flight.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    # What there is to say of an image comes back with it; a million lines on standard error help nobody.
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    warnings.filterwarnings("ignore", module="PIL")
    do = make(*given)
    try:
        connection.send(None)
        while (sent := connection.recv()) is not None:
            connection.send(do(*sent))
    except (EOFError, ConnectionError):
        return


@contextmanager
def _one_thread_each() -> Generator[None, None, None]:
    """Set what processes that start meanwhile take over: one thread of arithmetic."""
    before = {name: os.environ[name] for name in _ONE_THREAD if name in os.environ}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name in _ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _ctrl_c_held_back() -> Generator[None, None, None]:
    """Hold SIGINT back, here and in processes that start meanwhile; one that comes reaches this process afterwards."""
    if sys.platform == "win32":
        yield
        return
    # The tracker starts with the first process, and would let the signal through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
