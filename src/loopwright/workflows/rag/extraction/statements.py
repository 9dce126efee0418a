"""What the rules hand to each other: statements, and what they are about."""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    """A fact in a sentence."""

    subject: str
    """What it is about: a name as it stands in the text, or the document's title."""
    relation: str
    """In normalised words."""
    object: str
    """As it stands in the text."""
    start: int
    """Where it begins in the passage's text, in characters."""
    end: int
    """Where it ends there."""
    confidence: float
    """How sure the patterns are."""


class Subject(NamedTuple):
    """What a clause is about."""

    names: tuple[str, ...]
    """One name, or several that share a verb."""
    start: int
    """Where it begins in the passage's text, in characters."""
    end: int
    """The index of the token after it."""
    sure: float
    """How sure it is that this is meant, a factor."""


def whole_name(name: str, title: str) -> str:
    """The title where a person's family name stands for it, else the name.

    Args:
        name: A name as it stands in the text.
        title: What the document is about.
    """
    words = title.split()
    is_name = 2 <= len(words) <= 3 and all(word[:1].isupper() and word.isalpha() for word in words)
    return title if is_name and words[-1] == name else name
