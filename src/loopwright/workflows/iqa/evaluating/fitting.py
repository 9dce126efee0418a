"""Fitting the curve from one tool's values to scores of 1 to 5.

The curve is the least-squares piecewise-linear one that is strictly monotone, with knots at quantiles of the values,
5 for a perfect value and 1 for a hopeless one. Data sets count equally. Its error is cross-validated: whole folds are
left out of the fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

Floats = NDArray[np.float64]
Knots = list[tuple[float, float]]

INNER_KNOTS = 9
SMALLEST_STEP = 0.03
"""Least rise of the score from knot to knot, so that no stretch of a curve is flat."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a curve begins and ends."""

    perfect: float
    """The raw value that gets 5."""
    hopeless: float
    """The raw value that gets 1."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One tool's values on one data set."""

    dataset: str
    """The data set's name."""
    raw: Floats
    """The tool's values."""
    score: Floats
    """People's scores, 1 to 5."""
    fold: NDArray[np.int64]
    """The fold that each row is left out with, from 0."""


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """A curve, and how far to trust it."""

    knots: Knots
    """(raw value, score) in rising order of the raw value."""
    error: float
    """Root mean square error on the rows left out of the fit; data sets count equally."""
    errors: dict[str, float]
    """The same for each data set alone."""
    rows: int
    """How many rows it was fitted to."""


def fit_curve(raw: Floats, score: Floats, weight: Floats, ends: Ends) -> Knots:
    """The knots of the weighted least-squares strictly monotone piecewise-linear curve.

    Args:
        raw: A tool's values.
        score: People's scores, 1 to 5.
        weight: How much each row counts.
        ends: Where the curve begins and ends.

    Returns:
        (raw value, score) in rising order of the raw value.
    """
    sign = 1.0 if ends.perfect > ends.hopeless else -1.0
    x, best, worst = sign * raw, sign * ends.perfect, sign * ends.hopeless
    inner = np.unique(np.quantile(x, np.linspace(0.01, 0.99, INNER_KNOTS)))
    knots = np.append(inner[(inner > worst) & (inner < best)], best)
    if len(knots) == 1:
        # Every value lies beyond an end: nothing is between them to fit.
        return sorted([(float(ends.hopeless), 1.0), (float(ends.perfect), 5.0)])
    # Column k falls from 1 to 0 between knots k and k + 1; the curve is 5 less what is still to rise.
    design = 1 - np.clip((x[:, None] - knots[:-1]) / np.diff(knots), 0, 1)
    lower = np.full(design.shape[1], SMALLEST_STEP)
    root = np.sqrt(weight / weight.mean())
    steps: Floats = lsq_linear(design * root[:, None], (5 - score) * root, bounds=(lower, np.inf)).x
    levels = 5 - np.append(np.cumsum(steps[::-1])[::-1], 0)
    # Scores near 1 could bring the curve below its own end.
    levels = np.maximum(levels, 1 + SMALLEST_STEP * np.arange(1, len(levels) + 1))
    pairs = zip(np.append(worst, knots), np.append(1, levels), strict=True)
    return sorted((round(float(sign * k), 6), round(float(level), 4)) for k, level in pairs)


def cross_validate(sets: Sequence[Samples], ends: Ends) -> FittedCurve:
    """Fit a curve to all rows, and measure its error on folds left out.

    Args:
        sets: One tool's values on each data set.
        ends: Where the curve begins and ends.

    Returns:
        The curve with its error.
    """
    raw, score = (np.concatenate([getattr(part, name) for part in sets]) for name in ("raw", "score"))
    fold = np.concatenate([part.fold for part in sets])
    weight = np.concatenate([np.full(len(part.raw), 1 / len(part.raw)) for part in sets])
    predicted = np.empty_like(score)
    for left_out in np.unique(fold):
        inside = fold != left_out
        knots = fit_curve(raw[inside], score[inside], weight[inside], ends)
        at, level = zip(*knots, strict=True)
        predicted[~inside] = np.interp(raw[~inside], at, level)
    square = (predicted - score) ** 2
    parts = np.split(square, np.cumsum([len(part.raw) for part in sets])[:-1])
    return FittedCurve(
        knots=fit_curve(raw, score, weight, ends),
        error=round(float(np.sqrt(np.average(square, weights=weight))), 4),
        errors={part.dataset: round(float(np.sqrt(held.mean())), 4) for part, held in zip(sets, parts, strict=True)},
        rows=len(raw),
    )


def folds_of(units: Sequence[Hashable], count: int) -> NDArray[np.int64]:
    """Deal whole units out to folds in turn, in the order in which they first come.

    Args:
        units: What each row belongs to.
        count: How many folds; there are never more than units.

    Returns:
        The fold of each row, from 0.
    """
    number = {unit: position for position, unit in enumerate(dict.fromkeys(units))}
    return np.array([number[unit] % count for unit in units], dtype=np.int64)
