"""Work over processes with one thread of arithmetic each, in which the death of one costs one job."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, TypeVar

import cv2

from loopwright.errors import BackendError

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Read by the arithmetic libraries when they are loaded."""

_AHEAD = 2
"""Jobs in flight for each process: one that it works on and one that it need not wait for."""

J = TypeVar("J")
R = TypeVar("R")


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def as_workers_inherit() -> Generator[None, None, None]:
    """Set what processes that start meanwhile take over: one thread of arithmetic, and no Ctrl-C while they import."""
    with _one_thread_each(), _ctrl_c_held_back():
        yield


@contextmanager
def _one_thread_each() -> Generator[None, None, None]:
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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


def begin_quietly() -> None:
    """Make this process a worker: one thread of OpenCV, nothing on standard error, and Ctrl-C left to the parent."""
    # Ctrl-C goes to the whole group; the parent alone decides what becomes of what is in flight.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    # What there is to say of an image comes back with it; a million lines on standard error help nobody.
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    warnings.filterwarnings("ignore", module="PIL")


def over_processes(
    work: Callable[[J], R],
    jobs: Iterable[J],
    workers: int,
    begin: Callable[..., None] = begin_quietly,
    given: tuple[Any, ...] = (),
) -> Iterator[tuple[J, R | None]]:
    """Do jobs over processes, and yield what came of each, in no order.

    Where a process dies, the jobs in flight are done again one at a time, so that only the one at fault is lost.

    Args:
        work: Does one job; must be found by its name in a new interpreter.
        jobs: What to do.
        workers: Processes.
        begin: Makes a new process a worker; calls `begin_quietly`.
        given: What `begin` is given.

    Yields:
        Each job with its result, or with None if a process died over it.

    Raises:
        BackendError: If a process ends before it begins.

    Whatever is raised meanwhile, Ctrl-C too, ends the processes where they are.
    """
    waiting, suspects = deque(jobs), deque[J]()
    while waiting or suspects:
        if suspects:
            lost = yield from _drain(work, suspects, 1, 1, begin, given)
            yield from ((job, None) for job in lost)
        else:
            suspects += yield from _drain(work, waiting, workers, _AHEAD * workers, begin, given)


def _drain(
    work: Callable[[J], R],
    waiting: deque[J],
    workers: int,
    at_once: int,
    begin: Callable[..., None],
    given: tuple[Any, ...],
) -> Generator[tuple[J, R], None, list[J]]:
    """Work through the jobs, some in flight at once; where a process dies, end and return those that were in flight."""
    running: dict[Future[R], J] = {}
    with _pool(workers, begin, given) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < at_once:
                    running[_submit(pool, work, waiting[0])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield running.pop(future), result
            except BrokenProcessPool:
                return list(running.values())
    return []


@contextmanager
def _pool(
    workers: int, begin: Callable[..., None], given: tuple[Any, ...]
) -> Generator[ProcessPoolExecutor, None, None]:
    """A pool of new interpreters that have begun: a fork would copy locks that threads of this one hold."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=begin, initargs=given)
    try:
        try:
            # Something to do, so that a process starts.
            _submit(pool, bool, None).result()
        except BrokenProcessPool as error:
            raise BackendError(
                "a worker process ended before it began; in a script, call this below "
                "`if __name__ == '__main__':`, or with one worker"
            ) from error
        yield pool
    except BaseException:
        # Nobody waits for what is in flight: on Ctrl-C, that would take as long as the largest image. Python 3.14 has
        # kill_workers() for this.
        for process in (pool._processes or {}).values():  # pyright: ignore[reportPrivateUsage]
            process.kill()
        raise
    finally:
        # A second Ctrl-C in here would leave the pool's thread waiting for ever.
        with _ctrl_c_held_back():
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, work: Callable[[J], R], job: J) -> Future[R]:
    """Hand over a job, which starts a process if there are fewer than there may be."""
    with as_workers_inherit():
        return pool.submit(work, job)
