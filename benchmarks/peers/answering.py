"""How a worker answers the benchmark: one line in, one line out. Needs the standard library only.

``run`` is answered with two numbers, seconds of processor time and of wall time for one whole run; ``about`` with one
line of JSON. A worker is told on its command line how many passes its loop is bounded to.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

BEYOND = 10
"""A loop that nothing bounds is stopped by the worker after this many times the passes."""

RUNS: Counter[str] = Counter()
"""How often each node ran."""


class Enough(Exception):
    """The worker stops a loop that its framework would not."""


def answer(once: Callable[[], str], *, worst_case: str, without_bound: Callable[[int], Any] | None = None) -> None:
    """Answer the lines that come in, until there are none.

    Args:
        once: One run, to its bound; says in words how it ended.
        worst_case: What the framework knows before the run about the most that it can take.
        without_bound: One run whose only end is the worker's own, after so many runs of node ``b``; for frameworks
            that have no bound of their own.
    """
    # What a framework prints must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        if line.strip() == "about":
            print(json.dumps(_about(once, worst_case, without_bound)), file=answers)
            continue
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        once()
        print(time.process_time() - cpu, time.perf_counter() - wall, file=answers)


def passes() -> int:
    """The passes that the loop is bounded to."""
    return int(sys.argv[-1])


def outcome(run: Callable[[], Any]) -> str:
    """Run to the bound, and say how it ended: with which exception, or with an answer."""
    try:
        run()
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "ends"


def _about(once: Callable[[], str], worst_case: str, without_bound: Callable[[int], Any] | None) -> dict[str, Any]:
    RUNS.clear()
    ended = once()
    runs = RUNS.total()
    return {"outcome": ended, "node_runs": runs, "worst_case": worst_case, "alone": _alone(without_bound)}


def _alone(without_bound: Callable[[int], Any] | None) -> str:
    """How the framework ends the same loop when nobody bounds it by hand."""
    if without_bound is None:
        return ""
    most = BEYOND * passes()
    try:
        without_bound(most)
    except Enough:
        return f"went on until the worker stopped it after {most:,} passes"
    except Exception as error:
        return f"raises {type(error).__name__} after {RUNS['b'] - 1:,} passes"
    return "ends"
