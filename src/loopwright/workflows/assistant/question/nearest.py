"""What is to be done, by the nearest of labelled examples (``data/examples.yaml``): no rule for any one wording."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast

import yaml

from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.question.tokens import Sentence
from loopwright.workflows.assistant.schemas import Operation
from loopwright.workflows.assistant.searching.lexicon import words

_PIECE = 4
_TELLING = 0.6
_SLOTS = {
    "day": "DAY", "start": "TIME", "end": "TIME", "on": "TIME", "minutes": "TIME", "room": "ROOM", "track": "TRACK",
    "person": "PERSON", "type": "KIND", "language": "KIND", "record": "X", "title": "X", "excluded": "X",
}  # fmt: skip
_MARKS = frozenset({*_SLOTS.values()})


@dataclass(frozen=True, slots=True)
class Near:
    """How near a question is to the examples of an operation."""

    operation: Operation
    """The operation."""
    likeness: float
    """From 0 to 1."""
    margin: float
    """By how much it is nearer than any example of a search."""
    terms: frozenset[str] = frozenset()
    """The words of the nearest example, as terms."""


def nearest(sentence: Sentence, first: int, last: int) -> Near:
    """The operation whose examples come nearest to some words.

    Args:
        sentence: The question, its conditions read.
        first: The first word.
        last: The one after the last.
    """
    pieces = _pieces(_masked(sentence, first, last))
    best: dict[str, tuple[float, Counter[str]]] = {}
    for operation, example in _examples():
        likeness = _likeness(pieces, example)
        if operation not in best or likeness > best[operation][0]:
            best[operation] = likeness, example
    top = max(best, key=lambda each: best[each][0])
    rival = max(likeness for each, (likeness, _) in best.items() if each != top and "find" in (each, top))
    likeness, example = best[top]
    said = frozenset(piece.strip() for piece in example if piece.startswith(" ")) - _MARKS
    return Near(cast("Operation", top), likeness, likeness - rival, said)


def _masked(sentence: Sentence, first: int, last: int) -> list[str]:
    known = _known()
    masked: list[str] = []
    for token in sentence.tokens[first:last]:
        slot = _SLOTS.get(token.taken, "")
        word = slot or (token.word if set(terms(token.word)) & known else "X")
        if not (masked and masked[-1] == word and word in _MARKS | {"X"}):
            masked.append(word)
    return masked


def _pieces(said: list[str]) -> Counter[str]:
    """Words, pairs of words, and pieces of longer words, so that inflections and slips stay near."""
    found = Counter[str]()
    for word in said:
        stem = word if word in _MARKS or word == "X" else terms(word)[0] if terms(word) else word
        found[f" {stem} "] += 1
        if word.islower():
            found.update(word[start : start + _PIECE] for start in range(len(word) - _PIECE + 1))
    for one, other in zip(["^", *said], [*said, "$"], strict=True):
        found[f"{one} {other}"] += 1
    return found


def _likeness(asked: Counter[str], example: Counter[str]) -> float:
    weights = _weights()
    # What tells the example from a search must be there, or most of it.
    telling = {piece: weights[piece] for piece in example if piece in weights and piece.startswith(" ")}
    telling = {piece: weight for piece, weight in telling.items() if piece not in _searching()}
    if sum(weight for piece, weight in telling.items() if piece in asked) < _TELLING * sum(telling.values()):
        return 0.0
    shared = sum(min(count, asked[piece]) * weights[piece] for piece, count in example.items() if piece in asked)
    if not shared:
        return 0.0
    own = sum(count * weights[piece] for piece, count in example.items())
    all_asked = sum(count * weights.get(piece, _RARE) for piece, count in asked.items())
    # What the example has matters more than what the question has besides.
    return (shared / own) ** 0.6 * (shared / all_asked) ** 0.4


_RARE = 1.5


@cache
def _examples() -> tuple[tuple[str, Counter[str]], ...]:
    path = resources.files("loopwright.workflows.assistant") / "data" / "examples.yaml"
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    found: list[tuple[str, Counter[str]]] = []
    for operation, texts in listed.items():
        for text in texts:
            said = [
                token.raw if token.raw in _MARKS or token.raw == "X" else token.word
                for token in Sentence.of(text).tokens
            ]
            found.append((operation, _pieces(said)))
    return tuple(found)


@cache
def _weights() -> dict[str, float]:
    """How much a piece tells the operations apart: it is rare among all examples."""
    examples = _examples()
    spread = Counter(piece for _, pieces in examples for piece in pieces)
    weights = {piece: math.log(1 + len(examples) / (0.5 + count)) for piece, count in spread.items()}
    marks = _MARKS | {"X"}
    return {piece: weight * (0.3 if marks.intersection(piece.split()) else 1.0) for piece, weight in weights.items()}


@cache
def _searching() -> frozenset[str]:
    """The words of the examples of a search, and the marks, which tell no other operation."""
    things = {
        term
        for kind in ("sessions", "exhibitors", "speakers")
        for word in words("things", kind)
        for term in terms(word)
    }
    marks = {f" {each} " for each in (*_MARKS, "X", *things)}
    return frozenset(piece for operation, pieces in _examples() if operation == "find" for piece in pieces) | marks


@cache
def _known() -> frozenset[str]:
    return frozenset(piece.strip() for _, pieces in _examples() for piece in pieces if piece.startswith(" "))
