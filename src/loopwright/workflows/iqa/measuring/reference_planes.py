"""What the tools that compare two images share: one conversion of the colours, one pyramid, for all tools of a pair."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import Rgb

Map = NDArray[np.floating[Any]]
"""A map of one float32 per pixel."""

_YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]], np.float32)
"""Luma and the two chrominances of NTSC, one row each."""

ZEROS, MIRRORED = cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT
"""What lies outside an image that is averaged over blocks."""


T = TypeVar("T")


class Two(NamedTuple):
    """The same plane of the image in question and of its reference."""

    image: Map
    """Of the image in question."""
    reference: Map
    """Of the pristine image."""


class Pair:
    """An image and its reference, and what has been derived from both so far; every plane is made at its first use.

    Nobody may write into a plane. Safe in threads: at worst two make the same plane.
    """

    def __init__(self, image: Rgb, reference: Rgb) -> None:
        """Take two images of one shape."""
        self.image = image
        self.reference = reference
        self._made: dict[Callable[[Pair], Any], Any] = {}

    def once(self, make: Callable[[Pair], T]) -> T:
        """What a function makes of this pair, made at its first use."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    @cached_property
    def luma(self) -> Two:
        """Luma of BT.601, rounded to whole levels as the papers' own code has it."""
        both = (cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY) for rgb in (self.image, self.reference))
        return Two(*(grey.astype(np.float32) for grey in both))

    @cached_property
    def half_luma(self) -> Two:
        """`luma`, averaged over blocks of 2 x 2."""
        return Two(*(block_mean(plane, 2) for plane in self.luma))

    @cached_property
    def mirrored_half_luma(self) -> Two:
        """`half_luma` with a mirrored border."""
        if any(side % 2 for side in self.image.shape[:2]):
            return Two(*(block_mean(plane, 2, MIRRORED) for plane in self.luma))
        return self.half_luma

    @property
    def block(self) -> int:
        """Pixels a side of the blocks over which an image is averaged: about 256 are left of its shorter side."""
        # MATLAB rounds halves up, Python to even.
        return max(1, math.floor(min(self.image.shape[:2]) / 256 + 0.5))

    @cached_property
    def small(self) -> Two:
        """The colours, averaged over blocks of `block`, float32, h x w x 3."""
        return self._averaged(self.block)

    @cached_property
    def half_yiq(self) -> tuple[Two, Two, Two]:
        """Luma and the two chrominances of NTSC, averaged over blocks of 2 x 2."""
        colours = self.small if self.block == 2 else self._averaged(2)
        y, i, q = zip(*(mixed(each, _YIQ) for each in colours), strict=True)
        return Two(*y), Two(*i), Two(*q)

    def _averaged(self, block: int) -> Two:
        if block == 2:
            return Two(*(block_mean(rgb.astype(np.float32), 2) for rgb in (self.image, self.reference)))
        # Channel by channel, as OpenCV averages one channel four times as fast as three together.
        channels = (
            [block_mean(channel.astype(np.float32), block) for channel in cv2.split(rgb)]
            for rgb in (self.image, self.reference)
        )
        return Two(*(f32(cv2.merge(each)) for each in channels))


def mixed(colours: Map, matrix: Map) -> tuple[Map, Map, Map]:
    """Three planes, each the sum of the channels weighted by a row of the matrix."""
    # All at once and then split takes five times as long.
    first, second, third = (f32(cv2.transform(colours, row)) for row in matrix[:, np.newaxis])
    return first, second, third


def block_mean(values: Map, block: int, outside: int = ZEROS) -> Map:
    """Mean over blocks; each starts (block - 1) // 2 pixels before its sample.

    Args:
        values: One or more channels, float32.
        block: The blocks' side in pixels.
        outside: `ZEROS` as MATLAB's conv2 has them, or `MIRRORED` as its imfilter with a symmetric border.
    """
    if block == 1:
        return values
    before = (block - 1) // 2
    below = _missing(values.shape[0], before, block)
    right = _missing(values.shape[1], before, block)
    if before or below or right:
        values = f32(cv2.copyMakeBorder(values, before, below, before, right, outside, value=(0, 0, 0)))
        values = values[: values.shape[0] // block * block, : values.shape[1] // block * block]
    size = (values.shape[1] // block, values.shape[0] // block)
    # Halfway between two pixels each way is the mean of four, and of several channels OpenCV finds it in half the time.
    halfway = block == 2 and values.ndim == 3
    return f32(cv2.resize(values, size, interpolation=cv2.INTER_LINEAR if halfway else cv2.INTER_AREA))


def similarity_of_squares(first: Map, second: Map, constant: float) -> Map:
    """``(2 a b + c) / (a^2 + b^2 + c)`` from the squares of a and b, both not negative."""
    return (2 * np.sqrt(first * second) + constant) / (first + second + constant)


def similarity(first: Map, second: Map, constant: float) -> Map:
    """``(2 a b + c) / (a^2 + b^2 + c)``."""
    return (2 * (first * second) + constant) / (first * first + second * second + constant)


def f32(values: Any) -> Map:
    """OpenCV's results are typed as any number; these are float32."""
    return cast("Map", values)


def _missing(length: int, before: int, block: int) -> int:
    """How many zeros to add so that there is one whole block for every `block`-th pixel."""
    return max(0, math.ceil(length / block) * block - length - before)
