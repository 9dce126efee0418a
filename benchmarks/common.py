"""What every benchmark shares: runs in turn, the machine in words, and the results file."""

from __future__ import annotations

import gc
import os
import platform
import re
import statistics
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Size = TypeVar("Size")
RESULTS = Path(__file__).with_name("RESULTS.md")


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


def write(title: str, section: str) -> None:
    """Put a section into the results, in place of its older self."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else "# Measured results"
    text = re.sub(rf"\n*## {title}\n.*?(?=\n## |\Z)", "", text, flags=re.DOTALL).rstrip("\n")
    RESULTS.write_text(f"{text}\n\n## {title}\n\n{section}\n", encoding="utf-8")


def main_of_sizes(title: str, description: str | None, full: Size, quick: Size, report: Callable[[Size], str]) -> None:
    """The same for a benchmark that has two sizes."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="a fraction of the runs, to see that it works")
    given = parser.parse_args()
    section = report(quick if given.quick else full)
    print(section)
    if given.write:
        write(title, section)


def main(title: str, description: str | None, repetitions: int, report: Callable[[int], str]) -> None:
    """The command line that every benchmark has: measure, print, and write if asked to."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/RESULTS.md")
    parser.add_argument("--repetitions", type=int, default=repetitions)
    given = parser.parse_args()
    section = report(given.repetitions)
    print(section)
    if given.write:
        write(title, section)
