"""What a quality tool is, whoever brings it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from loopwright.errors import InputError
from loopwright.workflows.iqa.distortions import Distortion
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, check_pair
from loopwright.workflows.iqa.tools.blind.features import NAME as BLIND_SCORE

COST_PIXELS = 512 * 384
"""The size of image, in pixels, that `Tool.cost_ms` was measured on."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """One quality tool."""

    name: str
    """The registered name."""
    reference: ReferenceMode
    """Whether it compares with a pristine image or looks at the image alone."""
    higher_is_better: bool
    """The direction of its raw value."""
    strengths: frozenset[Distortion]
    """The kinds of distortion within which its rank correlation with people is at least 0.8, as measured on TID2013, by
    a trained tool on references left out of the training (`docs/tools.md`); no tool reaches that on brightness and
    contrast, and sharpening was not measured."""
    cost_ms: float
    """Milliseconds for an image of `COST_PIXELS` pixels on one thread; grows with the number of pixels."""
    compute: Callable[[Any], float]
    """The function: of a `Pair`, or without a reference of a uint8 RGB array."""
    source: str
    """Where the formula was published."""
    unit: str = dataclasses.field(default="", kw_only=True)
    """Unit of its raw value, or nothing."""
    primary: bool = dataclasses.field(default=False, kw_only=True)
    """Whether its score is the answer when nothing speaks for another tool; one per reference mode."""

    def measure(self, image: LoadedImage, reference: LoadedImage | None = None, pair: Pair | None = None) -> float:
        """The tool's raw value.

        Args:
            image: The image in question.
            reference: The pristine image; not looked at by a tool that needs none.
            pair: The planes of both that other tools share with this one; None makes its own.

        Returns:
            A number in the tool's own unit and direction.

        Raises:
            InputError: If the tool needs a reference and there is none.
            ImageError: If the tool cannot measure this image, or the two differ in size.
        """
        if self.reference is ReferenceMode.NONE:
            return self.compute(image.rgb)
        if reference is None:
            raise InputError(
                f"{self.name} compares with a reference image, and there is none; give one or use {BLIND_SCORE}"
            )
        check_pair(image, reference)
        return self.compute(pair or Pair(image.rgb, reference.rgb))


def plain(name: str) -> str:
    """A tool's name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()
