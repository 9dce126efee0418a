"""Questions about distorted images: which distortion, how severe, better or worse."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from distort import LEVELS, distort

from iqa_mcq.forms import DISTORTION, FEWEST_OPTIONS, Question, question
from loopwright.errors import InputError
from loopwright.workflows.iqa.distortions import Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.features import Rgb

LOOK_ALIKE = (
    frozenset({"gaussian blur", "motion blur", "jpeg2000", "pixelation"}),
    frozenset({"jpeg", "jpeg2000", "pixelation", "banding"}),
    frozenset({"overexposure", "underexposure", "low contrast", "saturation change"}),
    frozenset({"color cast", "saturation change"}),
    frozenset({"gaussian noise", "impulse noise", "oversharpening"}),
)
"""Distortions that bring each other's signs about: two of a set are never options of one question."""

VISIBLE_ALONE = (
    "gaussian blur", "motion blur", "gaussian noise", "impulse noise", "jpeg", "pixelation", "banding",
)  # fmt: skip
"""What an image shows without its reference; a dark or pale one may be meant so."""

LEVEL_OF: dict[Severity, int] = {Severity.SLIGHT: 1, Severity.MODERATE: 3, Severity.EXTREME: 5}
"""A severity -> the level of `distort` that stands for it: the levels between are near a border."""

_LEAST_CHANGE = 1.0
"""Mean absolute difference, grey levels, from which a distortion has changed an image at all."""


@dataclass(frozen=True, slots=True)
class Illustrated:
    """A question with its image."""

    question: Question
    """The question."""
    image: Rgb
    """The image that it is about."""
    referenced: bool
    """Whether the pristine image is given."""


def distortion_question(number: int, pristine: Rgb, chance: random.Random) -> Illustrated:
    """Which distortion an image has (with and without its reference), how severe it is, or whether it is worse.

    Args:
        number: Goes round through the forms of question.
        pristine: The pristine image.
        chance: Chooses the distortion and the options.
    """
    form = number % 4
    if form == 0:
        return _which(pristine, chance, list(LEVELS), referenced=True)
    if form == 1:
        return _which(pristine, chance, VISIBLE_ALONE, referenced=False)
    return _how_severe(pristine, chance) if form == 2 else _worse(pristine, chance)


def _distorted(
    pristine: Rgb, chance: random.Random, names: Sequence[str], levels: Iterable[int]
) -> tuple[str, Rgb, dict[str, object]]:
    """Some distortion that changes the image: saturation, for one, does nothing to a grey one."""
    level = chance.choice(list(levels))
    seed = chance.randrange(2**31)
    made = ((name, distort(pristine, name, level, seed)) for name in chance.sample(names, len(names)))
    name, image = next((pair for pair in made if _change(pair[1], pristine) >= _LEAST_CHANGE), (None, None))
    if name is None or image is None:
        raise InputError("an image cannot be distorted visibly: it is of a single grey; take photographs")
    return name, image, {"distortion": name, "level": level}


def _change(image: Rgb, pristine: Rgb) -> float:
    return float(np.abs(image.astype(np.int16) - pristine).mean())


def _which(pristine: Rgb, chance: random.Random, names: Sequence[str], *, referenced: bool) -> Illustrated:
    name, image, notes = _distorted(pristine, chance, names, (3, 4, 5))
    wrong: list[str] = []
    for other in chance.sample(list(LEVELS), len(LEVELS)):
        if _apart(name, other) and all(_apart(other, chosen) for chosen in wrong):
            wrong.append(other)
    stem = "Which distortion does this image have?"
    made = question(DISTORTION, stem, in_words(name), map(in_words, wrong), chance, notes=notes)
    return Illustrated(made, image, referenced)


def _apart(one: str, other: str) -> bool:
    """Whether no image could be called both."""
    together = any({one, other} <= group for group in LOOK_ALIKE)
    return one != other and kind_of(one) is not kind_of(other) and not together


def _how_severe(pristine: Rgb, chance: random.Random) -> Illustrated:
    severity = chance.choice(list(LEVEL_OF))
    name, image, notes = _distorted(pristine, chance, list(LEVELS), (LEVEL_OF[severity],))
    wrong = [other.value for other in Severity if abs(other.rank - severity.rank) >= 2]
    made = question(DISTORTION, f"How severe is the {in_words(name)}?", severity.value, wrong, chance, notes=notes)
    return Illustrated(made, image, referenced=True)


def _worse(pristine: Rgb, chance: random.Random) -> Illustrated:
    says = ("It is worse than the reference", "It is better than the reference", "They look the same")
    stem = "Compared with its reference, how good is this image?"
    if chance.random() < 1 / FEWEST_OPTIONS:
        return Illustrated(question(DISTORTION, stem, says[2], says[:2], chance), pristine, referenced=True)
    _, image, notes = _distorted(pristine, chance, list(LEVELS), (3, 4, 5))
    made = question(DISTORTION, stem, says[0], says[1:], chance, notes=notes)
    return Illustrated(made, image, referenced=True)
