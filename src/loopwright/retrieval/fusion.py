"""Reciprocal rank fusion: one order from several whose scores cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SMOOTHING = 60.0
"""The constant of the formula, as its authors chose it: how little the very first ranks stand out."""


def reciprocal_rank_fusion(orders: Iterable[Sequence[str]]) -> dict[str, float]:
    """Fuse orders of the same things into one.

    ``score(d) = sum over orders of 1 / (SMOOTHING + rank of d)``, ranks from 1; an order without d adds nothing.
    Source: G. Cormack, C. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009.

    Args:
        orders: Ids in each, best first, no id twice.

    Returns:
        Id -> score, the highest first; equal scores by id.
    """
    scores: dict[str, float] = {}
    for order in orders:
        for rank, item in enumerate(order, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (SMOOTHING + rank)
    return dict(sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])))
