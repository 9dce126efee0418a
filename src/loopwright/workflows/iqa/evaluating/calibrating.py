"""Fitting every tool's curve to a manifest of one's own, and writing the file that commands use."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.processes import Progress
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.evaluating.agreement import Agreement, agreement, unit_of
from loopwright.workflows.iqa.evaluating.manifest import Scale, read_rows, refuse_lost, scale_of
from loopwright.workflows.iqa.evaluating.measuring import Measured, measure_rows
from loopwright.workflows.iqa.tools.calibration import Calibration, shipped_calibrations
from loopwright.workflows.iqa.tools.registry import get_tool
from loopwright.workflows.pages import write_page

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


FOLDS = 12
"""Folds by default."""

FEWEST_ROWS = 20
"""Rows from which a curve is fitted."""


@dataclass(frozen=True, slots=True)
class FittedTool:
    """One tool's new curve beside its agreement with people."""

    curve: Calibration
    """The curve with its cross-validated error."""
    agreement: Agreement
    """Its figures on the same rows; their RMSE is that of the curve in use so far."""


@dataclass(frozen=True, slots=True)
class FittedCurves:
    """What a calibration found."""

    tools: list[FittedTool]
    """The tools that have a new curve."""
    left_out: dict[str, int]
    """Tools with too few rows for a curve -> their number of rows."""
    scale: Scale
    """The scale of people's scores."""
    folds: int
    """How many folds were left out in turn."""
    unit: str
    """What a fold is made of."""
    problems: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    """Line, name and problem of each row that could not be measured in full."""


def calibrate(
    path: Path,
    config: IQAConfig | None = None,
    *,
    scale: str | None = None,
    lower_is_better: bool = False,
    tools: tuple[str, ...] | None = None,
    folds: int = FOLDS,
    unit: str | None = None,
    resamples: int = 1000,
    workers: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> FittedCurves:
    """Fit one strictly monotone curve for each tool.

    Each curve ends where the shipped one does: what is perfect and what is hopeless does not depend on the data. A tool
    that ships none ends at its own bounds, or a little beyond the values.

    Args:
        path: The manifest; see `read_rows`.
        config: Gives the tools' time limit and the largest image.
        scale: The range of people's scores, like ``"0,9"``; by default the narrowest known one that fits.
        lower_is_better: Whether a low score means good quality.
        tools: Names of the tools; None fits all that apply.
        folds: How many parts are left out in turn for the error.
        unit: What is left out as a whole; see `unit_of`.
        resamples: How often rows are resampled for the intervals.
        workers: How many processes.
        on_progress: Hears how far it has come.

    Returns:
        The curves.

    Raises:
        InputError: If the manifest or the scale is wrong, none of several images is there, or
            no tool has `FEWEST_ROWS` rows.
    """
    config = config or IQAConfig()
    rows = read_rows(path)
    known = scale_of(rows, scale, lower_is_better=lower_is_better, path=path)
    scored = [row for row in rows if row.mos is not None]
    refuse_lost(scored, path)
    measured = measure_rows(
        scored, path.parent, config, tools=tools, pipeline=False, workers=workers, on_progress=on_progress
    )
    used, units = unit_of(scored, unit)
    count = min(folds, len(set(units)))
    fold = folds_of(units, max(2, count))
    names = list(dict.fromkeys(name for item in measured for name in item.raw))
    counts = {name: sum(name in item.raw for item in measured) for name in names}
    if not any(number >= FEWEST_ROWS for number in counts.values()):
        raise InputError(f"{str(path)!r} has too few rows that a tool could measure; a curve needs {FEWEST_ROWS}")
    whole = agreement(measured, known, by=(), unit=unit, resamples=resamples)[0]
    figures = {item.tool: item for item in whole.tools}
    fitted = [
        FittedTool(_curve(name, measured, known, fold, path.name), figures[name])
        for name in names
        if counts[name] >= FEWEST_ROWS
    ]
    return FittedCurves(
        tools=fitted,
        left_out={name: number for name, number in counts.items() if number < FEWEST_ROWS},
        scale=known,
        folds=count,
        unit=used,
        problems=[(item.row.line, item.row.name, said) for item in measured for said in item.problems],
    )


def write_curves(found: FittedCurves, path: Path, source: str) -> None:
    """Write the file that ``iqa.tools.calibration`` names, whole or not at all; an older one is replaced.

    Args:
        found: The curves.
        path: Where to.
        source: What they were fitted on.

    Raises:
        InputError: If it cannot be written.
    """
    note = f"Fitted by `loopwright iqa calibrate` on {source}; use it with iqa.tools.calibration."
    held = {"note": note, "calibrations": [item.curve.model_dump(mode="json") for item in found.tools]}
    try:
        write_page(path, [json.dumps(held, indent=1), "\n"])
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _curve(tool: str, measured: Sequence[Measured], scale: Scale, fold: np.ndarray, dataset: str) -> Calibration:
    held = [position for position, item in enumerate(measured) if tool in item.raw]
    raw = np.array([measured[position].raw[tool] for position in held])
    score = np.array([scale.on_levels(measured[position].row.mos or 0.0) for position in held])
    fitted = cross_validate([Samples(dataset, raw, score, fold[held])], _ends(tool, raw))
    return Calibration(
        tool=tool,
        knots=tuple(fitted.knots),
        error=max(fitted.error, 1e-4),
        errors=fitted.errors,
        dataset=dataset,
        rows=fitted.rows,
        fitted_on=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )


def _ends(tool: str, raw: np.ndarray) -> Ends:
    """The shipped curve's; without one, the tool's own bounds, or a tenth of the values' range beyond the values."""
    known, found = shipped_calibrations().get(tool), get_tool(tool)
    if known is not None:
        low, high = known.knots[0][0], known.knots[-1][0]
    else:
        beyond = 0.1 * float(np.ptp(raw)) or 1.0
        low, high = (
            bound if math.isfinite(bound) else end
            for bound, end in zip(found.bounds, (raw.min() - beyond, raw.max() + beyond), strict=True)
        )
    return Ends(high, low) if found.higher_is_better else Ends(low, high)
