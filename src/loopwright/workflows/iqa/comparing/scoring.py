"""Measuring many images by every tool, over processes; one that cannot be measured is told and spoils nothing."""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.processes import Died, over_processes, processors
from loopwright.workflows.iqa.comparing.results import Letter, Measured
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair, load_image
from loopwright.workflows.iqa.tools.calibration import calibrations, load_calibrations, using_calibrations
from loopwright.workflows.iqa.tools.execution import ResultCache, run_tools
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

_WORTH_A_PROCESS = 16
"""Images for each further process: starting one takes as long as measuring about so many small ones."""


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

    See `over_processes` for what becomes of a process that dies.

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
    for job, scored in over_processes(_scorer, (config,), waiting, count):
        yield Scored(job, None, scored.said) if isinstance(scored, Died) else scored


def _scorer(config: IQAConfig) -> Callable[[Job], Scored]:
    return functools.partial(score, config=config)


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
