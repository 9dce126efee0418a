"""Means and how far they could be off by the choice of questions."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, cast

from pydantic import Field

from loopwright.config import Frozen

RESAMPLES = 2_000
"""Resamples of one interval."""

SEED = 20_260_101
"""The seed of the resamples: the same values always have the same interval."""

FEWEST = 5
"""Pairs from which a rank correlation is told."""


class Figure(Frozen):
    """A mean over questions."""

    value: float | None = None
    """The mean; None if no question counts."""
    low: float | None = None
    """The lower end of its 95 % bootstrap interval."""
    high: float | None = None
    """The upper end."""
    n: int = Field(ge=0)
    """The questions that count."""


def mean_figure(values: Iterable[float | None]) -> Figure:
    """The mean of a value over questions, with its 95 % percentile bootstrap interval.

    The mean of differences between two ways of answering the same questions has the interval of a paired comparison.
    A question that has no value, but None, does not count.
    """
    import numpy as np
    from scipy.stats import bootstrap

    kept = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(kept):
        return Figure(n=0)
    mean = float(kept.mean())
    if np.ptp(kept) == 0:  # nothing can be drawn that differs, and of a single value scipy makes no interval
        return Figure(value=mean, low=mean, high=mean, n=len(kept))
    drawn = cast("Any", bootstrap((kept,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED))
    low, high = drawn.confidence_interval
    return Figure(value=mean, low=float(low), high=float(high), n=len(kept))


def rank_figure(pairs: Sequence[tuple[float, float]]) -> Figure:
    """Spearman's rank correlation, with its 95 % percentile bootstrap interval over the pairs, one of each question.

    Of fewer than `FEWEST` there is no value.
    """
    import numpy as np
    from scipy.stats import bootstrap, spearmanr

    if len(pairs) < FEWEST or any(len(set(numbers)) < 2 for numbers in zip(*pairs, strict=True)):
        return Figure(n=len(pairs))

    def srcc(first: Any, second: Any) -> float:
        return float(cast("Any", spearmanr(first, second)).statistic)

    first, second = (np.array(numbers) for numbers in zip(*pairs, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a resample whose numbers are all the same, which then does not count
        drawn = cast("Any", bootstrap)(
            (first, second), srcc, paired=True, vectorized=False, n_resamples=RESAMPLES, method="percentile", rng=SEED
        )
    low, high = np.nanquantile(drawn.bootstrap_distribution, (0.025, 0.975))
    return Figure(value=srcc(first, second), low=float(low), high=float(high), n=len(pairs))
