"""Agreement between a tool's values and people's scores, with intervals from resampling.

Every figure is computed from weights: how often each row is drawn. One resample is one vector of weights, all resamples
of a chunk are one matrix, and the same matrix serves every tool, so that differences between tools are paired. For
whole-number weights the figures are exactly those of the resampled rows written out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]
Figure = Callable[[Floats, Floats, Floats], Floats]
"""Values (n), scores (n) and weights (resamples x n) -> one figure for each resample; NaN where there is none."""

LEVEL = 0.95
"""How often an interval should cover the true figure."""

FEWEST = 5
"""Rows from which a figure is told at all."""

_NO_SPREAD = 1e-10
"""Below this, what is left of the product of two spreads is rounding."""

_CONVERGED = 1e-7
"""Relative change of the squared error at which a fit has converged: a flat valley would be followed for ever."""

_CHUNK = 2_000_000
"""Weights that are held at a time."""

_PAIRS_AT_ONCE = 3000
"""Rows up to which all pairs are compared at once; beyond, Kendall's tau is computed resample by resample."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval."""

    value: float
    """The figure over all rows."""
    low: float
    """Lower end of the interval of `LEVEL`."""
    high: float
    """Upper end of the interval."""
    rows: int
    """How many rows it is about."""

    def as_json(self) -> dict[str, float | int | None]:
        """Plain values; what is no number becomes None."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        return {name: round(n, 5) if np.isfinite(n) else None for name, n in numbers.items()} | {"rows": self.rows}


def draw(units: Sequence[Hashable], resamples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Draw whole units with replacement, as many as there are.

    Args:
        units: What each row belongs to; rows of one unit are drawn together.
        resamples: How often.
        seed: The same seed draws the same.

    Yields:
        Chunks of weights, shape (resamples of the chunk, rows).
    """
    number = {unit: position for position, unit in enumerate(dict.fromkeys(units))}
    of_row = np.array([number[unit] for unit in units])
    rng = np.random.default_rng(seed)
    at_once = max(1, _CHUNK // max(1, len(units)))
    for start in range(0, resamples, at_once):
        count = min(at_once, resamples - start)
        drawn = rng.integers(0, len(number), (count, len(number)))
        times = np.stack([np.bincount(row, minlength=len(number)) for row in drawn])
        yield times[:, of_row].astype(np.float32)


def interval(values: Floats) -> tuple[float, float]:
    """The percentile interval of `LEVEL`; NaN if no resample gave a figure.

    Args:
        values: The figure of each resample; those that are no number are left out.
    """
    held = values[np.isfinite(values)]
    if not len(held):
        return float("nan"), float("nan")
    low, high = np.quantile(held, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def srcc(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's rank correlation: Pearson's of the ranks, those of ties averaged."""
    return _correlation(_ranks(x, weights), _ranks(y, weights), weights)


def plcc(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson's correlation."""
    return _correlation(x[None], y[None], weights)


def rmse(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Root mean square difference."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(weights @ ((x - y) ** 2) / weights.sum(axis=1))


def krcc(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Kendall's rank correlation, tau-b."""
    if len(x) > _PAIRS_AT_ONCE:
        from scipy.stats import kendalltau

        times = [np.repeat(np.arange(len(x)), row.astype(int)) for row in weights]
        return np.array([cast("Any", kendalltau(x[drawn], y[drawn])).statistic for drawn in times])
    dx, dy = np.sign(x[:, None] - x), np.sign(y[:, None] - y)

    def pairs(signs: Floats) -> Floats:
        return ((weights @ signs.astype(weights.dtype)) * weights).sum(axis=1, dtype=np.float64)

    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs(dx * dy) / np.sqrt(pairs(dx**2) * pairs(dy**2))


def _ranks(values: Floats, weights: Floats) -> Floats:
    """Average ranks, shape of the weights, within the rows as often as they are drawn."""
    kinds, of_row = np.unique(values, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(len(kinds)))
    together = np.add.reduceat(weights[:, order].astype(np.float64), starts, axis=1)
    return (np.cumsum(together, axis=1) - together + (together + 1) / 2)[:, of_row]


def _correlation(x: Floats, y: Floats, weights: Floats) -> Floats:
    w = weights / weights.sum(axis=1, keepdims=True, dtype=np.float64)
    x = x - (w * x).sum(axis=1, keepdims=True)
    y = y - (w * y).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.sqrt((w * x**2).sum(axis=1) * (w * y**2).sum(axis=1))
        return np.where(along > _NO_SPREAD, (w * x * y).sum(axis=1) / along, np.nan)


@dataclass(frozen=True, slots=True)
class Fit:
    """A tool's values brought onto the scale of people's scores."""

    values: Floats
    """The fitted scores."""
    curve: str
    """What was fitted."""


def fit_logistic(x: Floats, y: Floats) -> Fit:
    """Fit the five-parameter logistic of the video quality experts group (Sheikh, Sabir, Bovik 2006).

    ``y = b1 (1/2 - 1 / (1 + exp(b2 (x - b3)))) + b4 x + b5``. Where that does not converge, or the curve turns back
    within the data, the straight line b4 x + b5 is taken.

    Args:
        x: A tool's values.
        y: People's scores.

    Returns:
        The fitted scores and which curve it was.
    """
    from scipy.optimize import least_squares
    from scipy.special import expit

    spread = float(np.std(x))
    if len(x) <= FEWEST or not spread or not np.std(y):
        return Fit(_line(x, y), "straight line, for want of rows")
    z = (x - np.mean(x)) / spread

    def curve(b: Floats, z: Floats) -> Floats:
        return b[0] * (expit(b[1] * (z - b[2])) - 0.5) + b[3] * z + b[4]

    def misses(b: Floats) -> Floats:
        return curve(b, z) - y

    rising = 1.0 if np.corrcoef(z, y)[0, 1] >= 0 else -1.0
    start = (float(np.ptp(y)), 2 * rising, float(np.median(z)), 0.0, float(np.mean(y)))
    found = cast("Any", least_squares(misses, start, max_nfev=2000, ftol=_CONVERGED))
    if not found.success:
        return Fit(_line(x, y), "straight line, because the logistic did not converge")
    steps = np.diff(curve(found.x, np.linspace(z.min(), z.max(), 200)))
    # A turn by less than a thousandth of the scores' range is no turn.
    slack = 1e-3 * float(np.ptp(y))
    if min(-steps[steps < 0].sum(), steps[steps > 0].sum()) > slack:
        return Fit(_line(x, y), "straight line, because the logistic turns back within the data")
    return Fit(curve(found.x, z), "five-parameter logistic")


def _line(x: Floats, y: Floats) -> Floats:
    if not np.std(x):
        return np.full_like(y, np.mean(y))
    slope, offset = np.polyfit(x, y, 1)
    return slope * x + offset
