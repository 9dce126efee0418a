"""The end of every search: the best k of what a backend scored, with ties by id."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.retrieval.records import Hit
from loopwright.retrieval.stores.sessions import Session

COLUMN_WEIGHTS = (2.0, 1.0, 1.0)
"""What a term counts for in the BM25 score by where it stands: title, heading, text."""
TEXT_DIGITS = 9
"""Decimal places of a BM25 score; beyond them, equal passages may differ by the order of additions."""
VECTOR_DIGITS = 6
"""Decimal places of a cosine; see `TEXT_DIGITS`."""

Scored = list[tuple[int, float]]
"""Passage numbers and scores, best first."""

_TIES = 16


def best_hits(session: Session, k: int, digits: int, fetch: Callable[[int], Scored]) -> list[Hit]:
    """The best k, best first; ties by id.

    Args:
        session: The transaction to look up ids in.
        k: At most how many, at least 1.
        digits: To how many decimal places scores are compared.
        fetch: Gives the best, as many as it is told.
    """
    limit = k + _TIES
    # Which of several equal passages are the last of k is decided by id, so all that equal the last are needed.
    while True:
        found = [(key, round(score, digits)) for key, score in fetch(limit)]
        if len(found) < limit or found[-1][1] < found[k - 1][1]:
            break
        limit *= 4
    named = session.among("key", [key for key, _ in found])
    rows = session.rows(f"SELECT key, id FROM passage WHERE {named.sql}", named.parameters)
    id_of: dict[int, str] = {row[0]: row[1] for row in rows}
    hits = [Hit(id_of[key], score) for key, score in found]
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k]
