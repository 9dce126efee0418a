"""How much each term says, estimated from a sample of the passages, so that any store can be weighed alike."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.english import rarity
from loopwright.retrieval.records import Passage
from loopwright.retrieval.text import terms

Floats = NDArray[np.float32]

K1 = 1.2
"""BM25: how fast repetitions of a term stop counting."""
B = 0.75
"""BM25: how far a long passage is held against it."""
TITLE_WEIGHT = 3
"""How often a term in the title counts."""
HEADING_WEIGHT = 2
"""How often a term in a heading counts."""


class TermCounts:
    """How often each term stands in one passage."""

    __slots__ = ("counts", "length", "passage")

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        """The passage."""
        title, heading, text = terms(passage.title), terms(passage.heading), terms(passage.text)
        self.length = len(title) + len(heading) + len(text)
        """All terms."""
        self.counts = Counter([*text, *TITLE_WEIGHT * title, *HEADING_WEIGHT * heading])
        """Term -> how often, those of title and heading multiplied."""


class Lexicon:
    """How common each term is; never changed once made, safe in threads."""

    def __init__(self, sample: Sequence[TermCounts]) -> None:
        """Count in how many passages each term stands; a sample stands for all, and all make the weights exact."""
        self.size = len(sample)
        """How many passages the sample has."""
        self._sample = sample
        self._spread = Counter(term for passage in sample for term in passage.counts)
        self._mean_length = sum(passage.length for passage in sample) / max(len(sample), 1) or 1.0

    @cached_property
    def foreign(self) -> set[str]:
        """The terms most of whose passages are in another language than English."""
        says = {term: rarity(term) if term.isalpha() else 1.0 for term in self._spread}
        # Passages of some sentences: English prose has a mean of 0.9, other languages from 1.4 on; of one or two
        # sentences it cannot be told, and names alone are as foreign.
        strange = (p for p in self._sample if np.mean([*map(says.__getitem__, p.counts), 1.0]) > 1.35)
        counts = Counter(term for passage in strange for term in passage.counts)
        return {term for term, count in counts.items() if 2 * count > self._spread[term]}

    @property
    def terms(self) -> Collection[str]:
        """Every term of the sample."""
        return self._spread.keys()

    def knows(self, term: str) -> bool:
        """Whether some passage of the sample has a term."""
        return term in self._spread

    def rarity(self, term: str) -> float:
        """How rare a term is, ``ln(1 + (N - n + 0.5) / (n + 0.5))``: BM25's idf as it is kept above 0."""
        n = self._spread[term]
        return math.log(1 + (self.size - n + 0.5) / (n + 0.5))

    def coverage(self, query: Sequence[str], passages: Sequence[TermCounts]) -> Floats:
        """The BM25 weight of each query term, given once, in each passage.

        ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))`` with
        ``idf = ln((N - n + 0.5) / (n + 0.5))``, at least 1e-6. ``N`` and the mean length are the sample's; ``tf``
        counts a term in the title or a heading several times, but the length counts it once. Source: S. Robertson and
        H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

        Returns:
            float32 [terms, passages], nothing negative.
        """
        counts = np.array([[p.counts.get(term, 0) for p in passages] for term in query], np.float32)
        counts = counts.reshape(len(query), len(passages))
        lengths = np.array([p.length for p in passages], np.float32)
        weights = np.array([self._weight(term) for term in query], np.float32)[:, None]
        return np.asarray(weights * (K1 + 1) * self.saturation(counts, lengths), np.float32)

    def saturation(self, counts: Floats, lengths: Floats) -> Floats:
        """How far terms that stand so often in texts so long have said all that they can: BM25 without its weights.

        Of counts, float32 [..., passages], and lengths, float32 [passages], the terms of each passage.

        Returns:
            ``tf / (tf + k1 * (1 - b + b * length / mean length))``, from 0 to 1, of the counts' shape.
        """
        norm = K1 * (1 - B + B * lengths / self._mean_length)
        return np.asarray(counts / (counts + norm), np.float32)

    def _weight(self, term: str) -> float:
        n = self._spread[term]
        return max(1e-6, math.log((self.size - n + 0.5) / (n + 0.5)))
