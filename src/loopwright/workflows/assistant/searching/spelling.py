"""Words of the conference that a mistyped word may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

SHORTEST = 4
"""A shorter word is not corrected: too many others are one letter away."""
LEAST_ALIKE = 0.75
"""One edit in four letters, two in eight."""
_LONG = 7  # In words of so many letters a wrong first letter is rare enough to be forgiven.
_KEPT = 3


class Spelling:
    """Finds known words that are spelt like a word; never changed once made, safe in threads."""

    def __init__(self, words: Iterable[str]) -> None:
        """Sort the words by length and first letter.

        Args:
            words: Folded words; short ones and numbers are left out.
        """
        self._buckets: dict[tuple[int, str], list[str]] = {}
        for word in words:
            if len(word) >= SHORTEST and not word.isdigit():
                self._buckets.setdefault((len(word), word[0]), []).append(word)
        self._firsts = sorted({first for _, first in self._buckets})
        self.similar = lru_cache(maxsize=4096)(self._similar)
        """The known words that are spelt most like a word, at most three.

        The likeness is ``1 - d / longer length`` with d the optimal string alignment distance (insert, delete, replace,
        swap neighbours), from 0.75 up to 1. Short words must begin alike.

        Args:
            word: A folded word.

        Returns:
            Words with their likeness, the most alike first.
        """

    def _similar(self, word: str) -> tuple[tuple[str, float], ...]:
        if len(word) < SHORTEST or word.isdigit():
            return ()
        firsts = self._firsts if len(word) >= _LONG else [word[0]]
        lengths = range(int(len(word) * LEAST_ALIKE), int(len(word) / LEAST_ALIKE) + 1)
        near = [other for length in lengths for first in firsts for other in self._buckets.get((length, first), ())]
        found: Sequence[tuple[str, float, int]] = process.extract(
            word, near, scorer=OSA.normalized_similarity, score_cutoff=LEAST_ALIKE, limit=_KEPT
        )
        return tuple((other, likeness) for other, likeness, _ in found)
