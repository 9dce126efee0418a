"""How much each term of a question says."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from loopwright.retrieval.text import terms
from loopwright.workflows.rag.asking.words import informative_terms, names

_NAME_WEIGHT = 2.0


def term_weights(question: str, texts: Sequence[str] = ()) -> dict[str, float]:
    """Weigh a question's terms: names and numbers double, and rare ones more.

    Rarity is the inverse document frequency of BM25, ln(1 + (N - n + 0.5) / (n + 0.5)) (Robertson and Zaragoza, 2009),
    over the given texts.

    Args:
        question: The question.
        texts: Texts to compare with, for example everything that a search found; none leaves rarity out.

    Returns:
        Term -> weight, in the order of the question; the weights sum to 1, or there are none.
    """
    asked = informative_terms(question)
    special = {term for name in names(question) for term in terms(name)}
    held = [set(terms(text)) for text in texts]
    raw = {
        term: _rarity(sum(term in text for text in held), len(held))
        * (_NAME_WEIGHT if term in special or term.isdecimal() else 1.0)
        for term in asked
    }
    total = sum(raw.values())
    return {term: weight / total for term, weight in raw.items()}


def coverage(weights: Mapping[str, float], found: Collection[str]) -> float:
    """The share of a question's weight that a text's terms cover, from 0 to 1."""
    return sum(weight for term, weight in weights.items() if term in found)


def _rarity(holders: int, total: int) -> float:
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5)) if total else 1.0
