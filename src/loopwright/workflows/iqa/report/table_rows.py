"""What a report is made of: one row for each run, and what the page needs to know of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.engine.events.reasons import stops_of
from loopwright.engine.ledger import StopReason
from loopwright.workflows.iqa.answer.verdicts import QualityScore, quality_score
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring.detection import is_sure
from loopwright.workflows.iqa.schemas import Box, DistortionFinding, ExecutorOutput, SummarizerOutput
from loopwright.workflows.iqa.sources.images import MAX_PIXELS

BINS = 16
"""Columns of the histogram of scores, each a quarter of a level wide."""

FAILURES_SHOWN = 100
"""How many failed rows are named with their errors."""

_ROUNDING = 1e-3

STRENGTHS = tuple(severity for severity in Severity if severity > Severity.NONE)
"""The severities of what is there."""


@dataclass(frozen=True)
class ReportRow:
    """One run of the pipeline, and what the page tells of it."""

    name: str
    """What the row is called."""
    image_path: Path
    """The image in question; the row says so if it cannot be read any more."""
    reference_path: Path | None
    """The pristine image, if there was one."""
    query: str
    """The user's question."""
    state: Mapping[str, Any]
    """The final state, an `AgenticIQAState`; any key but the input's may be missing, as after an error."""
    seconds: float
    """Wall time of the run."""
    max_pixels: int = MAX_PIXELS
    """The most pixels of an image that is shown."""

    @property
    def answer(self) -> SummarizerOutput | None:
        """The answer, if there is one."""
        return self.state.get("summarizer_result")

    @cached_property
    def evidence(self) -> ExecutorOutput:
        """What was measured."""
        return self.state.get("executor_evidence") or ExecutorOutput()

    @property
    def error(self) -> str | None:
        """What went wrong, or None."""
        return self.state.get("error") or self.evidence.error

    @property
    def failed(self) -> bool:
        """Whether there is an error or no answer."""
        return self.error is not None or self.answer is None

    @property
    def replans(self) -> int:
        """How many replans there were."""
        return self.state.get("iteration_count") or 0

    @property
    def stops(self) -> list[StopReason]:
        """Which loops ended at their bound."""
        return stops_of(self.state.get("stop_reason"))

    @cached_property
    def _measured(self) -> QualityScore | None:
        return quality_score(self.evidence)

    @property
    def _own(self) -> float | None:
        return self.answer.quality_score if self.answer else None

    @property
    def score(self) -> float | None:
        """The answer's score, or where its form has none the measured one."""
        return self._own if self._own is not None or self._measured is None else self._measured.value

    @property
    def score_source(self) -> str | None:
        """Whose score it is; where it is not its tool's alone, also what it was weighed with."""
        if self._measured is None:
            return None if self._own is None else "answer"
        weighed = self._own is not None and abs(self._measured.value - self._own) > _ROUNDING
        used = (self.answer.used_evidence if self.answer else None) or {}
        beside = " + opinion" if used.get("opinion") else " + findings"
        return self._measured.tool + (beside if weighed else "")

    @property
    def stated(self) -> list[DistortionFinding]:
        """What was analysed, the absent too, without guesses, in all regions; the strongest first."""
        analysed = [item for items in self.evidence.distortion_analysis.values() for item in items]
        known = (item for item in analysed if (item.severity is Severity.NONE and item.confidence) or is_sure(item))
        return sorted(known, key=lambda item: (item.severity, item.confidence), reverse=True)

    @property
    def boxes(self) -> dict[str, Box]:
        """Scope -> the part of the image that it stands for, without scopes that are the whole image."""
        located, region = self.evidence.regions, self.state.get("region")
        # A region that was asked for may be located too, under a name of its own; it is told once.
        asked = {"region": region} if region and region not in located.values() else {}
        return {**asked, **located}


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
    distortions: dict[str, Counter[Severity]] = field(default_factory=lambda: dict[str, Counter[Severity]]())
    """Canonical name -> severity -> rows that have it."""
    failures: list[tuple[str, str]] = field(default_factory=lambda: list[tuple[str, str]]())
    """Name and error of the first `FAILURES_SHOWN` failed rows."""
    _scores: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def add(self, row: ReportRow) -> None:
        """Count a row."""
        self.rows += 1
        self.answered += row.answer is not None
        self.replanned += bool(row.replans)
        self.stopped += bool(row.stops)
        self.seconds += row.seconds
        if row.failed:
            self.failed += 1
            if len(self.failures) < FAILURES_SHOWN:
                self.failures.append((row.name, row.error or "no answer"))
        if row.score is not None:
            self._scores.append(row.score)
        for name, severity in {item.type: item.severity for item in reversed(row.stated)}.items():
            if severity > Severity.NONE:
                self.distortions.setdefault(name, Counter())[severity] += 1

    @property
    def scored(self) -> int:
        """Rows with a score."""
        return len(self._scores)

    def columns(self) -> list[tuple[float, int]]:
        """The histogram of the scores, from 1 to 5: where each column begins, and its rows."""
        counts, edges = np.histogram(np.frombuffer(self._scores), bins=BINS, range=(1, 5))
        return list(zip(edges[:-1].tolist(), counts.tolist(), strict=True))

    def quantile(self, share: float) -> float:
        """The score that a share of the scored rows lies below; there must be one."""
        return float(np.quantile(np.frombuffer(self._scores), share))

    @property
    def by_distortion(self) -> list[tuple[str, Counter[Severity]]]:
        """The distortions with their rows by severity, the most frequent first."""
        return sorted(self.distortions.items(), key=lambda item: (-item[1].total(), item[0]))
