"""How strong each distortion is that was found or named, and what can be said of one that was named but not found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, Detection
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.measuring.likeness import SAME_THING, closeness, strength
from loopwright.workflows.iqa.measuring.severity import assess
from loopwright.workflows.iqa.schemas import DistortionFinding

UNSTATED = 0.4
"""Confidence in a distortion that its number alone speaks for, without the detector's other signs."""


class Analysis(NamedTuple):
    """The findings, and what could not be measured."""

    findings: list[DistortionFinding]
    """One per distortion, the absent ones too, strongest first."""
    notes: list[str]
    """Why a named distortion has no finding, one sentence each."""


def analyse(
    names: Iterable[str], detection: Detection, features: ImageFeatures, pair: PairFeatures | None = None
) -> Analysis:
    """Say how strong each of some distortions is.

    What the detector states is taken over. A named distortion that it does not state is there only if it is sure of
    nothing else, there is no reference, and its number is at least moderate: the numbers overlap (texture measures as
    slight noise, coding as noise beside a reference), and the detector weighs further signs. On the 60 best of 1,200
    photographs, numbers alone called 19 noisy; this rule 4.

    Args:
        names: Canonical names.
        detection: What the detector states.
        features: What the image shows by itself.
        pair: What the comparison with the reference shows, if there is one.

    Returns:
        The findings and notes.
    """
    findings: dict[str, DistortionFinding] = {}
    notes: list[str] = []
    for name in names:
        finding = _stated(name, detection) or _measured(name, detection, features, pair)
        if finding.measured:
            findings.setdefault(finding.type, finding)
        else:
            notes.append(finding.explanation)
    return Analysis(sorted(findings.values(), key=strength, reverse=True), notes)


def _stated(name: str, detection: Detection) -> DistortionFinding | None:
    near = [item for item in detection.findings if closeness(name, item.type) >= SAME_THING]
    return max(near, key=lambda item: closeness(name, item.type), default=None)


def _measured(name: str, detection: Detection, features: ImageFeatures, pair: PairFeatures | None) -> DistortionFinding:
    finding = assess(name, features, pair, confidence=UNSTATED)
    if pair is None and features.edge_tiles == 0 and kind_of(name) in (Distortion.BLURS, Distortion.SHARPNESS):
        said = f"{_subject(name)}: without a single clear edge, sharpness cannot be judged"
        return finding.model_copy(update={"severity": Severity.NONE, "explanation": said, "measured": {}})
    if finding.severity is Severity.NONE:
        return finding.model_copy(update={"confidence": 1 - UNSTATED})
    # What the detector only guesses at explains nothing away.
    known = pair is not None and detection.abstained is None
    explained_otherwise = known or any(found.confidence >= SURE for found in detection.findings)
    if finding.severity >= Severity.MODERATE and not explained_otherwise:
        return finding
    other = f"; what was measured is put down to {in_words(detection.findings[0].type)}" if detection.findings else ""
    number = finding.explanation.partition(": ")[2].rstrip(".")
    said = f"{_subject(name)} was not found: {number}, which alone does not suffice{other}."
    changes = {"severity": Severity.NONE, "confidence": 1 - UNSTATED, "explanation": said}
    return finding.model_copy(update=changes)


def _subject(name: str) -> str:
    words = in_words(name)
    return words[0].upper() + words[1:]
