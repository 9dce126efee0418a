"""Means and how far they could be off by the choice of questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

RESAMPLES = 2_000
"""Resamples of one interval."""

SEED = 20_260_101
"""The seed of the resamples: the same values always have the same interval."""


class Figure(BaseModel):
    """A mean over questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float | None = None
    """The mean; None if no question counts."""
    low: float | None = None
    """The lower end of its 95 % bootstrap interval."""
    high: float | None = None
    """The upper end."""
    n: int = Field(ge=0)
    """The questions that count."""


def mean_figure(values: Sequence[float | None]) -> Figure:
    """The mean of a value over questions, with its 95 % percentile bootstrap interval.

    Source: B. Efron, R. Tibshirani, "An introduction to the bootstrap", 1993, chapter 13. The mean of differences
    between two ways of answering the same questions has the interval of a paired comparison.

    Args:
        values: The value for each question; None where the question has none, which then does not count.
    """
    kept = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(kept):
        return Figure(n=0)
    chosen = np.random.default_rng(SEED).integers(len(kept), size=(RESAMPLES, len(kept)))
    low, high = np.quantile(kept[chosen].mean(axis=1), [0.025, 0.975])
    return Figure(value=float(kept.mean()), low=float(low), high=float(high), n=len(kept))
