"""How good a ranking is against what is known to be relevant."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def recall_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """The share of what k places could hold of the relevant records that they do hold.

    ``hits / min(k, relevant)``: a question with more relevant records than places can still reach 1.

    Args:
        ranked: Ids, the best first; of an id that is there twice, the first place counts.
        relevant: The ids that are relevant.
        k: How many places count.

    Returns:
        From 0 to 1; None if nothing is relevant.
    """
    wanted = frozenset(relevant)
    if not wanted:
        return None
    return len(wanted.intersection(_first(ranked, k))) / min(k, len(wanted))


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """Normalised discounted cumulative gain of the first k places, with a gain of 1 for each relevant record.

    ``sum over relevant places of 1 / log2(1 + place)``, places from 1, over the same of a perfect ranking.
    Source: K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002.

    Args:
        ranked: Ids, the best first; of an id that is there twice, the first place counts.
        relevant: The ids that are relevant.
        k: How many places count.

    Returns:
        From 0 to 1; None if nothing is relevant.
    """
    wanted = frozenset(relevant)
    if not wanted:
        return None
    gained = sum(_discount(place) for place, found in enumerate(_first(ranked, k), 1) if found in wanted)
    return gained / sum(_discount(place) for place in range(1, min(k, len(wanted)) + 1))


def difference(after: float | None, before: float | None) -> float | None:
    """What is gained, or None where one of the two is not known.

    Args:
        after: The later value.
        before: The earlier value.
    """
    return None if after is None or before is None else after - before


def _first(ranked: Sequence[str], k: int) -> list[str]:
    return list(dict.fromkeys(ranked))[:k]


def _discount(place: int) -> float:
    return 1 / math.log2(1 + place)
