"""Which distortions an image has, from its measured features, and how strong each is that was found or named."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection_blind import SIGNS, Doubt, blind_candidates, doubts, unmeasured
from loopwright.workflows.iqa.measuring.detection_paired import paired_candidates, uneven, unexplained
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.measuring.severity import (
    BESIDE,
    SAME_THING,
    assess,
    closeness,
    nearness,
    strength,
    subject_of,
)
from loopwright.workflows.iqa.schemas import DistortionFinding

SURE = 0.6
"""Confidence from which a type counts as stated; below, it is a guess that names its doubt."""


def is_sure(finding: DistortionFinding) -> bool:
    """Whether a finding is more than a guess, as all are that a reference shows."""
    return finding.confidence >= SURE or BESIDE in finding.explanation


@dataclass(frozen=True, slots=True)
class Detection:
    """What the detector found, or why it could not tell."""

    findings: list[DistortionFinding] = field(default_factory=list[DistortionFinding])
    """Strongest first; empty for a clean image."""
    abstained: str | None = None
    """Why it could not tell, in words; None for an image that is clean or whose distortion is stated."""
    doubts: list[Doubt] = field(default_factory=list[Doubt])
    """What it could neither state nor rule out, beside a sure finding too; empty if it abstained on all kinds."""
    otherwise: str | None = None
    """How it differs from its reference, or what of it is blank, where that is none of the distortions."""

    @property
    def softened(self) -> bool:
        """Whether a finding says why fine detail is missing."""
        return any(kind_of(finding.type) in (Distortion.BLURS, Distortion.COMPRESSION) for finding in self.findings)


def detect(features: ImageFeatures, pair: PairFeatures | None = None) -> Detection:
    """Find the distortions of an image.

    With a reference, the squared error is split among the possible causes, and those that hold a fair share of it are
    found, the one with most of it first. Without one, each type has its own signs; a sign that a scene could bring
    about as well gives a low confidence, or an abstention that names the sign.

    Returns:
        The findings, each with at least slight severity, and an abstention where neither a finding nor "clean" is safe.
    """
    signs = blind_candidates(features)
    grained = any(sign.type == "gaussian noise" and sign.confidence >= SIGNS.grained for sign in signs)
    candidates = signs if pair is None else paired_candidates(pair, grained=grained)
    findings = [
        assess(item.type, features, pair, confidence=round(item.confidence, 3), why=item.why) for item in candidates
    ]
    findings = [finding for finding in findings if finding.severity is not Severity.NONE]
    if pair is not None:
        other = uneven(pair)
        return Detection(findings, None if findings or other else unexplained(pair), otherwise=other)
    findings.sort(key=lambda finding: -finding.confidence * finding.severity.rank)
    if any(finding.confidence >= SURE for finding in findings):
        return Detection(findings, None, unmeasured(features, findings))
    open_ = doubts(features, findings)
    reasons = "; ".join(item.why for item in open_)
    return Detection(findings, f"without a reference it cannot be told: {reasons}" if open_ else None, open_)


def of_a_part(found: Detection) -> Detection:
    """What was found in a part that was cut out: a wall or a sky by itself has few tones and one colour, rightly."""
    scene = (Distortion.CONTRAST, Distortion.COLOR)
    findings = [
        item.model_copy(update={"confidence": min(item.confidence, SIGNS.unstated)})
        if kind_of(item.type) in scene
        else item
        for item in found.findings
    ]
    return replace(found, findings=findings)


def analyse(
    names: Iterable[str], detection: Detection, features: ImageFeatures, pair: PairFeatures | None = None
) -> tuple[list[DistortionFinding], list[str]]:
    """Say how strong each of some distortions is.

    What the detector states is taken over. A named distortion that it does not state is there only if it is sure of
    nothing else, there is no reference, and its number is at least moderate: the numbers overlap (texture measures as
    slight noise, coding as noise beside a reference), and the detector weighs further signs. On the 60 best of 1,200
    photographs, numbers alone called 19 noisy; this rule 4.

    Returns:
        A finding for each distortion, the absent ones too, strongest first; and why others could not be measured.
    """
    findings: dict[str, DistortionFinding] = {}
    notes: list[str] = []
    for name in names:
        near = [item for item in detection.findings if nearness(name, item) >= SAME_THING]
        stated = max(near, key=lambda item: nearness(name, item), default=None)
        finding = stated or _measured(name, detection, features, pair)
        if finding.measured:
            findings.setdefault(finding.type, finding)
        if not (finding.measured and finding.confidence):
            notes.append(finding.explanation)
    return sorted(findings.values(), key=strength, reverse=True), notes


def _measured(name: str, detection: Detection, features: ImageFeatures, pair: PairFeatures | None) -> DistortionFinding:
    finding = assess(name, features, pair, confidence=SIGNS.unstated)
    # What cannot be told must pass neither for absent nor for there; its number stays, to compare parts by.
    softened = detection.softened and kind_of(name) in (Distortion.BLURS, Distortion.SHARPNESS)
    open_ = [] if pair is not None or softened else [*detection.doubts, *doubts(features, [], named=True)]
    doubt = next((each.why for each in open_ if any(closeness(name, other) > 0 for other in each.about)), "")
    if doubt:
        said = f"{subject_of(name)}: {doubt}"
        return finding.model_copy(update={"explanation": said, "severity": Severity.NONE, "confidence": 0.0})
    if finding.severity is Severity.NONE:
        return finding.model_copy(update={"confidence": 1 - SIGNS.unstated})
    # What the detector only guesses at explains nothing away.
    known = pair is not None and detection.abstained is None
    explained_otherwise = known or any(found.confidence >= SURE for found in detection.findings)
    if finding.severity >= Severity.MODERATE and not explained_otherwise:
        return finding
    other = f"; what was measured is put down to {in_words(detection.findings[0].type)}" if detection.findings else ""
    number = finding.explanation.partition(": ")[2].rstrip(".")
    said = f"{subject_of(name)} was not found: {number}, which alone does not suffice{other}."
    changes = {"severity": Severity.NONE, "confidence": 1 - SIGNS.unstated, "explanation": said}
    return finding.model_copy(update=changes)
