"""Choosing passages that answer a question together, not each on its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

COVERED_SHARE = 0.1
"""What a query term still counts once a chosen passage covers it."""


def choose_evidence(
    coverage: Floats,
    prior: Floats,
    links_of: Callable[[int], Floats],
    k: int,
) -> list[tuple[int, float]]:
    """Choose passages one after the other, each for what it adds to those before.

    What a passage adds is the sum of

    - its BM25 weight on the query's terms, each only as far as no chosen passage covers it better (and for
      `COVERED_SHARE` in full: repeating the same still confirms);
    - its strongest link with a chosen passage: the second step of a question shares an entity with the first;
    - its prior, which depends on the query alone.

    Without links and prior this is greedy maximisation of a submodular coverage function; see H. Lin and J. Bilmes,
    "A class of submodular functions for document summarization", ACL 2011.

    Args:
        coverage: float32 [terms, passages], the BM25 weight of each term in each passage.
        prior: float32 [passages], in the same unit.
        links_of: Gives the links of a passage with all others, float32 [passages], in the same unit.
        k: How many to choose.

    Returns:
        The places of the chosen passages and what each added, in the order of choice.
    """
    own = coverage.sum(axis=0)
    covered = np.zeros((coverage.shape[0], 1), np.float32)
    linked = np.zeros(coverage.shape[1], np.float32)
    free = np.ones(coverage.shape[1], bool)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(k, coverage.shape[1])):
        added = np.maximum(coverage - covered, 0).sum(axis=0)
        gain = COVERED_SHARE * own + (1 - COVERED_SHARE) * added + linked + prior
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        chosen.append((best, float(gain[best])))
        free[best] = False
        covered = np.maximum(covered, coverage[:, best : best + 1])
        linked = np.maximum(linked, links_of(best))
    return chosen
