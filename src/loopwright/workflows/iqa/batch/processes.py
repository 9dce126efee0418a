"""Work over processes with one thread of arithmetic each, in which the death of one costs one job."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
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
def one_thread_each() -> Generator[None, None, None]:
    """Let processes that start meanwhile take over one thread of arithmetic."""
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

    Where a process dies, the jobs in flight are done again, each in a process of its own, so that only the one at fault
    is lost.

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
    """
    waiting = deque(jobs)
    while waiting:
        lost = yield from _drain(work, waiting, workers, begin, given)
        for job in lost:
            with _pool(1, begin, given) as pool:
                try:
                    result = pool.submit(work, job).result()
                except BrokenProcessPool:
                    result = None
            yield job, result


def _drain(
    work: Callable[[J], R], waiting: deque[J], workers: int, begin: Callable[..., None], given: tuple[Any, ...]
) -> Generator[tuple[J, R], None, list[J]]:
    """Work through the jobs; where a process dies, end and return those that were in flight."""
    running: dict[Future[R], J] = {}
    with _pool(workers, begin, given) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < _AHEAD * workers:
                    running[pool.submit(work, waiting[0])] = waiting[0]
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
    with one_thread_each():
        pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=begin, initargs=given)
        try:
            try:
                pool.submit(os.getpid).result()
            except BrokenProcessPool as error:
                raise BackendError(
                    "a worker process ended before it began; in a script, call this below "
                    "`if __name__ == '__main__':`, or with one worker"
                ) from error
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
