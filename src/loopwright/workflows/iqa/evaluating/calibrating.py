"""Fitting every tool's curve to a manifest of one's own, and writing the file that commands use."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.processes import Progress
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.evaluating.agreement import Agreement, agreement, unit_of
from loopwright.workflows.iqa.evaluating.fitting import Ends, Samples, cross_validate, folds_of
from loopwright.workflows.iqa.evaluating.manifest import Scale, read_rows, refuse_lost, scale_of
from loopwright.workflows.iqa.evaluating.measuring import Measured, measure_rows
from loopwright.workflows.iqa.tools.calibration import Calibration, shipped_calibrations
from loopwright.workflows.iqa.tools.registry import get_tool
from loopwright.workflows.pages import write_page

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
