"""How close two distortions are, and how strong a finding is: one order and one measure for everybody."""

from __future__ import annotations

from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.schemas import DistortionFinding

SAME_THING = 0.9
"""Closeness from which a finding stands for what was asked."""

_FROM_THE_SAME_MEASUREMENT = frozenset({"gaussian blur", "lens blur"})


def strength(finding: DistortionFinding) -> float:
    """By severity, then by confidence: 0 for an absent distortion, up to 5."""
    return finding.severity.rank + finding.confidence if finding.severity is not Severity.NONE else 0.0


def closeness(asked: str, found: str) -> float:
    """How closely a finding speaks about a distortion that was asked for.

    Args:
        asked: Canonical name of a kind or sub-type.
        found: Canonical name of the finding.

    Returns:
        1 for the same name, less where one is only the kind of the other or both share one measurement, 0 if unrelated.
    """
    if asked == found:
        return 1.0
    if kind_of(found) == asked:
        return 0.95
    if asked in _FROM_THE_SAME_MEASUREMENT and found in _FROM_THE_SAME_MEASUREMENT:
        return 0.9
    if asked == Distortion.SHARPNESS and kind_of(found) is Distortion.BLURS:
        return 0.85
    return 0.5 if kind_of(asked) == found else 0.0
