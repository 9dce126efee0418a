"""Running quality tools on one image, so that one that fails or hangs spoils nothing.

Each run has a thread of its own and a deadline of its own. A pool of processes would cost more to start (tenths of a
second) than these tools take for one image (milliseconds), and NumPy and OpenCV release the interpreter lock; processes
are for many images. What a thread cannot do is stop a tool that has passed its deadline: the run is given up and
reported at once, but its thread goes on in the background until the tool returns. Where Python ends meanwhile, the
thread is waited for a while, since it would abort inside the C++ of OpenCV or PyTorch; after that, nothing keeps the
interpreter alive.
"""

from __future__ import annotations

import atexit
import dataclasses
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence

from loopwright.errors import InputError, LoopwrightError
from loopwright.workflows.iqa.schemas import GLOBAL, ReferenceMode, ToolLog
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair
from loopwright.workflows.iqa.tools.calibration import calibrations, get_calibration
from loopwright.workflows.iqa.tools.full_reference import Pair
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

TIMEOUT_S = 30.0
"""Seconds that one run may take by default."""

EXIT_S = 120.0
"""The most seconds that the end of the interpreter waits for tools that were given up."""


@dataclasses.dataclass
class _Run:
    """One run of one tool that has been asked for."""

    tool: Tool
    stands_in_for: str | None
    started: float = 0.0
    thread: threading.Thread | None = None


_late: list[threading.Thread] = []
"""Threads of runs that were given up."""


@atexit.register
def _let_them_end() -> None:  # pyright: ignore[reportUnusedFunction]
    limit = time.monotonic() + EXIT_S
    for thread in _late:
        thread.join(max(0.0, limit - time.monotonic()))


def run_tools(
    tools: Sequence[Tool],
    image: LoadedImage,
    reference: LoadedImage | None,
    *,
    region: str = GLOBAL,
    timeout_s: float = TIMEOUT_S,
    workers: int = 2,
    alternatives: Iterable[Tool] | None = None,
) -> list[ToolLog]:
    """Run tools on an image; a tool that fails is replaced by one that has not been tried.

    Args:
        tools: What to run; a tool that is named twice runs once.
        image: The image or region in question.
        reference: The same part of the pristine image, or None.
        region: The scope's name, for the logs.
        timeout_s: Seconds for each run, counted from its own start.
        workers: How many tools run at the same time, at least 1.
        alternatives: The tools that may stand in for a failed one of the same reference mode; by default all.

    Returns:
        One log per run: the tools in the given order, then the stand-ins with `fallback_for` set. A run that failed or
        took too long has `error` and no score; a tool without a curve, a metric of pyiqa, has its raw value and no
        score, and that is no failure. Nothing is raised on account of a tool. A missing reference, or one of
        another size, is an error of each tool that needs it and calls for no stand-in.
    """
    spare = tuple(all_tools() if alternatives is None else alternatives)
    waiting = deque(_Run(tool, None) for tool in {tool.name: tool for tool in tools}.values())
    tried = {run.tool.name for run in waiting}
    order = [run.tool.name for run in waiting]
    logs: dict[str, ToolLog] = {}
    running: dict[str, _Run] = {}
    done: queue.SimpleQueue[tuple[str, float | Exception]] = queue.SimpleQueue()
    fits = reference is not None and reference.rgb.shape == image.rgb.shape
    pair = Pair(image.rgb, reference.rgb) if reference and fits else None

    def finish(run: _Run, outcome: float | Exception) -> None:
        log = _log(run, outcome, region)
        logs[run.tool.name] = log
        if log.error is None or _pair_problem(run.tool, image, reference):
            return
        for tool in spare:
            if tool.reference is run.tool.reference and tool.name not in tried:
                tried.add(tool.name)
                order.append(tool.name)
                waiting.append(_Run(tool, run.stands_in_for or run.tool.name))
                return

    while waiting or running:
        while len(running) < max(1, workers) and waiting:
            run = waiting.popleft()
            running[run.tool.name] = run
            _start(run, image, reference, pair, done)
        first_deadline = min(run.started for run in running.values()) + timeout_s
        try:
            name, outcome = done.get(timeout=max(0.0, first_deadline - time.perf_counter()))
        except queue.Empty:
            now = time.perf_counter()
            for late in [run for run in running.values() if now - run.started >= timeout_s]:
                del running[late.tool.name]
                _late[:] = [thread for thread in (*_late, late.thread) if thread is not None and thread.is_alive()]
                finish(late, TimeoutError(f"no result within {timeout_s:g} s"))
            continue
        if name in running:  # else it was given up before
            finish(running.pop(name), outcome)
    return [logs[name] for name in order]


def _start(
    run: _Run,
    image: LoadedImage,
    reference: LoadedImage | None,
    pair: Pair | None,
    done: queue.SimpleQueue[tuple[str, float | Exception]],
) -> None:
    tool = run.tool

    def work() -> None:
        try:
            problem = _pair_problem(tool, image, reference)
            if problem:
                raise problem
            done.put((tool.name, float(tool.measure(image, reference, pair))))
        except Exception as error:
            done.put((tool.name, error))

    run.started = time.perf_counter()
    run.thread = threading.Thread(target=work, name=f"iqa-tool-{tool.name}", daemon=True)
    run.thread.start()


def _pair_problem(tool: Tool, image: LoadedImage, reference: LoadedImage | None) -> InputError | None:
    """Why no tool that compares can run on these two, or None."""
    if tool.reference is ReferenceMode.NONE:
        return None
    if reference is None:
        return InputError(f"{tool.name} compares with a reference image, and there is none")
    try:
        check_pair(image, reference)
    except InputError as error:
        return error
    return None


def _log(run: _Run, outcome: float | Exception, region: str) -> ToolLog:
    """The log of a run that ended, one way or another."""
    log = ToolLog(
        tool=run.tool.name,
        region=region,
        seconds=time.perf_counter() - run.started,
        fallback_for=run.stands_in_for,
    )
    if isinstance(outcome, Exception):
        return log.model_copy(update={"error": _reason(outcome)})
    if run.tool.name not in calibrations():
        return log.model_copy(update={"raw": outcome})
    try:
        score = get_calibration(run.tool.name).score(outcome)
    except LoopwrightError as error:
        return log.model_copy(update={"error": str(error)})
    # JSON has no infinity; the score holds what an infinite value says.
    return log.model_copy(update={"raw": outcome if math.isfinite(outcome) else None, "score": score})


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:300]
    if isinstance(error, (LoopwrightError, TimeoutError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
