"""How well each tool, and the pipeline's own answer, agree with people: figures with intervals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.evaluating.manifest import Row, Scale
from loopwright.workflows.iqa.evaluating.measuring import ANSWER, Measured, signed

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


RESAMPLES = 1000
"""Resamples by default."""

FEWEST_UNITS = 5
"""References, or groups, from which they are resampled instead of rows."""

UNITS: dict[str, Callable[[Row], Hashable]] = {
    "reference": lambda row: ("reference", row.reference) if row.reference else ("row", row.line),
    "group": lambda row: ("group", row.group) if row.group else ("row", row.line),
    "row": lambda row: row.line,
}
"""What is drawn as a whole: all images of a reference, all of a group, or each row by itself."""

PARTS: dict[str, Callable[[Row], str | None]] = {
    "distortion": lambda row: row.distortion,
    "group": lambda row: row.group,
    "level": lambda row: row.level,
    "split": lambda row: row.split,
}
"""By what the figures can be told apart."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One tool's agreement with people on some rows."""

    tool: str
    """The tool, or `ANSWER`."""
    srcc: Estimate
    """Spearman's rank correlation, positive where the tool agrees."""
    plcc: Estimate
    """Pearson's correlation after the fit; its interval holds the fit fixed."""
    krcc: Estimate
    """Kendall's tau-b, positive where the tool agrees."""
    rmse: Estimate
    """Root mean square difference of the calibrated score and people's, on the scale of 1 to 5; no number for a tool
    that has no curve."""
    curve: str
    """What was fitted for the PLCC."""
    behind: Estimate | None = None
    """SRCC of the answer less that of this tool, on the rows that both have; None for the answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows."""

    by: str
    """What they have in common: a key of `PARTS`, or ``"all"``."""
    value: str
    """Its value."""
    rows: int
    """How many."""
    tools: list[Agreement] = field(default_factory=list[Agreement])
    """The answer first, then the tools."""


def unit_of(rows: Sequence[Row], wanted: str | None) -> tuple[str, list[Hashable]]:
    """What is resampled as a whole.

    Args:
        rows: The rows.
        wanted: A key of `UNITS`; None takes the references where there are at least `FEWEST_UNITS`, else rows.

    Returns:
        The key, and each row's unit.
    """
    if wanted is None:
        references = {row.reference for row in rows if row.reference}
        wanted = "reference" if len(references) >= FEWEST_UNITS else "row"
    return wanted, [UNITS[wanted](row) for row in rows]


def agreement(
    measured: Sequence[Measured],
    scale: Scale,
    *,
    by: Sequence[str] = ("distortion",),
    unit: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Part]:
    """The figures over all rows, and over those of each distortion, group, level or split.

    Args:
        measured: What was measured; rows without people's score are left out.
        scale: The scale of people's scores.
        by: Keys of `PARTS`.
        unit: What is resampled as a whole; see `unit_of`.
        resamples: How often.
        seed: The same seed gives the same intervals.

    Returns:
        All rows first. Parts with fewer than `FEWEST` rows are left out.
    """
    scored = [item for item in measured if item.row.mos is not None and (item.raw or item.scores)]
    groups = [("all", "all", scored)]
    for key in by:
        values = sorted({value for item in scored if (value := PARTS[key](item.row))})
        groups += [(key, value, [item for item in scored if PARTS[key](item.row) == value]) for value in values]
    return [
        Part(key, value, len(items), _figures(items, scale, unit, resamples, seed))
        for key, value, items in groups
        if len(items) >= FEWEST
    ]


@dataclass
class _Series:
    """One tool's numbers, and the figures of each resample."""

    tool: str
    held: np.ndarray
    """Positions of the rows that it has a score for."""
    raw: Floats
    score: Floats
    fitted: Floats
    mos: Floats
    curve: str
    drawn: dict[str, list[Floats]] = field(default_factory=dict[str, list[Floats]])

    def pairs(self) -> dict[str, tuple[Figure, Floats]]:
        return {
            "srcc": (srcc, self.raw),
            "plcc": (plcc, self.fitted),
            "krcc": (krcc, self.raw),
            "rmse": (rmse, self.score),
        }

    def estimate(self, name: str, whole: float) -> Estimate:
        found = np.concatenate(self.drawn[name]).astype(float) if self.drawn.get(name) else np.array([])
        return Estimate(whole, *interval(found), rows=len(self.held))


def _series(tool: str, items: Sequence[Measured], scale: Scale) -> _Series | None:
    held = np.array(
        [position for position, item in enumerate(items) if tool in (item.scores if tool == ANSWER else item.raw)], int
    )
    if len(held) < FEWEST:
        return None
    chosen = [items[position] for position in held]
    score = np.array([item.scores.get(tool, np.nan) for item in chosen])
    raw = score if tool == ANSWER else signed(tool, np.array([item.raw[tool] for item in chosen]))
    mos = np.array([scale.on_levels(item.row.mos or 0.0) for item in chosen])
    fit = fit_logistic(raw, mos)
    return _Series(tool, held, raw, score, fit.values, mos, fit.curve)


def _figures(items: Sequence[Measured], scale: Scale, unit: str | None, resamples: int, seed: int) -> list[Agreement]:
    names = dict.fromkeys(name for item in items for name in (ANSWER, *item.raw))
    every = [series for name in names if (series := _series(name, items, scale))]
    every.sort(key=lambda series: series.tool != ANSWER)
    answer = next((series for series in every if series.tool == ANSWER), None)
    _, units = unit_of([item.row for item in items], unit)
    gaps: dict[str, list[Floats]] = {series.tool: [] for series in every}
    for weights in draw(units, resamples, seed):
        for series in every:
            mine = weights[:, series.held]
            for name, (figure, values) in series.pairs().items():
                series.drawn.setdefault(name, []).append(figure(values, series.mos, mine))
            if answer is not None and series is not answer:
                gaps[series.tool].append(_gap(answer, series, weights))
    return [_agreement(series, answer, gaps[series.tool], len(items)) for series in every]


def _agreement(series: _Series, answer: _Series | None, gaps: list[Floats], rows: int) -> Agreement:
    once = np.ones((1, len(series.held)), np.float32)
    whole = {name: float(figure(values, series.mos, once)[0]) for name, (figure, values) in series.pairs().items()}
    behind = None
    if answer is not None and series is not answer:
        both = len(np.intersect1d(answer.held, series.held))
        value = float(_gap(answer, series, np.ones((1, rows), np.float32))[0])
        behind = Estimate(value, *interval(np.concatenate(gaps).astype(float) if gaps else np.array([])), rows=both)
    estimates = {name: series.estimate(name, value) for name, value in whole.items()}
    return Agreement(series.tool, **estimates, curve=series.curve, behind=behind)


def _gap(answer: _Series, other: _Series, weights: Floats) -> Floats:
    """How far the answer's rank correlation lies above another's, on the same rows of the same resamples."""
    both, first, second = np.intersect1d(answer.held, other.held, return_indices=True)
    if len(both) < FEWEST:
        return np.full(len(weights), np.nan)
    drawn = weights[:, both]
    mos = answer.mos[first]
    return srcc(answer.raw[first], mos, drawn) - srcc(other.raw[second], mos, drawn)
