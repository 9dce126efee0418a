"""How strong a distortion is: one measured number per type, held against four bounds.

The bounds are set so that the levels 1 to 5 of `distort.LEVELS`, which follow the published databases, come out as
about slight, slight to moderate, moderate, severe and extreme. What an image shows by itself and what a comparison with
its reference shows are different numbers, so each has its own gauge.

`Limits` are the numbers from and up to which something counts as a sign; what each is stands in `data/signs.yaml`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from loopwright.config import shipped
from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity, in_words, kind_of, parse_distortion
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.schemas import DistortionFinding


class Limits:
    """The numbers of one section of the file, by name.

    Args:
        section: Its key in the file.
    """

    def __init__(self, section: str) -> None:
        numbers = shipped("loopwright.workflows.iqa", "data/signs.yaml")[section]
        vars(self).update(TypeAdapter(dict[str, float]).validate_python(numbers, strict=True))

    def __getattr__(self, name: str) -> float:
        """Only what is not in the file comes here."""
        raise AttributeError(f"data/signs.yaml has no {name!r} in this section")


@dataclass(frozen=True, slots=True)
class Gauge:
    """The number that stands for the strength of one distortion."""

    label: str
    """What is measured, as it appears in the explanation."""
    reads: str
    """The feature that is the number; empty for none."""
    bounds: tuple[float, float, float, float]
    """Where slight, moderate, severe and extreme begin; falling bounds mean that a smaller number is worse."""
    unit: str = ""
    """Its unit, or nothing."""
    fields: Sequence[str] = ()
    """Features that go into the finding beside the number."""
    percent: bool = False
    """Whether the number is a share that is told in percent."""

    @property
    def rising(self) -> bool:
        """Whether a larger number is worse."""
        return self.bounds[0] < self.bounds[3]

    def read(self, features: ImageFeatures | PairFeatures) -> float:
        """Take the number from the features; NaN where there is none to be read."""
        return getattr(features, self.reads) if self.reads else math.nan

    def number(self, value: float) -> str:
        """A value as it is told, without the unit."""
        return f"{100 * value:.3g}%" if self.percent else f"{value:.3g}"

    def said(self, value: float) -> str:
        """A value as it is told, with the unit."""
        return f"{self.number(value)} {self.unit}".rstrip()

    def severity(self, value: float) -> Severity:
        """The last severity whose bound a value reaches; NaN, not measurable, counts as none."""
        reached = sum(value >= bound if self.rising else value <= bound for bound in self.bounds)
        return list(Severity)[reached]


_GAUGES: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/gauges.yaml")
BLIND = {name: Gauge(**each) for name, each in _GAUGES["blind"].items()}
"""Sub-type -> the gauge that needs no reference."""
PAIRED = {name: Gauge(**each) for name, each in _GAUGES["paired"].items()}
"""Sub-type -> the gauge that compares with the reference."""
VEIL, CHANNEL_SHIFT = Gauge(**_GAUGES["veil"]), Gauge(**_GAUGES["channel_shift"])
NOT_WITHOUT_REFERENCE = Gauge("it shows only beside a reference", "", (1, 2, 3, 4))

VEILED = Limits("veiled")
"""From which numbers an image with content shows nothing sharp."""
BESIDE = "against the reference"
"""How an explanation says that its number is from a comparison."""


def is_veiled(features: ImageFeatures) -> bool:
    """Whether an image has content, more than a sky or a wall, and yet no slope that a sharp thing would show."""
    large = min(features.width, features.height) >= VEILED.side
    return large and features.tone_variation > VEILED.content and features.least_blur > VEILED.blur


def assess(
    name: str, features: ImageFeatures, pair: PairFeatures | None = None, *, confidence: float = 1.0, why: str = ""
) -> DistortionFinding:
    """Say how strong a distortion is, with the number behind it, whether or not it was detected.

    Args:
        name: A kind, a sub-type, or another word for one. For a kind, its strongest sub-type is measured.
        features: What the image shows by itself.
        pair: What the comparison with the reference shows, if there is one.
        confidence: How sure the caller is that it is this type, 0..1; 1 where the query names it.
        why: What speaks for this type, put after the number.

    Returns:
        The finding; its severity is none where the distortion is absent or cannot be measured.

    Raises:
        UnknownNameError: If nobody knows the name.
    """
    name = parse_distortion(name)
    if name in set(Distortion):
        return _assess_kind(Distortion(name), features, pair, confidence, why)
    if pair is not None and name in PAIRED:
        return _finding(name, PAIRED[name], pair, confidence, why)
    veiled = name in ("gaussian blur", "lens blur") and features.edge_tiles == 0 and is_veiled(features)
    return _finding(name, VEIL if veiled else BLIND.get(name, NOT_WITHOUT_REFERENCE), features, confidence, why)


def _assess_kind(
    kind: Distortion, features: ImageFeatures, pair: PairFeatures | None, confidence: float, why: str
) -> DistortionFinding:
    names = [sub for sub, parent in SUBTYPES.items() if parent is kind and (sub in BLIND or (pair and sub in PAIRED))]
    if kind is Distortion.COLOR and pair is not None:
        fringes = _finding(kind, CHANNEL_SHIFT, pair, confidence, why, subject="color fringing")
        if pair.channel_shift_rms > 0 and fringes.severity is not Severity.NONE:
            return fringes
    findings = [assess(sub, features, pair, confidence=confidence, why=why) for sub in names]
    worst = max(findings, key=lambda finding: finding.severity.rank)
    return worst.model_copy(update={"type": kind.value})


def _finding(
    name: str, gauge: Gauge, features: ImageFeatures | PairFeatures, confidence: float, why: str, subject: str = ""
) -> DistortionFinding:
    value = gauge.read(features)
    severity = gauge.severity(value)
    numbers = {"value": value} | {field: getattr(features, field) for field in gauge.fields}
    source = BESIDE if isinstance(features, PairFeatures) else "from the image alone"
    return DistortionFinding(
        type=name,
        severity=severity,
        confidence=confidence,
        explanation=_sentence(subject or name, severity, value, gauge, source, why),
        measured={name: float(f"{number:.6g}") for name, number in numbers.items() if math.isfinite(number)},
    )


def _sentence(name: str, severity: Severity, value: float, gauge: Gauge, source: str, why: str) -> str:
    words, subject = in_words(name), subject_of(name)
    if math.isnan(value):
        return f"{subject} cannot be measured here: {gauge.label}."
    bounds = zip(list(Severity)[1:], gauge.bounds, strict=True)
    starts = ", ".join(f"{each.value} from {gauge.number(bound)}" for each, bound in bounds)
    direction = "upwards" if gauge.rising else "downwards"
    reason = f"; {why}" if why else ""
    head = f"No {words}" if severity is Severity.NONE else f"{subject} is {severity.value}"
    return f"{head}: {gauge.label} is {gauge.said(value)}, {source} ({starts} {direction}){reason}."


def subject_of(name: str) -> str:
    """A distortion as it begins a sentence."""
    words = in_words(name)
    return words[0].upper() + words[1:]


def gauge_of(finding: DistortionFinding) -> Gauge | None:
    """The gauge whose label a finding's explanation names: of a kind, a sub-type's; None for another origin."""
    kind = kind_of(finding.type)
    names = [finding.type, *(sub for sub, parent in SUBTYPES.items() if parent is kind)]
    table = PAIRED if BESIDE in finding.explanation else BLIND
    gauges = [*(table[name] for name in names if name in table), VEIL, CHANNEL_SHIFT]
    return next((gauge for gauge in gauges if f"{gauge.label} is " in finding.explanation), None)


SAME_THING = 0.9
"""Closeness from which a finding stands for what was asked."""

_FROM_THE_SAME_MEASUREMENT = frozenset({"gaussian blur", "lens blur"})


def strength(finding: DistortionFinding) -> float:
    """By severity, then by confidence: 0 for an absent distortion, up to 5."""
    return finding.severity.rank + finding.confidence if finding.severity is not Severity.NONE else 0.0


def closeness(asked: str, found: str) -> float:
    """How closely a finding speaks about a distortion that was asked for.

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


def nearness(asked: str, finding: DistortionFinding) -> float:
    """How closely a finding speaks about a name: a shift of the mean is too much or too little light as well."""
    light = "overexposure" if finding.measured.get("mean_shift", 0) > 0 else "underexposure"
    as_light = SAME_THING * closeness(asked, light) if finding.type == "mean shift" else 0.0
    return max(closeness(asked, finding.type), as_light)
