"""One quality score out of the tools' scores, and where a chat model's opinion comes in.

The answer is the primary tool's score: no mean of tools agreed better with people on types that it had not seen.
Every tool's own score stays beside the answer as a baseline.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring.detection import SURE
from loopwright.workflows.iqa.measuring.severity import strength
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput
from loopwright.workflows.iqa.tools.calibration import calibrations

LEVEL_NAMES: dict[int, str] = {1: "Bad", 2: "Poor", 3: "Fair", 4: "Good", 5: "Excellent"}
"""Quality level -> its name, as in the five-point scale of ITU-R BT.500."""


@dataclass(frozen=True, slots=True)
class QualityScore:
    """The quality, and what it was made of."""

    value: float
    """From 1 (bad) to 5 (excellent)."""
    tool: str
    """The tool whose score it is, or that the opinion was weighed against."""
    tool_score: float
    """The score of that tool, 1..5."""
    opinion: dict[int, float] | None = None
    """The chat model's probability of each level, if it took part."""

    @property
    def level(self) -> str:
        """The name of the nearest level."""
        return level_name(self.value)


def level_of(score: float) -> int:
    """The quality level, 1 to 5, nearest to a score; one halfway between two takes the upper."""
    return min(5, max(1, math.floor(score + 0.5)))


def level_name(score: float) -> str:
    """The name of the quality level nearest to a score."""
    return LEVEL_NAMES[level_of(score)]


def weigh_opinion(tool_score: float, probabilities: Mapping[int, float]) -> float:
    """The quality, 1..5, by a chat model's opinion weighed against the tools' score.

    ``q = sum(a_c p_c c) / sum(a_c p_c)`` over the levels c = 1..5 with ``a_c = exp(-(q_tools - c)^2)``: the rule of
    AgenticIQA (arXiv 2509.26006) with the division that makes it a mean, so that q lies within the levels that the
    model holds possible.

    Args:
        tool_score: The tools' score, 1..5.
        probabilities: The model's probability of each level 1..5, not negative and not all 0; they need not sum to 1.
            They must be its own statement: one rounded level is no distribution.
    """
    weights = {c: math.exp(-((tool_score - c) ** 2)) * p for c, p in probabilities.items()}
    return sum(weight * c for c, weight in weights.items()) / sum(weights.values())


def quality_score(evidence: ExecutorOutput, opinion: Mapping[int, float] | None = None) -> QualityScore | None:
    """The score that answers a question about overall quality.

    Args:
        evidence: What was measured.
        opinion: A chat model's probability of each level, if it gave one for each.

    Returns:
        The primary tool's score, weighed with the opinion if there is one;
        where the primary tool gave none, that of the first selected tool that did. None if no tool gave a score (an
        opinion alone is not measured), or if the image does not lie on the reference that it was compared with.
    """
    scores = {} if evidence.apart else evidence.quality_scores
    order = (evidence.primary_tool, *evidence.selected_tools, *scores)
    tool = next((name for name in order if name in scores), None)
    if tool is None:
        return None
    own = scores[tool]
    value = own if opinion is None else weigh_opinion(own, opinion)
    return QualityScore(value, tool, own, None if opinion is None else dict(opinion))


def recognised(findings: Iterable[DistortionFinding]) -> str | None:
    """The strongest distortion that is surely there, or None."""
    sure = [item for item in findings if item.severity is not Severity.NONE and item.confidence >= SURE]
    return max(sure, key=strength).type if sure else None


def contradicting(evidence: ExecutorOutput) -> list[str]:
    """The tools that differ from the primary one by more than both calibration errors, the most different first."""
    # A tool that nobody calibrated contradicts none.
    known, primary = calibrations(), evidence.primary_tool
    scores = {name: score for name, score in evidence.quality_scores.items() if name in known}
    if primary is None or primary not in scores:
        return []
    apart = {name: abs(score - scores[primary]) for name, score in scores.items() if name != primary}
    opposed = [name for name in apart if apart[name] > known[primary].error + known[name].error]
    return sorted(opposed, key=lambda name: -apart[name])
