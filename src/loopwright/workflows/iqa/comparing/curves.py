"""Quality over rate: the curves of each reference, and what they come to over all references."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from loopwright.workflows.iqa.comparing.bjontegaard import Curve, bjontegaard
from loopwright.workflows.iqa.comparing.folder_results import CurvePair, CurvePoint, RateSummary
from loopwright.workflows.iqa.comparing.matching import Encodings
from loopwright.workflows.iqa.comparing.results import Interval, Measured
from loopwright.workflows.iqa.comparing.statistics import mean_interval
from loopwright.workflows.iqa.tools.registry import Tool


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
