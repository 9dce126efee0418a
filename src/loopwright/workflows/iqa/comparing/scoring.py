"""Measuring many images by every tool, over processes; one that cannot be measured is told and spoils nothing."""

from __future__ import annotations

import functools
import hashlib
import logging
import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2

from loopwright.errors import BackendError, InputError
from loopwright.workflows.iqa.batch.pool import processors
from loopwright.workflows.iqa.comparing.results import Letter, Measured
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.calibration import calibrations, load_calibrations, using_calibrations
from loopwright.workflows.iqa.tools.execution import ResultCache, run_tools
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

_WORTH_A_PROCESS = 16
"""Images for each further process: starting one takes as long as measuring about so many small ones."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Read by the arithmetic libraries when they are loaded."""


@dataclass(frozen=True, slots=True)
class Job:
    """One image to measure."""

    side: Letter
    """The folder that it lies in, "A" or "B"."""
    folder: Path
    """That folder."""
    path: str
    """The image, relative to the folder."""
    references: Path | None
    """The folder of references."""
    reference: str | None
    """The reference, relative to its folder."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of a job."""

    job: Job
    """The job."""
    measured: Measured | None
    """The measurements; None if the image cannot be used."""
    why: str | None = None
    """Why it cannot be used."""


def calibrated(config: IQAConfig) -> AbstractContextManager[None]:
    """Score with the curves that a configuration names, until the block ends.

    Args:
        config: The configuration.

    Raises:
        ConfigError: If they cannot be read.
    """
    path = config.iqa.tools.calibration
    return using_calibrations({} if path is None else load_calibrations(path))


def tools_of(mode: ReferenceMode) -> list[Tool]:
    """The calibrated tools of a reference mode, the primary one first."""
    known = calibrations()
    tools = [tool for tool in all_tools() if tool.reference is mode and tool.name in known]
    return sorted(tools, key=lambda tool: not tool.primary)


def measure_image(
    image: LoadedImage, reference: LoadedImage | None, config: IQAConfig, *, path: str, reference_path: str | None
) -> Measured:
    """Measure one image by every tool of its reference mode.

    Args:
        image: The image.
        reference: Its reference, or None.
        config: Holds the tools' timeout. Its curves are not looked at; see `calibrated`.
        path: What the image is called.
        reference_path: What the reference is called.

    Returns:
        The measurements; a tool that fails is among `Measured.failed`.

    Raises:
        ImageError: If the two differ in size.
    """
    if reference is not None:
        check_pair(image, reference)
    tools = tools_of(ReferenceMode.NONE if reference is None else ReferenceMode.FULL)
    logs = run_tools(
        tools, image, reference, timeout_s=config.iqa.tools.timeout, workers=1, alternatives=(), cache=ResultCache(0)
    )
    return Measured(
        path=path,
        reference=reference_path,
        width=image.width,
        height=image.height,
        bytes=image.path.stat().st_size,
        raw={log.tool: log.raw for log in logs if log.raw is not None},
        scores={log.tool: log.score for log in logs if log.score is not None},
        failed={log.tool: log.error for log in logs if log.error is not None},
        notes=list(image.notes),
        pixels=hashlib.sha256(f"{image.width}x{image.height}".encode() + image.rgb.tobytes()).hexdigest(),
    )


def score_all(jobs: Iterable[Job], config: IQAConfig, workers: int | None = None) -> Iterator[Scored]:
    """Measure images over processes with one arithmetic thread each, and yield what came of each, in no order.

    Never more than two jobs for each process are in flight. Where a process dies, the jobs in flight are done again,
    each in a process of its own, so that only the one at fault is lost.

    Args:
        jobs: The images; those of one reference in a row save reading it again.
        config: The configuration.
        workers: Processes; 1 measures here; by default one for each processor, as far as the images are worth it.
    """
    waiting = deque(jobs)
    count = min(workers or processors(), len(waiting)) if workers else _worthwhile(len(waiting))
    if count <= 1:
        try:
            yield from (score(job, config) for job in waiting)
        finally:
            # The file may be another by the next call.
            _load_reference.cache_clear()
        return
    while waiting:
        lost = yield from _drain(waiting, config, count)
        for job in lost:
            yield _alone(job, config)


def _worthwhile(images: int) -> int:
    return min(processors(), max(1, images // _WORTH_A_PROCESS))


def score(job: Job, config: IQAConfig) -> Scored:
    """Measure one image of a folder.

    Args:
        job: The image.
        config: The configuration.

    Returns:
        The measurements, or why there are none.
    """
    try:
        max_pixels = config.iqa.tools.max_pixels
        reference = None
        if job.references is not None and job.reference is not None:
            reference = _load_reference(job.references / job.reference, max_pixels)
        image = load_image(job.folder / job.path, max_pixels=max_pixels)
        with calibrated(config):
            return Scored(job, measure_image(image, reference, config, path=job.path, reference_path=job.reference))
    except (InputError, OSError) as error:
        return Scored(job, None, " ".join(str(error).split()))


@functools.lru_cache(maxsize=1)
def _load_reference(path: Path, max_pixels: int) -> LoadedImage:
    return load_image(path, max_pixels=max_pixels)


def _drain(waiting: deque[Job], config: IQAConfig, workers: int) -> Generator[Scored, None, list[Job]]:
    """Work through the jobs; where a process dies, end and return those that were in flight."""
    running: dict[Future[Scored], Job] = {}
    with _pool(workers) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < 2 * workers:
                    running[pool.submit(score, waiting[0], config)] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    scored = future.result()
                    del running[future]
                    yield scored
            except BrokenProcessPool:
                return list(running.values())
    return []


def _alone(job: Job, config: IQAConfig) -> Scored:
    with _pool(1) as pool:
        try:
            return pool.submit(score, job, config).result()
        except BrokenProcessPool:
            return Scored(job, None, "the process that measured it died, perhaps because memory ran out")


@contextmanager
def _pool(workers: int) -> Generator[ProcessPoolExecutor, None, None]:
    """A pool of new interpreters that have begun: a fork would copy locks that threads of this one hold."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_begin)
    try:
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool as error:
            raise BackendError(
                "a worker process ended before it began; in a script, call this below `if __name__ == '__main__':`, "
                "or with one worker"
            ) from error
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin() -> None:
    # Ctrl-C goes to the whole group; the parent alone decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    # What there is to say of an image comes back with it.
    logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    warnings.filterwarnings("ignore", module="PIL")
