"""What every benchmark shares: runs in turn, the machine in words, the command line, and the results file.

A section of RESULTS.md holds what its benchmark wrote between two marks, and notes that are written by hand outside of
them: a benchmark that is run again replaces the first and leaves the second.
"""

from __future__ import annotations

import gc
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

Size = TypeVar("Size")
RESULTS = Path(__file__).with_name("RESULTS.md")
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


@dataclass
class Variant:
    """Something to measure."""

    name: str
    run: Callable[[], Any]
    seconds: list[float] = field(default_factory=list)

    def per(self, count: int = 1) -> tuple[float, float]:
        """The least and the median microseconds for one of `count` equal parts."""
        return min(self.seconds) / count * 1e6, statistics.median(self.seconds) / count * 1e6


def measure(variants: list[Variant], repetitions: int) -> None:
    """Run all variants in turn, again and again, so that a slow moment of the machine hits them all alike."""
    for variant in variants:
        variant.run()
    for _ in range(repetitions):
        for variant in variants:
            gc.collect()
            began = time.process_time()
            variant.run()
            variant.seconds.append(time.process_time() - began)


def machine() -> str:
    """The machine in words."""
    return f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}"


def measured_by() -> str:
    """When, at which commit and load, and by which command: the first line of what is written."""
    command = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--dirty=, changed"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    words = [word for word in sys.argv[1:] if word != "--write"]
    given = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])
    load = f"load {os.getloadavg()[0]:.1f} at the end"
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {told.stdout.strip() or 'unknown'}, {load}: `{given}`"


def write(title: str, measured: str) -> None:
    """Put what was measured into its section of the results, in place of what the same benchmark wrote before."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else "# Measured results\n"
    heading, block = f"\n## {title}\n", f"{BEGIN}\n{measured}\n{END}"
    before, found, rest = text.partition(heading)
    section, following, others = rest.partition("\n## ")
    if not found:
        text = f"{text.rstrip()}\n{heading}\n{block}\n"
    elif BEGIN in section:
        text = before + found + re.sub(f"{BEGIN}.*?{END}", lambda _: block, section, count=1, flags=re.DOTALL)
        text += following + others
    else:
        text = f"{before}{found}\n{block}\n{section}{following}{others}"
    RESULTS.write_text(text, encoding="utf-8")


def finish(title: str, tables: str, into_results: bool) -> None:
    """Print what was measured, and write it if asked to."""
    measured = f"{measured_by()}\n\n{tables}"
    print(measured)
    if into_results:
        write(title, measured)


def arguments(description: str | None) -> ArgumentParser:
    """The command line that every benchmark has."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    return parser


def main(
    title: str, description: str | None, report: Callable[[Size], str], full: Size, quick: Size | None = None
) -> None:
    """Measure, print, and write if asked to: for a benchmark that is told its repetitions, or one of two sizes."""
    parser = arguments(description)
    if quick is None:
        parser.add_argument("--repetitions", dest="size", type=type(full), default=full)
    else:
        told = "a fraction of it, to see that it works"
        parser.add_argument("--quick", dest="size", action="store_const", const=quick, default=full, help=told)
    given = parser.parse_args()
    finish(title, report(given.size), given.write)
