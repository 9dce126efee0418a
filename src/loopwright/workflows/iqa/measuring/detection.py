"""Which distortions an image has, from its measured features, by named thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring.detection_blind import Doubt, blind_candidates, doubts, unmeasured
from loopwright.workflows.iqa.measuring.detection_paired import paired_candidates, unexplained
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.measuring.severity import assess
from loopwright.workflows.iqa.schemas import DistortionFinding

SURE = 0.6
"""Confidence from which a type counts as stated; below, it is a guess that names its doubt."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What the detector found, or why it could not tell."""

    findings: list[DistortionFinding] = field(default_factory=list[DistortionFinding])
    """Strongest first; empty for a clean image."""
    abstained: str | None = None
    """Why it could not tell, in words; None for an image that is clean or whose distortion is stated."""
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    """What it could neither state nor rule out, beside a sure finding too; empty if it abstained on all kinds."""

    @property
    def main(self) -> DistortionFinding | None:
        """The strongest finding, or None."""
        return self.findings[0] if self.findings else None


def detect(features: ImageFeatures, pair: PairFeatures | None = None) -> Detection:
    """Find the distortions of an image.

    With a reference, the squared error is split among the possible causes, and those that hold a fair share of it are
    found, the one with most of it first. Without one, each type has its own signs; a sign that a scene could bring
    about as well gives a low confidence, or an abstention that names the sign.

    Args:
        features: What the image shows by itself (`measure`).
        pair: What its comparison with the reference shows (`measure_pair`), if there is a reference.

    Returns:
        The findings, each with at least slight severity, and an abstention where neither a finding nor "clean" is safe.
    """
    candidates = blind_candidates(features) if pair is None else paired_candidates(pair)
    findings = [
        assess(item.type, features, pair, confidence=round(item.confidence, 3), why=item.why) for item in candidates
    ]
    findings = [finding for finding in findings if finding.severity is not Severity.NONE]
    if pair is not None:
        return Detection(findings, None if findings else unexplained(pair))
    findings.sort(key=lambda finding: -finding.confidence * finding.severity.rank)
    sure = any(finding.confidence >= SURE for finding in findings)
    if sure:
        return Detection(findings, None, unmeasured(features, findings))
    open_ = doubts(features, findings)
    reasons = "; ".join(item.why for item in open_)
    return Detection(findings, f"without a reference it cannot be told: {reasons}" if open_ else None, open_)
