"""Reciprocal rank fusion: one order from several whose scores cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SMOOTHING = 60.0
"""The constant of the formula, as its authors chose it: how little the very first ranks stand out."""


def reciprocal_rank_fusion(
    orders: Mapping[str, Sequence[str]],
    *,
    weights: Mapping[str, float] | None = None,
    smoothing: float = SMOOTHING,
) -> dict[str, float]:
    """Fuse orders of the same things into one.

    ``score(d) = sum over orders of weight / (smoothing + rank of d)``, ranks from 1; an order without d adds nothing.
    Source: G. Cormack, C. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009.

    Args:
        orders: Name of the order -> ids, best first, no id twice.
        weights: Name of the order -> how much it counts; 1 where missing.
        smoothing: The constant of the formula.

    Returns:
        Id -> score, the highest first; equal scores by id.
    """
    scores: dict[str, float] = {}
    for name, order in orders.items():
        weight = 1.0 if weights is None else weights.get(name, 1.0)
        for rank, item in enumerate(order, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (smoothing + rank)
    return dict(sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])))


def ranks(order: Sequence[str]) -> dict[str, int]:
    """Id -> its rank in an order, from 1."""
    return {item: rank for rank, item in enumerate(order, start=1)}
