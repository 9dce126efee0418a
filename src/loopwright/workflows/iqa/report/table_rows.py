"""What a report is made of: one row for each run, and what the page needs to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from loopwright.engine.ledger import StopReason
from loopwright.workflows.iqa.answer.fusion import level_of, quality_score
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.report.overview import Outcome
from loopwright.workflows.iqa.schemas import (
    Box,
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    SummarizerOutput,
)
from loopwright.workflows.iqa.state import AgenticIQAState


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One run of the pipeline."""

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
    path: Sequence[str]
    """The stages that ran, in order, and in parentheses what the loop decided: ``"(replan 1/2)"``."""
    seconds: float
    """Wall time of the run."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the path that a run took."""

    text: str
    """The stage's name, or what a loop decided."""
    kind: str
    """``stage``, ``granted`` (the loop went round again) or ``refused`` (it reached its bound or stalled)."""

    @classmethod
    def of(cls, text: str) -> Step:
        """Read a step as `ReportRow.path` has it."""
        if not (text.startswith("(") and text.endswith(")")):
            return cls(text, "stage")
        return cls(text[1:-1], "refused" if text.endswith(("exhausted)", "stalled)")) else "granted")


class View:
    """A row as the template needs it."""

    def __init__(self, row: ReportRow) -> None:
        state = cast("AgenticIQAState", row.state)
        self.row = row
        self.answer: SummarizerOutput | None = state.get("summarizer_result")
        self.evidence: ExecutorOutput = state.get("executor_evidence") or ExecutorOutput()
        self.plan: PlannerOutput | None = state.get("plan")
        self.error: str | None = state.get("error") or self.evidence.error
        self.history: list[str] = state.get("replan_history") or []
        self.replans: int = state.get("iteration_count") or 0
        self.region: Box | None = state.get("region")
        stop = state.get("stop_reason") or []
        self.stops: list[StopReason] = stop if isinstance(stop, list) else [stop]
        self.steps = [Step.of(text) for text in row.path]
        self.score, self.score_tool = _score(self.answer, self.evidence)

    @cached_property
    def flags(self) -> list[str]:
        """What the row can be filtered by, as classes of its element."""
        outcome = self.outcome
        named = {"replanned": outcome.replanned, "stopped": outcome.stopped, "failed": outcome.failed}
        return [name for name, on in named.items() if on]

    @property
    def level(self) -> int | None:
        """The quality level, 1..5, if there is a score."""
        return None if self.score is None else level_of(self.score)

    @cached_property
    def outcome(self) -> Outcome:
        """What the overview counts."""
        worst: dict[str, Severity] = {}
        for findings in self.evidence.distortion_analysis.values():
            for finding in findings:
                worst[finding.type] = max(finding.severity, worst.get(finding.type, Severity.NONE))
        return Outcome(
            name=self.row.name,
            score=self.score,
            distortions=worst,
            answered=self.answer is not None,
            error=self.error,
            replanned=bool(self.replans),
            stopped=bool(self.stops),
            seconds=self.row.seconds,
        )

    @cached_property
    def tool_scores(self) -> dict[str, float]:
        """Tool -> its score, 1..5; of several regions, the worst."""
        scores: dict[str, float] = {}
        for log in self.evidence.tool_logs:
            if log.score is not None:
                scores[log.tool] = min(log.score, scores.get(log.tool, log.score))
        return scores

    @property
    def main_finding(self) -> tuple[str, DistortionFinding] | None:
        """The strongest distortion with its scope, of equal ones the surest; None if nothing was found."""
        found = [
            (scope, finding)
            for scope, findings in self.evidence.distortion_analysis.items()
            for finding in findings
            if finding.severity > Severity.NONE
        ]
        return max(found, key=lambda item: (item[1].severity, item[1].confidence), default=None)

    @property
    def boxes(self) -> dict[str, Box]:
        """Scope -> the part of the image that it stands for, without scopes that are the whole image."""
        located = self.evidence.regions
        # A region that was asked for may be located too, under a name of its own; it is told once.
        asked = {"region": self.region} if self.region and self.region not in located.values() else {}
        return {**asked, **located}


def _score(answer: SummarizerOutput | None, evidence: ExecutorOutput) -> tuple[float | None, str | None]:
    """The score to sort by, and the tool that it is from if it is not the answer's own."""
    if answer is not None and answer.quality_score is not None:
        return answer.quality_score, None
    measured = quality_score(evidence)
    if measured is None or not 1 <= measured.value <= 5:
        return None, None
    return measured.value, measured.tool
