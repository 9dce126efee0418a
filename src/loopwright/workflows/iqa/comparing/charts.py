"""Charts as the numbers that an inline SVG needs: scores of pairs against each other, and quality over rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.workflows.iqa.comparing.results import CurvePair, CurvePoint, Pairing

WIDTH, HEIGHT = 360, 260
"""Of a chart, in units of its view box."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 10, 36
_MOST_POINTS = 2000
"""Points of a scatter; of more, evenly chosen ones are drawn."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    """Its place along the axis."""
    text: str
    """What it says."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind."""

    kind: str
    """Class of their colour: "a", "b" or "pair"."""
    points: list[tuple[float, float, str]]
    """Place and what it is."""
    line: bool
    """Whether they are joined."""

    @property
    def path(self) -> str:
        """The line through the points, as SVG's ``points``."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart."""

    title: str
    """What it shows."""
    note: str
    """What came of it, or nothing."""
    x_label: str
    """The horizontal axis."""
    y_label: str
    """The vertical axis."""
    x_ticks: list[Tick]
    """Marks on it."""
    y_ticks: list[Tick]
    """Marks on the vertical axis."""
    series: list[Series]
    """What is drawn."""
    diagonal: tuple[float, float, float, float] | None = None
    """The line of equal values, from x, y to x, y."""
    left: float = _LEFT
    """Where the plot begins."""
    right: float = WIDTH - _RIGHT
    """Where it ends."""
    top: float = _TOP
    """Its upper edge."""
    bottom: float = HEIGHT - _BOTTOM
    """Its lower edge."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def scatter(pairs: Sequence[Pairing], scores: Sequence[tuple[float, float]], tool: str) -> Chart:
    """The scores of B over those of A, one point for each pair.

    Args:
        pairs: At least one pair.
        scores: Score of A and of B of each.
        tool: Whose scores they are.
    """
    step = math.ceil(len(pairs) / _MOST_POINTS)
    values = [value for both in scores for value in both]
    ticks = _quality_ticks(values)
    x = _Axis(ticks[0], ticks[-1], _LEFT, WIDTH - _RIGHT)
    y = _Axis(ticks[0], ticks[-1], HEIGHT - _BOTTOM, _TOP)
    points = [
        (x.at(a), y.at(b), f"{pair.name}: A {a:.2f}, B {b:.2f}")
        for pair, (a, b) in list(zip(pairs, scores, strict=True))[::step]
    ]
    return Chart(
        title=f"{tool}: B over A, above the line B is better",
        note="",
        x_label=f"{tool} score of A",
        y_label="score of B",
        x_ticks=[Tick(x.at(value), f"{value:g}") for value in ticks],
        y_ticks=[Tick(y.at(value), f"{value:g}") for value in ticks],
        series=[Series("pair", points, line=False)],
        diagonal=(x.start, y.start, x.end, y.end),
    )


def rate_chart(curve: CurvePair) -> Chart | None:
    """Quality over rate of one reference, the rate by its logarithm.

    Args:
        curve: The curves; None is returned if either has no points.
    """
    if not curve.a or not curve.b:
        return None
    points = [*curve.a, *curve.b]
    ticks = _quality_ticks([point.score for point in points])
    rates = [point.bits_per_pixel for point in points]
    x_ticks = _rate_ticks(min(rates), max(rates))
    x = _Axis(math.log(x_ticks[0]), math.log(x_ticks[-1]), _LEFT, WIDTH - _RIGHT)
    y = _Axis(ticks[0], ticks[-1], HEIGHT - _BOTTOM, _TOP)

    def places(of: Sequence[CurvePoint]) -> list[tuple[float, float, str]]:
        return [
            (
                x.at(math.log(item.bits_per_pixel)),
                y.at(item.score),
                f"{item.path}: {item.score:.2f} at {item.bits_per_pixel:.3f} bits per pixel",
            )
            for item in of
        ]

    note = curve.problem or ("" if curve.bd_rate is None else f"BD-rate {curve.bd_rate:+.1%}")
    return Chart(
        title=curve.reference,
        note=note,
        x_label="bits per pixel",
        y_label=f"{curve.tool} score",
        x_ticks=[Tick(x.at(math.log(value)), f"{value:g}") for value in x_ticks],
        y_ticks=[Tick(y.at(value), f"{value:g}") for value in ticks],
        series=[Series("a", places(curve.a), line=True), Series("b", places(curve.b), line=True)],
    )


def _quality_ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around some scores, at least two."""
    spread = max(values) - min(values)
    step = next((step for step in (0.1, 0.25, 0.5) if spread <= 5 * step), 1.0)
    low = math.floor(min(values) / step)
    high = max(low + 1, math.ceil(max(values) / step))
    return [round(number * step, 2) for number in range(low, high + 1)]


def _rate_ticks(low: float, high: float) -> list[float]:
    """Powers of two around a range of rates, at least two."""
    first = math.floor(math.log2(low))
    last = max(first + 1, math.ceil(math.log2(high)))
    return [round(2.0**power, 6) for power in range(first, last + 1)]
