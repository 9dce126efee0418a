"""Two sequences put side by side: the steps of two paths, and the words of two answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from loopwright.runs.comparing.schemas import PathStep, TextPart, Where

MAX_STEPS = 1_500
"""Steps of each path that are aligned step by step, what both have at the beginning and at the end not counted: the
time grows with the product of both."""

WORDS = re.compile(r"\s*\S+\s*|\s+")
"""A word with the white space behind it; that before the first word belongs to it."""


def aligned_path(a: Sequence[str], b: Sequence[str]) -> tuple[PathStep, ...]:
    """Put two ways through a graph side by side.

    Args:
        a: The nodes of one way in order.
        b: Those of the other.

    Returns:
        Every step of both ways in their order, a common one once. Where more than `MAX_STEPS` steps lie between the
        common beginning and the common end, these are taken as different.
    """
    visits_a, visits_b = Counter[str](), Counter[str]()
    steps: list[PathStep] = []
    for where, from_a, from_b in _blocks(a, b):
        for node in from_a if where != "b" else from_b:
            visits_a[node] += where != "b"
            visits_b[node] += where != "a"
            steps.append(
                PathStep(
                    node=node,
                    where=where,
                    a_visit=visits_a[node] if where != "b" else None,
                    b_visit=visits_b[node] if where != "a" else None,
                )
            )
    return tuple(steps)


def compared_text(a: str, b: str) -> tuple[TextPart, ...]:
    """Compare two texts word by word.

    Returns:
        The pieces in order. Those of ``both`` and ``a`` together are `a`, those of ``both`` and ``b`` are `b`.
    """
    words_a, words_b = WORDS.findall(a), WORDS.findall(b)
    parts: list[TextPart] = []
    # Words of more than 200 that stand for more than a hundredth of them ("the") are no anchors: the time stays short.
    for tag, a_from, a_to, b_from, b_to in SequenceMatcher(None, words_a, words_b).get_opcodes():
        if tag == "equal":
            parts.append(TextPart(where="both", text="".join(words_a[a_from:a_to])))
            continue
        if a_to > a_from:
            parts.append(TextPart(where="a", text="".join(words_a[a_from:a_to])))
        if b_to > b_from:
            parts.append(TextPart(where="b", text="".join(words_b[b_from:b_to])))
    return tuple(parts)


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[Where, Sequence[str], Sequence[str]]]:
    """The common beginning and end are cut off first: what is compared in between takes quadratic time."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    yield "both", a[:head], b[:head]
    if max(len(middle_a), len(middle_b)) > MAX_STEPS:
        yield "a", middle_a, ()
        yield "b", (), middle_b
    else:
        matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
            if tag == "equal":
                yield "both", middle_a[a_from:a_to], middle_b[b_from:b_to]
            else:
                yield "a", middle_a[a_from:a_to], ()
                yield "b", (), middle_b[b_from:b_to]
    yield "both", a[len(a) - tail :], b[len(b) - tail :]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
