"""The vocabulary: kinds of distortion, their sub-types, and severities, with the words that people use for them.

Everything that names a distortion goes through `parse_distortion`, so that "blurry", "Blur" and "blurs" are one thing
and a word that nobody knows is an error that lists the known ones.
"""

import operator
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

from loopwright.config import shipped
from loopwright.errors import UnknownNameError


class Distortion(StrEnum):
    """The eight kinds of distortion that a plan may name."""

    BLURS = "blurs"
    COLOR = "color distortions"
    COMPRESSION = "compression"
    NOISE = "noise"
    BRIGHTNESS = "brightness change"
    SHARPNESS = "sharpness"
    CONTRAST = "contrast"
    SPATIAL = "spatial distortions"


_NAMES: dict[str, dict[str, Any]] = shipped("loopwright.workflows.iqa", "data/names.yaml")

SUBTYPES = {name: Distortion(kind) for kind, names in _NAMES["subtypes"].items() for name in names}
"""Sub-type -> the kind that it belongs to."""


def _other_words(section: str) -> dict[str, str]:
    """Word -> canonical name, as written in ``data/names.yaml``."""
    return {word.replace("_", " "): name for name, words in _NAMES[section].items() for word in words.split()}


ALIASES = _other_words("distortions")
"""Other words -> a kind or a sub-type."""

SPOKEN: dict[str, str] = _NAMES["spoken"]
"""Canonical name -> how it is put into a sentence, where that differs."""


def in_words(name: str) -> str:
    """A canonical name as it is put into a sentence."""
    return SPOKEN.get(name, name)


def known_distortions() -> tuple[str, ...]:
    """Every canonical name: the eight kinds, then the sub-types."""
    return (*(kind.value for kind in Distortion), *SUBTYPES)


def parse_distortion(text: str) -> str:
    """The canonical name of a kind or sub-type of distortion, one of `known_distortions`.

    Args:
        text: What a person or a model wrote; case, hyphens and underscores do not matter.

    Raises:
        UnknownNameError: If it is no kind, sub-type or alias.
    """
    words = re.sub(r"[\s_\-/]+", " ", text.strip().lower())
    name = ALIASES.get(words, words)
    if name in SUBTYPES or name in set(Distortion):
        return name
    raise UnknownNameError("distortion", text, known_distortions())


def kind_of(name: str) -> Distortion:
    """The kind that a canonical name belongs to (a kind belongs to itself)."""
    return SUBTYPES[name] if name in SUBTYPES else Distortion(name)


def _by_strength(holds: Callable[[int, int], bool]) -> Callable[["Severity", str], bool]:
    return lambda severity, other: holds(severity.rank, Severity(other).rank)


class Severity(StrEnum):
    """How strong a distortion is, in order: none < slight < moderate < severe < extreme."""

    NONE = "none"
    SLIGHT = "slight"
    MODERATE = "moderate"
    SEVERE = "severe"
    EXTREME = "extreme"

    @property
    def rank(self) -> int:
        """0 for none up to 4 for extreme."""
        return list(Severity).index(self)

    # str brings its own order, by spelling; all four are replaced by the order of strength.
    __lt__, __le__, __gt__, __ge__ = map(_by_strength, (operator.lt, operator.le, operator.gt, operator.ge))

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        words = str(value).strip().lower()
        return cls(SEVERITY_ALIASES[words]) if words in SEVERITY_ALIASES else None


SEVERITY_ALIASES = _other_words("severities")
"""Other words -> a severity."""


def severity_named(text: str) -> Severity | None:
    """The severity that a text names, or None."""
    words = text.strip(" .!")
    return Severity(words) if words in SEVERITY_ALIASES or words in set(Severity) else None
