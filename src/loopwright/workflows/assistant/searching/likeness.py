"""How well a record fits a question, from 0 to 1, from how it fits in words and in meaning."""

from __future__ import annotations

import numpy as np

from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.searching.index import Floats

WORDS_WEIGHT = 4.0
"""What words that cover the whole question add to the likeness in meaning, in its unit. Measured on questions to two
years of one conference: from 2 to 6 there is no difference."""
SURE = 1.2
"""The likeness from which on the conference has something on the question, by the same questions."""
COMPANY = 0.5
"""The share of what the best one is above `SURE` that all gain: where one fits well, what comes near is more likely to
fit too."""
MOST_COMPANY = 0.6
"""The most that is gained so."""
_WORDS_COMPANY, _MOST_WORDS_COMPANY = 0.3, 0.1
_MIDDLE, _WIDTH = 1.71, 0.82  # so that SURE becomes 0.35 and what nearly repeats the question 0.95


def combined(words: Floats, meaning: Floats, missing: float) -> Floats:
    """Likeness in words and in meaning as one number on the scale of the latter.

    ``meaning + 4 * words ** 2 - missing``. A weighted sum keeps how much better one is than the next, which rank fusion
    forgets; the square keeps the chance finds of single common words small. What is missing takes from all alike: words
    that the conference never uses make it less likely that it has anything, however near something else is. Source: S.
    Bruch, S. Gai, A. Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023.

    Args:
        words: The share of the question that is covered, from 0 to 1.
        meaning: As `DenseSearch.similarities` gives it.
        missing: The share of the question that no record holds anything of.
    """
    return np.asarray(meaning + np.float32(WORDS_WEIGHT) * words**2 - np.float32(missing), np.float32)


def company(best: float) -> float:
    """What all records gain where one fits well.

    Args:
        best: The highest `combined` likeness in the table, whatever the filters.
    """
    return min(MOST_COMPANY, COMPANY * max(0.0, best - SURE))


def covered(words: Floats, best: float) -> Floats:
    """The share of a question that is covered as a score, where meaning takes no part.

    As with `company`, what is found gains 0.3 of what the best one is above the usual threshold, at most 0.1.

    Args:
        words: The shares, from 0 to 1.
        best: The highest share in the table, whatever the filters.
    """
    gain = min(_MOST_WORDS_COMPANY, _WORDS_COMPANY * max(0.0, best - DEFAULT_THRESHOLD))
    return np.where(words > 0, np.minimum(words + np.float32(gain), 1), words).astype(np.float32)


def scored(likeness: Floats) -> Floats:
    """A `combined` likeness as a score from 0 to 1: ``1 / (1 + exp(-(likeness - 1.71) / 0.82))``.

    Args:
        likeness: The likeness, with what `company` adds.
    """
    return (1 / (1 + np.exp(-(likeness - np.float32(_MIDDLE)) / np.float32(_WIDTH)))).astype(np.float32)
