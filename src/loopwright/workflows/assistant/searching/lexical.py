"""How well records fit the words of a question, as a share of what the question asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loopwright.retrieval.lexicon import K1
from loopwright.workflows.assistant.searching.index import Floats, RecordIndex

APART = 0.85
"""What words are worth that stand together in the question, but apart in the record."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Terms that may stand for a word of the question."""

    terms: tuple[str, ...]
    """The terms, all of which are wanted."""
    worth: float
    """What finding them counts for, from 0 to 1 for the word itself."""


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of a question, and what it may be written as."""

    word: str
    """The word as asked, folded."""
    weight: float
    """How much it says."""
    alternatives: tuple[Alternative, ...]
    """What may stand for it; the best that a record holds counts."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the words of a question are covered."""

    records: Floats
    """From 0 to 1 for each record, float32 [records]."""
    cells: Floats
    """From 0 to 1 for each facet of each record on its own, float32 [cells]."""
    held: Floats
    """How well each record holds each word, from 0 to 1, float32 [words, records]."""
    missing: float
    """The share of the question, from 0 to 1, that no record holds anything of."""


def coverage(index: RecordIndex, words: Sequence[AskedWord]) -> Coverage:
    """Measure how far records cover the words of a question.

    For a term, ``s = tf / (k1 + tf)``, BM25's saturation without its weight, where ``tf`` sums the counts in all
    facets, each times the facet's emphasis and relative to its length (BM25F). A word is worth the best of its
    alternatives, an alternative the mean over its terms; a record the mean over the words, weighed by how much each
    says, so that a word that stands nowhere counts against all records. Words that follow each other in the question
    and are both in a record, but near each other in none of its facets, count for less there (see `APART`). Source:
    S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6.

    Args:
        index: The records.
        words: The words of the question.
    """
    weights = np.array([word.weight for word in words], np.float32)
    held = np.zeros((len(words), len(index)), np.float32)
    cells = np.zeros(len(index.cell_record), np.float32)
    for row, word in enumerate(words):
        inside = np.zeros_like(cells)
        for alternative in word.alternatives:
            of_records, of_cells = _held(index, alternative)
            np.maximum(held[row], of_records, out=held[row])
            np.maximum(inside, of_cells, out=inside)
        cells += weights[row] * inside
    held *= _together(index, words, held)
    total = np.float32(weights.sum() or 1.0)
    missing = float(weights[~held.any(axis=1)].sum() / total)
    return Coverage(weights @ held / total, cells / total, held, missing)


def _together(index: RecordIndex, words: Sequence[AskedWord], held: Floats) -> Floats:
    """What each word counts for in each record, by the words beside it, float32 [words, records]."""
    terms = [{term for each in word.alternatives for term in each.terms} for word in words]
    near, parted = np.zeros(held.shape, bool), np.zeros(held.shape, bool)
    for row in range(len(words) - 1):
        found = np.zeros(len(index), bool)
        found[index.records_near(terms[row], terms[row + 1])] = True
        near[row : row + 2] |= found
        parted[row : row + 2] |= (held[row] > 0) & (held[row + 1] > 0) & ~found
    return np.where(parted & ~near, np.float32(APART), np.float32(1.0))


def _held(index: RecordIndex, alternative: Alternative) -> tuple[Floats, Floats]:
    share = alternative.worth / len(alternative.terms)
    of_records, of_cells = np.zeros(len(index), np.float32), np.zeros(len(index.cell_record), np.float32)
    for term in alternative.terms:
        places, counts = index.cells_with(term)
        emphasised = counts * index.cell_emphasis[places]
        totals = np.bincount(index.cell_record[places], emphasised, len(index)).astype(np.float32)
        of_records += share * totals / (K1 + totals)
        of_cells[places] += share * emphasised / (K1 + emphasised)
    return of_records, of_cells
