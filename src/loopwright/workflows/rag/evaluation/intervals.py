"""Means and how far they could be off by the choice of questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopwright.workflows.rag.evaluation.schemas import Figure

RESAMPLES = 2_000
"""Resamples of one interval."""

SEED = 20_260_101
"""The seed of the resamples: the same values always have the same interval."""


def mean_figure(values: Sequence[float | None]) -> Figure:
    """The mean of a value over questions, with its 95 % percentile bootstrap interval.

    Source: B. Efron, R. Tibshirani, "An introduction to the bootstrap", 1993, chapter 13.

    Args:
        values: The value for each question; None where the question has none, which then does not count.
    """
    kept = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(kept):
        return Figure(n=0)
    chosen = np.random.default_rng(SEED).integers(len(kept), size=(RESAMPLES, len(kept)))
    low, high = np.quantile(kept[chosen].mean(axis=1), [0.025, 0.975])
    return Figure(value=float(kept.mean()), low=float(low), high=float(high), n=len(kept))
