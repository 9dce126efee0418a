"""Bjøntegaard deltas: how much rate one codec saves at equal quality, and how much quality it gains at equal rate.

The method of G. Bjøntegaard, "Calculation of average PSNR differences between RD-curves", VCEG-M33 (2001): the
difference of two curves is averaged over the range that both have, with the rate as its logarithm. In place of one
cubic polynomial, which can swing between the points, the curves are interpolated piecewise by monotone cubics (PCHIP,
Fritsch and Butland, 1984), as the JCT-VC common test conditions do (JCTVC-L1100, 2013). The quality may be any number
that rises with the quality, not PSNR alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Curve = Sequence[tuple[float, float]]
"""Points of (rate, quality), rate above 0."""

MIN_POINTS = 4
"""Points that a curve needs."""


class Delta(NamedTuple):
    """Curve B against curve A."""

    log_rate: float
    """Mean of ln(rate of B / rate of A) at equal quality; the BD-rate is exp(this) - 1."""
    quality: float | None
    """Mean of quality of B less quality of A at equal rate; None if the rates do not overlap."""
    overlap: float
    """Share of the qualities of both curves that both have, 0..1."""


def unusable(curve: Curve) -> str | None:
    """Why a curve cannot be compared.

    Args:
        curve: The points, in any order.

    Returns:
        The reason, or None if it has enough points and its quality rises with the rate.
    """
    points = sorted(curve)
    if len(points) < MIN_POINTS:
        return f"has {len(points)} points, and {MIN_POINTS} are needed"
    for (rate, quality), (next_rate, next_quality) in itertools.pairwise(points):
        if next_rate <= rate:
            return f"has two points at the rate {rate:.4g}"
        if next_quality <= quality:
            return f"does not rise from rate {rate:.4g} to {next_rate:.4g} ({quality:.4g} to {next_quality:.4g})"
    return None


def bjontegaard(a: Curve, b: Curve) -> Delta | str:
    """Compare two curves of quality over rate.

    Args:
        a: The curve that is compared with (the anchor).
        b: The curve in question.

    Returns:
        The deltas; or in words why there are none: a curve has fewer than four points or does not rise, or the two have
        no quality in common.
    """
    for name, curve in (("A", a), ("B", b)):
        problem = unusable(curve)
        if problem:
            return f"the curve of {name} {problem}"
    (rate_a, quality_a), (rate_b, quality_b) = _axes(a), _axes(b)
    log_rate = _mean_gap(quality_a, rate_a, quality_b, rate_b)
    if log_rate is None:
        return (
            f"the curves do not overlap: A has qualities {quality_a[0]:.4g} to {quality_a[-1]:.4g}, "
            f"B {quality_b[0]:.4g} to {quality_b[-1]:.4g}"
        )
    common = min(quality_a[-1], quality_b[-1]) - max(quality_a[0], quality_b[0])
    whole = max(quality_a[-1], quality_b[-1]) - min(quality_a[0], quality_b[0])
    return Delta(log_rate, _mean_gap(rate_a, quality_a, rate_b, quality_b), float(common / whole))


def _axes(curve: Curve) -> tuple[list[float], list[float]]:
    points = sorted(curve)
    return [math.log(rate) for rate, _ in points], [quality for _, quality in points]


def _mean_gap(x_a: Sequence[float], y_a: Sequence[float], x_b: Sequence[float], y_b: Sequence[float]) -> float | None:
    """Mean of y of B less y of A over the x that both have; None if that is nothing."""
    from scipy.interpolate import PchipInterpolator  # type: ignore[import-untyped]

    low, high = max(x_a[0], x_b[0]), min(x_a[-1], x_b[-1])
    if high <= low:
        return None
    curves: list[Any] = [PchipInterpolator(np.asarray(x), np.asarray(y)) for x, y in ((x_a, y_a), (x_b, y_b))]
    area_a, area_b = (float(curve.integrate(low, high)) for curve in curves)
    return (area_b - area_a) / (high - low)
