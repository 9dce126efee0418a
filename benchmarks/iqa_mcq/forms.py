"""The question in one row: a stem, options in a random but seeded order, and the letter of the right one."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PLANNER, DISTORTION, SUMMARIZER = "planner", "distortion", "summarizer"
KINDS = (PLANNER, DISTORTION, SUMMARIZER)
"""What questions test."""
FEWEST_OPTIONS, MOST_OPTIONS = 3, 5


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its known answer, not yet tied to an image file."""

    kind: str
    """What it tests."""
    stem: str
    """The question."""
    options: tuple[str, ...]
    """The options, in order."""
    answer: str
    """The letter of the right one."""
    given: dict[str, Any] | None = None
    """What is handed to the stage that it tests."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    """How the image was made, for people who read the file."""


def question(
    kind: str,
    stem: str,
    right: str,
    wrong: Iterable[str],
    chance: random.Random,
    *,
    given: dict[str, Any] | None = None,
    notes: dict[str, Any] | None = None,
) -> Question:
    """Put a question together from one right and some wrong options.

    Args:
        kind: What it tests.
        stem: The question.
        right: The right option.
        wrong: Wrong options, at least two; at most four of them are taken.
        chance: Chooses and shuffles.
        given: What is handed to the stage that it tests.
        notes: How the image was made.

    Raises:
        ValueError: If there are fewer than two wrong options, or the right one is among them.
    """
    others = list(dict.fromkeys(wrong))
    if right in others or len(others) < FEWEST_OPTIONS - 1:
        raise ValueError(f"the options of {stem!r} are no choice: {right!r} against {others}")
    most = min(len(others), MOST_OPTIONS - 1)
    options = [right, *chance.sample(others, chance.randint(FEWEST_OPTIONS - 1, most))]
    chance.shuffle(options)
    letter = string.ascii_uppercase[options.index(right)]
    return Question(kind, stem, tuple(options), letter, given, notes or {})
