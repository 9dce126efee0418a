"""How well each tool, and the pipeline's own answer, agree with people: figures with intervals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from loopwright.workflows.iqa.evaluating.manifest import Row, Scale
from loopwright.workflows.iqa.evaluating.measuring import ANSWER, Measured, signed
from loopwright.workflows.iqa.evaluating.statistics import (
    FEWEST,
    Estimate,
    Figure,
    Floats,
    draw,
    fit_logistic,
    interval,
    krcc,
    plcc,
    rmse,
    srcc,
)

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
