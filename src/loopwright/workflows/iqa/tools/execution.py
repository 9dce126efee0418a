"""Running quality tools on one image, so that one that fails or hangs spoils nothing.

One tool runs after another, each in a thread of its own with a deadline of its own: they take milliseconds, and two at
once gained five of them. What a thread cannot do is stop a tool that has passed its deadline: the run is given up and
reported at once, but its thread goes on in the background until the tool returns. Where Python ends meanwhile, the
thread is waited for a while, since it would abort inside the C++ of OpenCV or PyTorch; after that, nothing keeps the
interpreter alive.
"""

import atexit
import math
import threading
import time
from collections import deque
from collections.abc import Sequence

from loopwright.errors import LoopwrightError
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import GLOBAL, ReferenceMode, ToolLog
from loopwright.workflows.iqa.sources.images import LoadedImage
from loopwright.workflows.iqa.tools.registry import Tool, all_tools, calibrations

EXIT_S = 120.0
"""The most seconds that the end of the interpreter waits for tools that were given up."""

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
    timeout_s: float = 30.0,
) -> list[ToolLog]:
    """Run tools on an image, one after another; one that fails is replaced by one that has not been tried.

    Args:
        tools: What to run; a tool that is named twice runs once.
        image: The image or region in question.
        reference: The same part of the pristine image, of the same size, or None.
        region: The scope's name, for the logs.
        timeout_s: Seconds for each run, counted from its own start.

    Returns:
        One log per run: the tools in the given order, then the stand-ins with `fallback_for` set. A run that failed or
        took too long has `error` and no score; nothing is raised on account of a tool. A missing reference
        is an error of each tool that needs it and calls for no stand-in.
    """
    named = {tool.name: tool for tool in reversed(tools)}
    waiting: deque[tuple[Tool, str | None]] = deque((named[name], None) for name in reversed(named))
    tried = {*named}
    pair = Pair(image.rgb, reference.rgb) if reference else None
    logs: list[ToolLog] = []
    while waiting:
        tool, stands_in_for = waiting.popleft()
        began = time.perf_counter()
        outcome = _measured(tool, image, pair, timeout_s)
        log = ToolLog(tool=tool.name, region=region, seconds=time.perf_counter() - began, fallback_for=stands_in_for)
        logs.append(_told(log, outcome))
        if logs[-1].error is None or (tool.reference is ReferenceMode.FULL and pair is None):
            continue
        other = next(
            (each for each in all_tools() if each.reference is tool.reference and each.name not in tried), None
        )
        if other is not None:
            tried.add(other.name)
            waiting.append((other, stands_in_for or tool.name))
    return logs


def _measured(tool: Tool, image: LoadedImage, pair: Pair | None, timeout_s: float) -> float | Exception:
    """The tool's value, or why there is none; a run that is late is left behind."""
    done: list[float | Exception] = []

    def work() -> None:
        try:
            done.append(float(tool.measure(image, pair)))
        except Exception as error:
            done.append(error)

    thread = threading.Thread(target=work, name=f"iqa-tool-{tool.name}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        _late[:] = [each for each in (*_late, thread) if each.is_alive()]
        return TimeoutError(f"no result within {timeout_s:g} s")
    return done[0]


def _told(log: ToolLog, outcome: float | Exception) -> ToolLog:
    if isinstance(outcome, Exception):
        return log.model_copy(update={"error": _reason(outcome)})
    try:
        score = calibrations()[log.tool].score(outcome)
    except LoopwrightError as error:
        return log.model_copy(update={"error": str(error)})
    # JSON has no infinity; the score holds what an infinite value says.
    return log.model_copy(update={"raw": outcome if math.isfinite(outcome) else None, "score": score})


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:300]
    if isinstance(error, (LoopwrightError, TimeoutError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
