"""Whether a weighted mean of tools agrees better with people than the best of them, on types that it has not seen.

One candidate for each recognised kind of distortion: non-negative weights that sum to 1, of few tools, by least squares
with a pull towards the primary tool alone. It is judged on rows of one type and of one fold of references while neither
that type nor those references take part in any fit, of curves or of weights. It passes if it is ahead of the best
single tool, chosen in the same fold, and of the primary tool by `MINIMUM_GAIN` each, with intervals above 0.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from loopwright.workflows.iqa.distortions import Distortion, kind_of
from loopwright.workflows.iqa.evaluating import statistics
from loopwright.workflows.iqa.evaluating.agreement import FEWEST_UNITS, UNITS
from loopwright.workflows.iqa.evaluating.fitting import Ends, Floats, fit_curve, folds_of
from loopwright.workflows.iqa.evaluating.measuring import Measured
from loopwright.workflows.iqa.evaluating.scale import Scale
from loopwright.workflows.iqa.evaluating.statistics import Estimate, draw, interval, srcc
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.calibration import Calibration
from loopwright.workflows.iqa.tools.fusions import MINIMUM_GAIN, Fusion
from loopwright.workflows.iqa.tools.registry import all_tools, primary_tool

MOST_TOOLS = 3
"""Tools of a fusion at most: as many as one question runs by default."""

FEWEST_TRAINING_ROWS = 20
"""Rows of a kind from which weights are fitted; with fewer in a fold, the primary tool stands in there."""

LEAST_WEIGHT = 0.05
"""A tool with less is not worth its run."""

PULL = 1.0
"""Strength of the pull towards the primary tool alone: so many rows on which a tool is one level off."""

_SUM = 1e4
"""How much a sum of the weights other than 1 costs in the least squares; what is left is divided out."""

_PRIMARY = primary_tool(ReferenceMode.FULL).name
"""The tool that answers without a fusion."""


@dataclass(frozen=True, slots=True)
class TriedFusion:
    """The candidate of one recognised kind, and whether it is used."""

    kind: Distortion
    """The recognised kind."""
    rows: int
    """Rows of that kind with people's score, a reference, a true type and every tool's value."""
    types: int
    """How many true types these have."""
    gain: Estimate | None
    """SRCC less that of the best single tool or of the primary one, whichever is harder to beat: the smaller figure
    and the smaller ends of the intervals; None if it could not be judged."""
    fusion: Fusion | None
    """What passed; None keeps the primary tool."""
    why: str
    """Why it is used or not."""


@dataclass(frozen=True, slots=True)
class _Rows:
    tools: list[str]
    """The tools' names."""
    raw: Floats
    """Values, rows x tools."""
    people: Floats
    """People's scores, 1 to 5."""
    kind: NDArray[np.str_]
    """The recognised kind, or nothing."""
    type: NDArray[np.str_]
    """The true type."""
    reference: list[Hashable]
    """The reference."""
    ends: list[Ends]
    """Where each tool's curve begins and ends."""

    @property
    def primary(self) -> int:
        """The primary tool's column."""
        return self.tools.index(_PRIMARY)


def try_fusions(
    measured: Sequence[Measured],
    scale: Scale,
    curves: Mapping[str, Calibration],
    *,
    folds: int,
    resamples: int,
    dataset: str,
    seed: int = 0,
) -> list[TriedFusion]:
    """Fit and judge the fusion of every recognised kind.

    Args:
        measured: What was measured, with the recognised distortion. Rows without a reference, or that a tool could not
            measure, are left out; so are rows without a true type, because it cannot be left out of a fit.
        scale: The scale of people's scores.
        curves: Tool -> the curve that its score will be from; those that compare with a reference are fused.
        folds: Into how many parts the references are split.
        resamples: How often references are resampled for the intervals.
        dataset: What is fitted on.
        seed: The same seed draws the same.

    Returns:
        One result for each kind that was recognised in any row with a reference, in the order of `Distortion`.
    """
    names = [tool.name for tool in all_tools() if tool.reference is ReferenceMode.FULL and tool.name in curves]
    found = {kind_of(item.found) for item in measured if item.found and item.row.reference}
    kinds = [kind for kind in Distortion if kind in found]
    whole = [item for item in measured if item.row.reference and item.row.distortion and set(names) <= item.raw.keys()]
    lack = _lack(names, whole)
    if lack is not None:
        return [TriedFusion(kind, 0, 0, None, None, lack) for kind in kinds]
    rows = _Rows(
        tools=names,
        raw=np.array([[item.raw[name] for name in names] for item in whole]),
        people=np.array([scale.on_levels(item.row.mos or 0.0) for item in whole]),
        kind=np.array([kind_of(item.found).value if item.found else "" for item in whole]),
        type=np.array([item.row.distortion for item in whole]),
        reference=[UNITS["reference"](item.row) for item in whole],
        ends=[_ends(curves[name]) for name in names],
    )
    predicted = _left_out(rows, min(folds, len(set(rows.reference))))
    scores = np.array([[curves[name].score(value) for name, value in zip(names, raw, strict=True)] for raw in rows.raw])
    return [_try(kind, rows, scores, predicted, (resamples, seed), dataset) for kind in kinds]


def _lack(names: Sequence[str], whole: Sequence[Measured]) -> str | None:
    """Why no fusion of any kind can be judged; None if one can."""
    if _PRIMARY not in names or len(names) < 2:
        return f"a fusion needs {_PRIMARY} and another tool that compares with a reference"
    if not whole:
        return "no row gives a true type, so none can be left out"
    references = len({item.row.reference for item in whole})
    if references < FEWEST_UNITS:
        return f"it takes rows with true types of {FEWEST_UNITS} references, and there are {references}"
    return None


def _try(
    kind: Distortion, rows: _Rows, scores: Floats, predicted: Floats, resampling: tuple[int, int], dataset: str
) -> TriedFusion:
    inside = rows.kind == kind.value
    count, types = int(inside.sum()), len(set(rows.type[inside]))
    if types < 2 or count < 2 * FEWEST_TRAINING_ROWS:
        return TriedFusion(
            kind, count, types, None, None, f"it takes {2 * FEWEST_TRAINING_ROWS} rows of two true types"
        )
    drawn = draw([rows.reference[index] for index in np.flatnonzero(inside)], *resampling)
    gain = _gain(predicted[inside], rows.people[inside], list(drawn))
    weights = fit_weights(scores[inside], rows.people[inside], rows.primary)
    held = {name: round(float(w), 4) for name, w in zip(rows.tools, weights, strict=True) if w > 0}
    why = _verdict(gain, len(held))
    if why is not None:
        return TriedFusion(kind, count, types, gain, None, why)
    fusion = Fusion(
        kind=kind,
        weights=held,
        alone=_PRIMARY,
        gain=round(gain.value, 4),
        low=gain.low,
        high=gain.high,
        rows=count,
        types=types,
        dataset=dataset,
        fitted_on=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )
    return TriedFusion(kind, count, types, gain, fusion, "ahead of every single tool")


def fit_weights(scores: Floats, people: Floats, primary: int) -> Floats:
    """The weights of a mean of tools by least squares, none negative, with `PULL` towards the primary tool alone.

    Args:
        scores: Calibrated scores, rows x tools.
        people: People's scores, 1 to 5.
        primary: The primary tool's column.

    Returns:
        One weight for each tool; at most `MOST_TOOLS` are not 0, each at least `LEAST_WEIGHT`, together 1.
    """
    count = scores.shape[1]
    free = _solve(scores, people, np.arange(count) == primary)
    kept = np.argsort(-free, kind="stable")[:MOST_TOOLS]
    kept = kept[free[kept] > 0]
    weights = np.zeros(count)
    weights[kept] = _solve(scores[:, kept], people, kept == primary)
    weights[weights < LEAST_WEIGHT] = 0.0
    return weights / weights.sum()


def _solve(scores: Floats, people: Floats, alone: NDArray[np.bool_]) -> Floats:
    count = scores.shape[1]
    pull = np.sqrt(PULL)
    design = np.vstack([scores, pull * np.eye(count), np.full((1, count), _SUM)])
    found: Floats = nnls(design, np.concatenate([people, pull * alone, [_SUM]]))[0]
    return found / found.sum()


def _ends(curve: Calibration) -> Ends:
    (first, _), (last, _) = curve.knots[0], curve.knots[-1]
    return Ends(last, first) if curve.higher_is_better else Ends(first, last)


def _left_out(rows: _Rows, folds: int) -> Floats:
    """Scores of the fusion, of the best single tool in training and of the primary tool, rows x 3, all left out."""
    fold = folds_of(rows.reference, folds)
    predicted = np.full((len(rows.people), 3), np.nan)
    for outside, inside in _splits(rows.type, fold):
        outside &= rows.kind != ""
        if not outside.any() or inside.sum() < FEWEST_TRAINING_ROWS:
            continue
        scores = _calibrated(rows, inside)
        predicted[outside] = scores[outside][:, [rows.primary] * 3]
        for kind in np.unique(rows.kind[outside]):
            known, judged = inside & (rows.kind == kind), outside & (rows.kind == kind)
            if known.sum() < FEWEST_TRAINING_ROWS:
                continue
            people = rows.people[known]
            once = np.ones((1, len(people)))
            agreement = [srcc(column, people, once)[0] for column in scores[known].T]
            weights = fit_weights(scores[known], people, rows.primary)
            predicted[judged, 0] = scores[judged] @ weights
            predicted[judged, 1] = scores[judged, int(np.nanargmax(np.nan_to_num(agreement, nan=-1.0)))]
    return predicted


def _splits(types: NDArray[np.str_], fold: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """The rows of one type and fold, and those of neither."""
    for name in np.unique(types):
        for number in np.unique(fold):
            yield (types == name) & (fold == number), (types != name) & (fold != number)


def _calibrated(rows: _Rows, inside: NDArray[np.bool_]) -> Floats:
    """Every row's scores by curves that were fitted to some rows alone."""
    columns: list[Floats] = []
    weight = np.ones(int(inside.sum()))
    for raw, ends in zip(rows.raw.T, rows.ends, strict=True):
        at, level = zip(*fit_curve(raw[inside], rows.people[inside], weight, ends), strict=True)
        columns.append(np.interp(raw, at, level))
    return np.stack(columns, axis=1)


def _gain(predicted: Floats, people: Floats, drawn: Sequence[NDArray[np.float32]]) -> Estimate:
    def figures(weights: statistics.Floats) -> NDArray[Any]:
        fused, best, primary = (srcc(column, people, weights) for column in predicted.T)
        return np.stack([fused - best, fused - primary])

    value = float(figures(np.ones((1, len(people)))).min())
    ends = [interval(each) for each in np.concatenate([figures(weights) for weights in drawn], axis=1)]
    return Estimate(value, min(low for low, _ in ends), min(high for _, high in ends), len(people))


def _verdict(gain: Estimate, tools: int) -> str | None:
    """Why a fusion is not used; None if it is."""
    if not gain.value >= MINIMUM_GAIN:
        return f"the gain is below {MINIMUM_GAIN:g}"
    if not gain.low > 0:
        return "the interval of the gain holds 0"
    return None if tools > 1 else "one tool holds all the weight"
