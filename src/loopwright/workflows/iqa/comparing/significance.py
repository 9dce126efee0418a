"""How sure a mean difference is: bootstrap intervals over groups, and tests of whether it is zero."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.comparing.results import Interval

CONFIDENCE = 0.95
"""The level of every interval."""

RESAMPLES = 5000
"""Resamples of one interval."""

_BCA_GROUPS = 500
"""Up to so many groups the interval is bias-corrected and accelerated; its cost grows with the square of their number,
and with more groups it is the percentile interval to within the noise of resampling."""

_AT_ONCE = 4_000_000
"""Drawn numbers that are held in memory at a time."""


class Chance(NamedTuple):
    """Probabilities of so large a difference by chance, two-sided."""

    sign: float | None
    """Of the sign test; None if every difference is 0."""
    wilcoxon: float | None
    """Of the Wilcoxon signed-rank test; None if every difference is 0."""


def mean_interval(differences: Sequence[float], groups: Sequence[Hashable], seed: int) -> Interval | None:
    """A 95 % bootstrap interval of a mean in which whole groups are resampled.

    Images of one reference are not independent of each other; drawing each alone would make the interval too narrow.
    The statistic is the mean over all images of the drawn groups (`scipy.stats.bootstrap` on the groups' sums and
    sizes, paired): BCa (Efron, 1987), or percentile for many groups.

    Args:
        differences: One number for each image or pair.
        groups: What each belongs to, in the same order.
        seed: What chance begins with; the same seed gives the same interval.

    Returns:
        The interval, of no width if all groups have the same mean; None for fewer than two groups.
    """
    from scipy.stats import bootstrap  # type: ignore[import-untyped]

    sums, sizes = _grouped(differences, groups)
    if len(sums) < 2:
        return None
    means = sums / sizes
    if np.ptp(means) < 1e-12:
        return Interval(low=float(means[0]), high=float(means[0]))

    def mean(drawn_sums: NDArray[Any], drawn_sizes: NDArray[Any], axis: int = -1) -> NDArray[Any]:
        return drawn_sums.sum(axis=axis) / drawn_sizes.sum(axis=axis)

    found: Any = bootstrap(
        (sums, sizes), mean, paired=True, vectorized=True, n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
        batch=max(1, _AT_ONCE // len(sums)), method="BCa" if len(sums) <= _BCA_GROUPS else "percentile",
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    return Interval(low=float(found.confidence_interval.low), high=float(found.confidence_interval.high))


def chance(differences: Sequence[float], groups: Sequence[Hashable]) -> Chance:
    """Whether differences could be chance: the sign test and Wilcoxon's signed-rank test over the groups' means.

    Args:
        differences: One number for each image or pair.
        groups: What each belongs to, in the same order.

    Returns:
        The probabilities; groups whose mean is 0 are left out of both.
    """
    from scipy.stats import binomtest, wilcoxon  # type: ignore[import-untyped]

    sums, sizes = _grouped(differences, groups)
    means = (sums / sizes)[np.abs(sums) > 1e-12]
    if not len(means):
        return Chance(None, None)
    signed: Any = binomtest(int((means > 0).sum()), len(means))
    ranked: Any = wilcoxon(means)
    return Chance(float(signed.pvalue), float(ranked.pvalue))


def _grouped(differences: Sequence[float], groups: Sequence[Hashable]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sum and size of each group, in order of first appearance."""
    place: dict[Hashable, int] = {}
    index = [place.setdefault(group, len(place)) for group in groups]
    sizes = np.bincount(index, minlength=len(place)).astype(float)
    return np.bincount(index, weights=differences, minlength=len(place)), sizes
