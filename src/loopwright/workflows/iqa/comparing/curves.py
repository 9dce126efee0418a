"""Quality over rate: how much rate one codec saves at equal quality, and how much quality it gains at equal rate.

The method of G. Bjøntegaard, "Calculation of average PSNR differences between RD-curves", VCEG-M33 (2001): the
difference of two curves is averaged over the range that both have, with the rate as its logarithm. In place of one
cubic polynomial, which can swing between the points, the curves are interpolated piecewise by monotone cubics (PCHIP,
Fritsch and Butland, 1984), as the JCT-VC common test conditions do (JCTVC-L1100, 2013). The quality may be any number
that rises with the quality, not PSNR alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from loopwright.workflows.iqa.comparing.matching import MIN_POINTS, Encodings
from loopwright.workflows.iqa.comparing.results import CurvePair, CurvePoint, Interval, Measured, RateSummary
from loopwright.workflows.iqa.comparing.winners import mean_interval
from loopwright.workflows.iqa.tools.registry import Tool

Curve = Sequence[tuple[float, float]]
"""Points of (rate, quality), rate above 0."""


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


def curve_pairs(
    encodings: Sequence[Encodings], images: Mapping[tuple[str, str], Measured], tools: Sequence[Tool]
) -> list[CurvePair]:
    """The curves of each reference by each tool, with their Bjøntegaard deltas.

    Args:
        encodings: The references with several images in both folders.
        images: Side ("A" or "B") and path -> what was measured; images that could not be are missing.
        tools: The tools.

    Returns:
        The curves in order of references, then tools.
    """
    return [_curve_pair(item, images, tool) for item in encodings for tool in tools]


def _curve_pair(item: Encodings, images: Mapping[tuple[str, str], Measured], tool: Tool) -> CurvePair:
    a, b = (
        _points([images[side, path] for path in paths if (side, path) in images], tool.name)
        for side, paths in (("A", item.a), ("B", item.b))
    )
    found = bjontegaard(_scores(a), _scores(b))
    raw = bjontegaard(_raw(a, tool), _raw(b, tool))
    problem = found if isinstance(found, str) else None
    return CurvePair(
        reference=item.reference,
        tool=tool.name,
        a=a,
        b=b,
        bd_rate=None if isinstance(found, str) else math.expm1(found.log_rate),
        bd_quality=None if isinstance(found, str) else found.quality,
        bd_rate_raw=None if isinstance(raw, str) else math.expm1(raw.log_rate),
        overlap=None if isinstance(found, str) else found.overlap,
        problem=problem,
    )


def _points(measured: Sequence[Measured], tool: str) -> list[CurvePoint]:
    points = [
        CurvePoint(path=item.path, bits_per_pixel=item.bits_per_pixel, score=item.scores[tool], raw=item.raw.get(tool))
        for item in measured
        if tool in item.scores
    ]
    return sorted(points, key=lambda point: point.bits_per_pixel)


def _scores(points: Sequence[CurvePoint]) -> Curve:
    return [(point.bits_per_pixel, point.score) for point in points]


def _raw(points: Sequence[CurvePoint], tool: Tool) -> Curve:
    sign = 1 if tool.higher_is_better else -1
    return [(point.bits_per_pixel, sign * point.raw) for point in points if point.raw is not None]


def rate_summaries(curves: Sequence[CurvePair], tools: Sequence[Tool], seed: int) -> list[RateSummary]:
    """The mean over references by each tool.

    Rates are averaged as logarithms: with A and B exchanged, the mean saving becomes the mean cost of the same ratio,
    which a mean of percentages would not.

    Args:
        curves: From `curve_pairs`.
        tools: The tools.
        seed: What the bootstrap's chance begins with.

    Returns:
        One for each tool; empty without curves.
    """
    return [
        _rate_summary([curve for curve in curves if curve.tool == tool.name], tool, seed) for tool in tools if curves
    ]


def _rate_summary(curves: Sequence[CurvePair], tool: Tool, seed: int) -> RateSummary:
    usable = [curve for curve in curves if curve.bd_rate is not None]
    rates = [math.log1p(curve.bd_rate) for curve in usable if curve.bd_rate is not None]
    raw = [math.log1p(curve.bd_rate_raw) for curve in curves if curve.bd_rate_raw is not None]
    qualities = [curve.bd_quality for curve in usable if curve.bd_quality is not None]
    interval = mean_interval(rates, range(len(rates)), seed)
    return RateSummary(
        tool=tool.name,
        primary=tool.primary,
        references=len(usable),
        left_out=len(curves) - len(usable),
        bd_rate=None if not rates else math.expm1(_mean(rates)),
        bd_rate_interval=None
        if interval is None
        else Interval(low=math.expm1(interval.low), high=math.expm1(interval.high)),
        bd_quality=_mean(qualities) if qualities else None,
        bd_quality_interval=mean_interval(qualities, range(len(qualities)), seed),
        bd_rate_raw=math.expm1(_mean(raw)) if raw else None,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
