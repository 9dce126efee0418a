"""The words of a topic, and how much each of them says."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loopwright.workflows.assistant.searching import Search
from loopwright.workflows.assistant.searching.words import asked_words

TELLING = 0.55
"""A word of less weight is too common to tell one topic from another."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a topic."""

    text: str
    """The word, folded."""
    records: int
    """How many records of the conference hold it."""
    weight: float
    """How much it says: from 0 for a word of every record to 1 for a word of none."""

    @property
    def telling(self) -> bool:
        """Whether it can tell one topic from another."""
        return self.weight >= TELLING


def weighed(topic: str, search: Search) -> tuple[Word, ...]:
    """The words of a topic with what each of them says.

    The weight is ``ln((N + 1) / (n + 1)) / ln(N + 1)`` for a word that ``n`` of ``N`` records hold: inverse document
    frequency, scaled to 1 for a word that none holds.

    Args:
        topic: The topic.
        search: The conference and its words.
    """
    size = len(search.catalogue.records)
    counts = {word: min(size, search.vocabulary.frequency(word)) for word in asked_words(topic)}
    return tuple(
        Word(word, count, math.log((size + 1) / (count + 1)) / math.log(size + 1) if size else 1.0)
        for word, count in counts.items()
    )
