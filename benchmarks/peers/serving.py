"""How a worker with quality tools answers: "about" by what it has, "run N VARIANT" by the seconds of one call."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Variants = dict[str, Callable[[int], Any]]
"""Name -> what measures the pair of a number."""


def one_thread() -> None:
    """Keep to one processor, so that what starts threads of its own gains nothing by them."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def reason(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]


def serve(variants: Variants, count: int, about: dict[str, Any], missing: dict[str, str]) -> None:
    """Measure the values of all pairs, then answer what is asked on standard input until it ends.

    Args:
        variants: What can be measured.
        count: How many pairs there are.
        about: What else is told.
        missing: What could not be loaded -> why; variants that fail are added.
    """
    values: dict[str, list[float]] = {}
    for name, call in variants.items():
        try:
            values[name] = [float(call(n)) for n in range(count)]
        except Exception as error:
            missing[name] = reason(error)
    for line in sys.stdin:
        asked, *rest = line.strip().split(" ", 2)
        if asked == "about":
            print(json.dumps({**about, "values": values, "missing": missing}), flush=True)
            continue
        times, call = int(rest[0]), variants[rest[1]]
        began = time.process_time()
        for _ in range(times):
            call(0)
        print((time.process_time() - began) / times, flush=True)
