"""How strong a distortion is: one measured number per type, held against four bounds.

The bounds are set so that the levels 1 to 5 of `distort.LEVELS`, which follow the published databases, come out as
about slight, slight to moderate, moderate, severe and extreme. What an image shows by itself and what a comparison with
its reference shows are different numbers, so each has its own gauge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity, in_words, kind_of, parse_distortion
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.measuring.features.model import finite
from loopwright.workflows.iqa.schemas import DistortionFinding

F = TypeVar("F", ImageFeatures, PairFeatures)
DIRECTED = 0.75
"""Directional loss from which motion is possible, nepers; sharp photographs reach 0.55."""
Bounds = tuple[float, float, float, float]
"""Where slight, moderate, severe and extreme begin; falling bounds mean that a smaller number is worse."""


@dataclass(frozen=True, slots=True)
class Gauge(Generic[F]):
    """The number that stands for the strength of one distortion."""

    label: str
    """What is measured, as it appears in the explanation."""
    unit: str
    """Its unit, or nothing."""
    read: Callable[[F], float]
    """Takes the number from the features."""
    bounds: Bounds
    """Where the severities begin."""
    fields: tuple[str, ...]
    """Features that go into the finding beside the number."""
    percent: bool = False
    """Whether the number is a share that is told in percent."""

    @property
    def rising(self) -> bool:
        """Whether a larger number is worse."""
        return self.bounds[0] < self.bounds[3]

    def number(self, value: float) -> str:
        """A value as it is told, without the unit."""
        return f"{100 * value:.3g}%" if self.percent else f"{value:.3g}"

    def said(self, value: float) -> str:
        """A value as it is told, with the unit."""
        return f"{self.number(value)} {self.unit}".rstrip()


NOT_WITHOUT_REFERENCE: Gauge[ImageFeatures] = Gauge(
    "it shows only beside a reference", "", lambda _: math.nan, (1, 2, 3, 4), ()
)
CHANNEL_SHIFT: Gauge[PairFeatures] = Gauge(
    "the displacement between the colour channels", "pixels", lambda p: p.channel_shift, (0.2, 1.0, 2.0, 4.0), ()
)

_BLUR: Gauge[ImageFeatures] = Gauge(
    "the blur of the strongest edges", "pixels", lambda f: f.edge_blur,
    (0.9, 1.3, 2.0, 3.4),
    ("edge_sigma", "edge_sigma_strong", "edge_sigma_typical", "edge_sigma_weak", "fine_detail_gap"),
)  # fmt: skip
VEIL: Gauge[ImageFeatures] = Gauge(
    "the blur that would leave no steeper slope", "pixels", lambda f: f.least_blur,
    (0.9, 1.3, 2.0, 3.4), ("steepest_slope", "tone_variation"),
)  # fmt: skip
_NOISE: Gauge[ImageFeatures] = Gauge(
    "the noise in flat areas", "of 255 grey levels", lambda f: f.noise,
    (3.0, 7.0, 15.0, 28.0), ("noise_whiteness",),
)  # fmt: skip
_EXPOSURE: Gauge[ImageFeatures] = Gauge(
    "the share of clipped bright pixels", "", lambda f: f.overexposed_fraction + f.partly_clipped_fraction,
    (0.08, 0.2, 0.3, 0.5), ("mean_luma", "bright_point"), percent=True)  # fmt: skip
_SQUARES: Gauge[ImageFeatures] = Gauge(
    "the side of the squares of equal pixels", "pixels", lambda f: f.pixel_size, (1.6, 3.0, 4.5, 9.0), ()
)

BLIND: dict[str, Gauge[ImageFeatures]] = {
    "gaussian blur": _BLUR,
    "lens blur": _BLUR,
    "motion blur": Gauge(
        "the least length of the motion", "pixels",
        # Without a direction, wide edges are those of a round blur or of a soft scene.
        lambda f: f.motion_length if f.motion_anisotropy > DIRECTED else 0.0, (1.0, 4.0, 6.0, 9.0),
        ("motion_direction", "motion_anisotropy", "edge_sigma_strong"),
    ),
    "jpeg": Gauge(
        "the JPEG quality setting", "of 100", lambda f: f.jpeg_quality, (72, 46, 26, 9),
        ("jpeg_evidence",),
    ),
    "jpeg2000": Gauge(
        "the blur of the typical edges", "pixels", lambda f: f.edge_sigma_typical,
        (0.6, 1.1, 1.8, 3.2), ("edge_sigma_strong", "edge_sigma_weak", "fine_detail_gap"),
    ),
    "gaussian noise": _NOISE,
    "multiplicative noise": _NOISE,
    "impulse noise": Gauge(
        "the share of black and white specks", "", lambda f: f.impulse_fraction, (0.001, 0.006, 0.02, 0.06),
        ("impulse_balance", "impulse_evenness"), percent=True),
    "color cast": Gauge(
        "the tint that the highlights share with the whole", "CIELAB units", lambda f: f.cast, (15, 20, 27, 36),
        ("cast_a", "cast_b"),
    ),
    "saturation change": Gauge("the mean strength of colour", "CIELAB units", lambda f: f.chroma, (6, 4, 2, 0.8), ()),
    "overexposure": _EXPOSURE,
    "underexposure": Gauge(
        "the brightness that 1% of the pixels exceed", "of 255 grey levels", lambda f: f.bright_point,
        (140, 110, 75, 45), ("mean_luma",),
    ),
    "oversharpening": Gauge(
        "the steepness of the edges at a fine scale over that at a coarse one", "times", lambda f: f.edge_ratio,
        (2.9, 3.05, 3.4, 4.0),
        ("edge_sigma",),
    ),
    "low contrast": Gauge(
        "the range of brightness without the darkest and the brightest 1%", "of 255 grey levels",
        lambda f: f.contrast_range, (110, 90, 65, 42), ("dark_point", "bright_point"),
    ),
    "banding": Gauge(
        "the share of the 8-bit levels in use", "", lambda f: f.level_use, (0.3, 0.09, 0.05, 0.03), (), percent=True),
    "pixelation": _SQUARES,
    "aliasing": _SQUARES,
}  # fmt: skip
"""Sub-type -> the gauge that needs no reference."""

_PAIR_BLUR: Gauge[PairFeatures] = Gauge(
    "the width of the blur", "pixels", lambda p: p.blur_sigma, (0.35, 1.1, 1.9, 3.6),
    ("blur_sigma_minor", "detail_gain", "filter_share"),
)  # fmt: skip
_PAIR_NOISE: Gauge[PairFeatures] = Gauge(
    "the size of the noise", "of 255 grey levels", lambda p: p.residual_rms, (2.5, 7.0, 15.0, 28.0),
    ("residual_flatness", "residual_kurtosis", "residual_luma_slope"),
)  # fmt: skip
_SHIFT = (4.0, 15.0, 34.0, 58.0)
"""Bounds of a shift of the mean brightness, grey levels."""


def _shifted(bounds: Bounds) -> Gauge[PairFeatures]:
    label = "the shift of the mean brightness"
    return Gauge(label, "of 255 grey levels", lambda p: p.mean_shift, bounds, ("contrast_gain",))


PAIRED: dict[str, Gauge[PairFeatures]] = {
    "gaussian blur": _PAIR_BLUR,
    "lens blur": _PAIR_BLUR,
    "motion blur": Gauge(
        # A line of length L has the variance L^2 / 12.
        "the length of the motion", "pixels", lambda p: math.sqrt(12) * p.blur_sigma, (2.5, 6.0, 11.0, 20.0),
        ("blur_direction", "blur_sigma_minor"),
    ),
    "jpeg": Gauge(
        "the JPEG quality setting", "of 100", lambda p: p.jpeg_quality, (88, 46, 26, 9),
        ("jpeg_evidence", "rms_error"),
    ),
    "jpeg2000": Gauge(
        "the error that the coder left", "of 255 grey levels", lambda p: math.hypot(p.filter_rms, p.residual_rms),
        (2.5, 7.0, 12.0, 18.0), ("detail_gain", "filter_share"),
    ),
    "gaussian noise": _PAIR_NOISE,
    "multiplicative noise": _PAIR_NOISE,
    "impulse noise": Gauge(
        "the share of black and white specks", "", lambda p: p.impulse_fraction, (0.0005, 0.006, 0.02, 0.06),
        ("impulse_share", "residual_kurtosis"), percent=True),
    "color cast": Gauge(
        "the shift of the mean colour", "CIELAB units", lambda p: p.color_shift, (4, 10, 18, 28), ("color_shift_rms",)
    ),
    "saturation change": Gauge(
        "the change of saturation", "", lambda p: abs(p.saturation_ratio - 1), (0.12, 0.4, 0.65, 0.92),
        ("saturation_ratio", "saturation_rms"), percent=True),
    "overexposure": _shifted(_SHIFT),
    "underexposure": _shifted((-4, -15, -34, -58)),
    "mean shift": Gauge(
        "the size of the shift of the mean brightness", "of 255 grey levels", lambda p: abs(p.mean_shift),
        _SHIFT, ("mean_shift", "contrast_gain"),
    ),
    "oversharpening": Gauge(
        "the growth of fine detail", "times", lambda p: p.detail_gain, (1.12, 1.6, 2.1, 3.0), ("filter_share",)
    ),
    "low contrast": Gauge(
        "the contrast over the reference's", "", lambda p: p.contrast_gain, (0.92, 0.7, 0.5, 0.28),
        ("contrast_rms",), percent=True),
    "high contrast": Gauge(
        "the contrast over the reference's", "", lambda p: p.contrast_gain, (1.08, 1.35, 1.7, 2.2),
        ("contrast_rms",), percent=True),
    "banding": Gauge(
        "the share of levels in use of those the reference uses", "", lambda p: p.level_use_ratio,
        (0.3, 0.09, 0.05, 0.03), ("rms_error",), percent=True),
    "pixelation": Gauge(
        "the side of the squares of equal pixels over the reference's", "times", lambda p: p.pixel_size_gain,
        (1.6, 3.0, 4.5, 9.0), (),
    ),
}  # fmt: skip
"""Sub-type -> the gauge that compares with the reference."""


NATURAL_SIDE = 256
"""Shorter side from which the absence of every edge says something, pixels; a small crop may lie within a wall."""
CONTENT = 6.0
"""`tone_variation` from which there is content. Of 4,800 quarters of real photographs, 33 have no edge: skies, walls
and backgrounds with at most 4.0. Photographs blurred by 20 pixels have 10 to 37, pure textures 4."""
STARTING = (Severity.SLIGHT, Severity.MODERATE, Severity.SEVERE, Severity.EXTREME)
"""The severities that the bounds of a gauge start."""
BESIDE = "against the reference"
"""How an explanation says that its number is from a comparison."""
VEILED = 8.0
"""`least_blur` from which nothing is sharp: 15 to 27 pixels after a blur by 20, below 6 in 99 % of photographs."""


def severity_of(value: float, bounds: Bounds) -> Severity:
    """The severity of a measured number.

    Args:
        value: The number; NaN, not measurable, counts as none.
        bounds: Where slight, moderate, severe and extreme begin, rising or falling.

    Returns:
        The last severity whose bound is reached.
    """
    rising = bounds[0] < bounds[3]
    reached = sum(value >= bound if rising else value <= bound for bound in bounds)
    return list(Severity)[reached]


def is_veiled(features: ImageFeatures) -> bool:
    """Whether an image has content, more than a sky or a wall, and yet no slope that a sharp thing would show."""
    large = min(features.width, features.height) >= NATURAL_SIDE
    return large and features.tone_variation > CONTENT and features.least_blur > VEILED


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
    value, gauge = _read(name, features, pair)
    severity = severity_of(value, gauge.bounds)
    source = features if pair is None or name not in PAIRED else pair
    measured = {"value": value} | {field: float(getattr(source, field)) for field in gauge.fields}
    return DistortionFinding(
        type=name,
        severity=severity,
        confidence=confidence,
        explanation=_sentence(name, severity, value, gauge, with_reference=source is pair, why=why),
        measured=finite(measured),
    )


def _assess_kind(
    kind: Distortion, features: ImageFeatures, pair: PairFeatures | None, confidence: float, why: str
) -> DistortionFinding:
    names = [sub for sub, parent in SUBTYPES.items() if parent is kind and (sub in BLIND or (pair and sub in PAIRED))]
    if kind is Distortion.COLOR and pair is not None:
        value, gauge = pair.channel_shift if pair.channel_shift_rms > 0 else 0.0, CHANNEL_SHIFT
        if (severity := severity_of(value, gauge.bounds)) is not Severity.NONE:
            sentence = _sentence("color fringing", severity, value, gauge, with_reference=True, why=why)
            measured = finite({"value": value, "channel_shift_rms": pair.channel_shift_rms})
            return DistortionFinding(
                type=kind, severity=severity, confidence=confidence, explanation=sentence, measured=measured
            )
    findings = [assess(sub, features, pair, confidence=confidence, why=why) for sub in names]
    worst = max(findings, key=lambda finding: finding.severity.rank)
    return worst.model_copy(update={"type": kind.value})


def _read(
    name: str, features: ImageFeatures, pair: PairFeatures | None
) -> tuple[float, Gauge[ImageFeatures] | Gauge[PairFeatures]]:
    if pair is not None and name in PAIRED:
        return PAIRED[name].read(pair), PAIRED[name]
    if name in ("gaussian blur", "lens blur") and features.edge_tiles == 0 and is_veiled(features):
        return VEIL.read(features), VEIL
    if name not in BLIND:
        return math.nan, NOT_WITHOUT_REFERENCE
    return BLIND[name].read(features), BLIND[name]


def _sentence(
    name: str,
    severity: Severity,
    value: float,
    gauge: Gauge[ImageFeatures] | Gauge[PairFeatures],
    *,
    with_reference: bool,
    why: str,
) -> str:
    words, subject = in_words(name), subject_of(name)
    if math.isnan(value):
        return f"{subject} cannot be measured here: {gauge.label}."
    source = BESIDE if with_reference else "from the image alone"
    bounds = zip(STARTING, gauge.bounds, strict=True)
    starts = ", ".join(f"{each.value} from {gauge.number(bound)}" for each, bound in bounds)
    direction = "upwards" if gauge.rising else "downwards"
    reason = f"; {why}" if why else ""
    head = f"No {words}" if severity is Severity.NONE else f"{subject} is {severity.value}"
    return f"{head}: {gauge.label} is {gauge.said(value)}, {source} ({starts} {direction}){reason}."


def subject_of(name: str) -> str:
    """A distortion as it begins a sentence."""
    words = in_words(name)
    return words[0].upper() + words[1:]


def gauge_of(finding: DistortionFinding) -> Gauge[ImageFeatures] | Gauge[PairFeatures] | None:
    """The gauge that a finding's number was read from: of a kind, one of its sub-types'.

    Returns:
        The gauge whose label the explanation names; None for a finding of another origin.
    """
    kind = kind_of(finding.type)
    names = [finding.type, *(sub for sub, parent in SUBTYPES.items() if parent is kind)]
    table = PAIRED if BESIDE in finding.explanation else BLIND
    gauges = [table[name] for name in names if name in table]
    return next(
        (gauge for gauge in (*gauges, VEIL, CHANNEL_SHIFT) if f"{gauge.label} is " in finding.explanation), None
    )


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
