"""The gauges: for each type of distortion the number that stands for its strength, and where the severities begin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures

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
        """A value as it is told, with the unit.

        Args:
            value: As `read` gives it.
        """
        return f"{self.number(value)} {self.unit}".rstrip()


NOT_WITHOUT_REFERENCE: Gauge[ImageFeatures] = Gauge(
    "it shows only beside a reference", "", lambda _: math.nan, (1, 2, 3, 4), ()
)
CHANNEL_SHIFT: Gauge[PairFeatures] = Gauge(
    "the displacement between the colour channels", "pixels", lambda p: p.channel_shift, (0.2, 1.0, 2.0, 4.0), ()
)

_BLUR: Gauge[ImageFeatures] = Gauge(
    "the blur of the strongest edges", "pixels", lambda f: f.edge_sigma_strong,
    (0.9, 1.3, 2.0, 3.4),
    ("edge_sigma", "edge_sigma_strong", "edge_sigma_typical", "edge_sigma_weak", "fine_detail_gap"),
)  # fmt: skip
VEIL: Gauge[ImageFeatures] = Gauge(
    "the blur that would leave no steeper slope", "pixels", lambda f: f.least_blur,
    (0.9, 1.3, 2.0, 3.4), ("steepest_slope", "tone_variation"),
)  # fmt: skip
_NOISE: Gauge[ImageFeatures] = Gauge(
    "the noise in flat areas", "of 255 grey levels", lambda f: f.noise_sigma,
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
        ("jpeg_evidence", "blockiness"),
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
        ("halo", "edge_sigma"),
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
_PAIR_BRIGHTER: Gauge[PairFeatures] = Gauge(
    "the shift of the mean brightness",
    "of 255 grey levels",
    lambda p: p.mean_shift,
    (4, 15, 34, 58),
    ("contrast_gain",),
)
_PAIR_DARKER: Gauge[PairFeatures] = Gauge(
    "the shift of the mean brightness",
    "of 255 grey levels",
    lambda p: p.mean_shift,
    (-4, -15, -34, -58),
    ("contrast_gain",),
)

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
        ("jpeg_evidence", "blockiness_gain", "rms_error"),
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
    "overexposure": _PAIR_BRIGHTER,
    "underexposure": _PAIR_DARKER,
    "mean shift": Gauge(
        "the size of the shift of the mean brightness", "of 255 grey levels", lambda p: abs(p.mean_shift),
        (4, 15, 34, 58), ("mean_shift", "contrast_gain"),
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
