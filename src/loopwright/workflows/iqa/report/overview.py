"""Counts over all rows of a batch, also over those that the page has no room for."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from loopwright.workflows.iqa.answer.fusion import LEVEL_NAMES, level_of
from loopwright.workflows.iqa.distortions import Severity

BINS = 16
"""Columns of the histogram of scores, each a quarter of a level wide."""

FAILURES_SHOWN = 100
"""How many failed rows are named with their errors."""

STRENGTHS = tuple(severity for severity in Severity if severity > Severity.NONE)
"""The severities of what is there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is counted of a row."""

    name: str
    """What the row is called."""
    score: float | None
    """The quality, 1..5, if there is one."""
    distortions: Mapping[str, Severity]
    """Canonical name of each analysed distortion -> its severity; of several regions, the strongest."""
    answered: bool
    """Whether there is an answer."""
    error: str | None
    """What went wrong, or None."""
    replanned: bool
    """Whether there was a replan."""
    stopped: bool
    """Whether a loop ended at its bound."""
    seconds: float
    """Wall time of the run."""

    @property
    def failed(self) -> bool:
        """Whether there is an error or no answer."""
        return self.error is not None or not self.answered

    @property
    def strongest(self) -> Severity:
        """The severity of the strongest distortion; none if there is none."""
        return max(self.distortions.values(), default=Severity.NONE)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the histogram of scores."""

    low: float
    """The lowest score in it."""
    high: float
    """The first score that is not, but for the last column."""
    count: int
    """Rows."""
    level: int
    """The quality level of its middle, for the colour."""


@dataclass
class Overview:
    """Counts over rows; a row takes eight bytes."""

    rows: int = 0
    """All rows."""
    answered: int = 0
    """Rows with an answer."""
    replanned: int = 0
    """Rows with a replan."""
    stopped: int = 0
    """Rows of which a loop reached its bound."""
    failed: int = 0
    """Rows with an error or without an answer."""
    seconds: float = 0.0
    """Wall time of all runs."""
    levels: Counter[int] = field(default_factory=lambda: Counter[int]())
    """Quality level -> rows."""
    severities: Counter[Severity] = field(default_factory=lambda: Counter[Severity]())
    """Severity of a row's strongest distortion -> rows; without those that failed."""
    distortions: dict[str, Counter[Severity]] = field(default_factory=lambda: dict[str, Counter[Severity]]())
    """Canonical name -> severity -> rows that have it."""
    failures: list[tuple[str, str]] = field(default_factory=lambda: list[tuple[str, str]]())
    """Name and error of the first `FAILURES_SHOWN` failed rows."""
    _scores: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def add(self, outcome: Outcome) -> None:
        """Count a row.

        Args:
            outcome: The row.
        """
        self.rows += 1
        self.answered += outcome.answered
        self.replanned += outcome.replanned
        self.stopped += outcome.stopped
        self.seconds += outcome.seconds
        if outcome.failed:
            self.failed += 1
            if len(self.failures) < FAILURES_SHOWN:
                self.failures.append((outcome.name, outcome.error or "no answer"))
        else:
            self.severities[outcome.strongest] += 1
        if outcome.score is not None:
            self._scores.append(outcome.score)
            self.levels[level_of(outcome.score)] += 1
        for name, severity in outcome.distortions.items():
            if severity > Severity.NONE:
                self.distortions.setdefault(name, Counter())[severity] += 1

    @property
    def scored(self) -> int:
        """Rows with a score."""
        return len(self._scores)

    def columns(self) -> list[Column]:
        """The histogram of the scores, from 1 to 5."""
        counts, edges = np.histogram(np.frombuffer(self._scores), bins=BINS, range=(1, 5))
        return [
            Column(float(low), float(high), int(count), level_of((float(low) + float(high)) / 2))
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]

    def quantile(self, share: float) -> float:
        """The score that a share of the scored rows lies below; there must be one.

        Args:
            share: 0..1; 0.5 is the median.
        """
        return float(np.quantile(np.frombuffer(self._scores), share))

    @property
    def by_level(self) -> list[tuple[int, str, int]]:
        """Level, its name and its rows, the worst first."""
        return [(level, name, self.levels[level]) for level, name in LEVEL_NAMES.items()]

    @property
    def by_distortion(self) -> list[tuple[str, Counter[Severity]]]:
        """The distortions with their rows by severity, the most frequent first."""
        return sorted(self.distortions.items(), key=lambda item: (-item[1].total(), item[0]))
