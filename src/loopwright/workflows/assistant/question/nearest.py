"""What is to be done, told from labelled examples (``data/examples.yaml``): no rule for any one wording.

A naive Bayes classifier over words and pairs of words; what was read as a condition stands as its kind (DAY, ROOM), and
every word that no example has as X, so that no subject speaks for an operation.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from loopwright.config import shipped
from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import Operation
from loopwright.workflows.assistant.searching.lexicon import ordering

_SMOOTHED = 2.0
"""As many examples are added to each operation, with the words of all."""
_SEEN = 1.0
"""What a word says counts by n / (n + this), where n examples have it: one alone is weak evidence."""
_PAIR = 0.5
"""What a pair of words counts of what a word does, which it repeats."""
_TELLS = 0.7
"""The log-odds from which a word is one that asks for the operation, and no subject."""
_SLOTS = {
    "day": "DAY", "start": "TIME", "end": "TIME", "on": "TIME", "minutes": "TIME", "room": "ROOM", "track": "TRACK",
    "person": "PERSON", "type": "KIND", "language": "KIND", "conference": "conference", "record": "X", "title": "X",
    "excluded": "X",
}  # fmt: skip
_REFUSED = 4.3
"""The log-odds from which a clause refuses its subject."""
MARKS = frozenset({*_SLOTS.values(), "PART", "BEFORE", "AFTER", "AT", "BETWEEN", "NOT"})
"""What stands in examples for words that were read already."""
_CONDITIONS = frozenset({*_SLOTS.values()}) - {"X"}


@dataclass(frozen=True, slots=True)
class Near:
    """How much a question speaks for an operation."""

    operation: Operation
    """The operation."""
    likeness: float
    """The log-odds of it against all others."""
    margin: float
    """By how much these are above those of the next one."""
    search: float
    """By how much they are above those of a search."""
    terms: frozenset[str] = frozenset()
    """The words that tell it, as terms."""
    clear: bool = False
    """Whether the words say nothing else: no subject that an example lacks."""


def refused(sentence: Sentence, first: int, last: int) -> list[int]:
    """The words of a clause that it says are not wanted, as "one more word about X and I leave"; empty if none are."""
    model = model_of("wishes")
    said = [each for each in _features(_masked(sentence, first, last, model)) if each in model.rows]
    asks = sentence.says(first, "wonders") and sentence.asks_at(first)
    if not said or asks or float(model.odds[[model.rows[each] for each in said], 0].sum()) < _REFUSED:
        return []
    return [place for place in range(first, last) if not model.knows(sentence.word(place))]


def nearest(sentence: Sentence, first: int, last: int, *, answered: float = 0.0) -> Near:
    """The operation that some words speak for most, with log-odds against a question which no programme answers."""
    model = model_of("examples")
    first += sentence.says(first, "and") and first + 1 < last and not sentence.tokens[first].taken
    masked = _masked(sentence, first, last, model)
    said = _features(masked)
    known = [each for each in said if each in model.rows]
    # Several conditions say no more of what is to be done than one.
    share = 1 / max(1, sum(word in _CONDITIONS for word in masked))
    counts = np.array([1.0 if _CONDITIONS.isdisjoint(each.split()) else share for each in known])
    odds = counts @ model.odds[[model.rows[each] for each in known]]
    odds[model.labels.index("outside")] -= answered
    best, rival = (int(place) for place in np.argsort(-odds, kind="stable")[:2])
    telling = {each for each in known if model.odds[model.rows[each], best] > _TELLS}
    return Near(
        cast("Operation", model.labels[best]),
        float(odds[best]),
        float(odds[best] - odds[rival]),
        float(odds[best] - odds[model.labels.index("find")]),
        frozenset(telling - MARKS),
        "X" not in masked,
    )


@cache
def asked_with(*operations: Operation) -> frozenset[str]:
    """The words, as terms, that people use to ask for records, or for one of some operations."""
    labels = operations or [label for label in _listed("examples") if label not in ("outside", "about", "help")]
    said = (token for label in labels for text in _listed("examples")[label] for token in Sentence.of(text).tokens)
    return frozenset(_term(token.word) for token in said if not operations or token.raw not in MARKS)


def _listed(name: str) -> dict[str, list[str]]:
    return shipped("loopwright.workflows.assistant", f"data/{name}.yaml")


@dataclass(frozen=True, slots=True)
class Model:
    """What labelled examples say of each word."""

    labels: tuple[str, ...]
    """The labels."""
    rows: dict[str, int]
    """Word or pair of words -> its row."""
    odds: NDArray[np.float64]
    """Its log-odds for each label, float64 [words, labels]."""

    def knows(self, word: str) -> bool:
        """Whether a word stands in an example."""
        return _term(word) in self.rows

    def likeness(self, said: list[str]) -> NDArray[np.float64]:
        """The log-odds of each label for some words and marks, float64 [labels]."""
        masked = [word if word in MARKS or self.knows(word) else "X" for word in said]
        known = [self.rows[each] for each in _features(masked) - {"X"} if each in self.rows]
        return self.odds[known].sum(axis=0)


@cache
def model_of(name: str) -> Model:
    """The model of the examples in a file of ``data``."""
    listed = _listed(name)
    counts = {label: Counter[str]() for label in listed}
    for label, texts in listed.items():
        for text in texts:
            said = Sentence.of(text)
            words = [each.raw if each.raw in MARKS else ordering(each.word, said.language) for each in said.tokens]
            counts[label].update(_features(words))
    every = sum(counts.values(), Counter[str]())
    whole = sum(map(len, listed.values()))
    rows = {feature: row for row, feature in enumerate(every)}
    odds = np.zeros((len(rows), len(listed)))
    for column, label in enumerate(listed):
        size = len(listed[label])
        for feature, row in rows.items():
            usual = _SMOOTHED * every[feature] / whole
            own = (counts[label][feature] + usual) / (size + _SMOOTHED)
            other = (every[feature] - counts[label][feature] + usual) / (whole - size + _SMOOTHED)
            sure = every[feature] / (every[feature] + _SEEN)
            odds[row, column] = sure * math.log(own / other) * (_PAIR if " " in feature else 1)
    return Model(tuple(listed), rows, odds)


def _masked(sentence: Sentence, first: int, last: int, model: Model) -> list[str]:
    masked: list[str] = []
    for token in sentence.tokens[first:last]:
        word = ordering(token.word, sentence.language)
        word = _SLOTS.get(token.taken, "") or (word if model.knows(word) else "X")
        if not (masked and masked[-1] == word and word in MARKS):
            masked.append(word)
    return masked


def _features(said: list[str]) -> set[str]:
    stems = [word if word in MARKS else _term(word) for word in said]
    pairs = (f"{one} {other}" for one, other in zip(["^", *stems], [*stems, "$"], strict=True))
    return {*stems, *pairs}


def _term(word: str) -> str:
    return next(iter(terms(word)), word)
