"""Words of the conference that a mistyped word may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from loopwright.workflows.assistant.searching.english import english_words

SHORTEST = 4
"""A shorter word is not corrected: too many others are one letter away."""
_FIRST_FORGIVEN = 7  # In words of so many letters a first letter may be left out or added, but not be another.
_TWO_EDITS = 9  # In shorter words, two edits make another word.
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
        self.near = lru_cache(maxsize=4096)(self._near)
        """The known words that are spelt most like a word, correct English or not, at most three.

        One edit (insert, delete, replace, swap neighbours) is forgiven, two in words of nine letters and more. The
        first letter stays; only in words of seven letters and more it may be left out, added or swapped. The likeness
        is ``1 - d / longer length`` with d the optimal string alignment distance.

        Args:
            word: A folded word.

        Returns:
            Words with their likeness, the most alike first.
        """

    def similar(self, word: str) -> tuple[tuple[str, float], ...]:
        """The same for a word that is no correct English; none for one that is.

        Args:
            word: A folded word.
        """
        return () if word in english_words() else self.near(word)

    def _near(self, word: str) -> tuple[tuple[str, float], ...]:
        if len(word) < SHORTEST or word.isdigit():
            return ()
        edits = 2 if len(word) >= _TWO_EDITS else 1
        found = _nearest(word, self._beginning(word, word[0], edits), edits)
        if len(word) >= _FIRST_FORGIVEN:
            others = [
                other
                for first in self._firsts
                if first != word[0]
                for other in self._beginning(word, first, 1)
                if other[1:] != word[1:]
            ]
            found += _nearest(word, others, 1)
        return tuple(sorted(found, key=lambda each: -each[1])[:_KEPT])

    def _beginning(self, word: str, first: str, edits: int) -> list[str]:
        lengths = range(len(word) - edits, len(word) + edits + 1)
        return [other for length in lengths for other in self._buckets.get((length, first), ())]


def _nearest(word: str, known: Sequence[str], edits: int) -> list[tuple[str, float]]:
    found: Sequence[tuple[str, int, int]] = process.extract(
        word, known, scorer=OSA.distance, score_cutoff=edits, limit=_KEPT
    )
    return [(other, 1 - distance / max(len(word), len(other))) for other, distance, _ in found]
