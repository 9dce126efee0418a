"""Noise, black and white specks, lost fine detail."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import NO_GRAIN, Grain, Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, block_means, quantiles

NOISE_BLOCK = 16
"""Side of the blocks in which the noise is measured, pixels of the full size."""
FLAT_SHARE = 0.15
"""Share of the blocks, the flattest, that speak for the noise."""
TELLING = 0.1
"""Blocks that can tell, over those without detail, from which they speak for the whole."""
FLAT_BIAS = 0.87
"""Noise in those blocks over the noise everywhere, for white noise: the flattest are so partly by chance (measured)."""
LAPLACIAN = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6
"""Difference of two Laplacians: blind to planes and, mostly, to edges; white noise keeps its standard deviation
(Immerkaer, Computer Vision and Image Understanding 64, 1996)."""


def fine_detail(plane: Plane) -> Plane:
    """Response to `LAPLACIAN`, in the scale in which white noise keeps its standard deviation, grey levels."""
    filtered = cv2.filter2D(plane, cv2.CV_32F, LAPLACIAN, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(filtered, np.float32)


CELLS = 4
"""Rows and columns of the cells whose noise is measured for itself."""


def grain(channels: Sequence[Plane]) -> tuple[Grain, tuple[Grain, ...]]:
    """Noise of an image, and of each of its `CELLS` x `CELLS` cells, row by row: a noisy sky has a clean foreground."""
    red, green, blue = (fine_detail(channel) for channel in channels)
    plane = channels[1]
    # Noise leaves hardly a pixel as its neighbours are; where most are, a few strokes are drawn.
    drawn = block_means((np.abs(green) < 0.1).astype(np.float32), NOISE_BLOCK) > 0.5
    energy = np.where(drawn, 0, block_means(green * green, NOISE_BLOCK))
    fine = np.sqrt(block_means(green * green, NOISE_BLOCK))
    level = block_means(plane, NOISE_BLOCK)
    half = fine_detail(area_mean(plane, (plane.shape[1] // 2, plane.shape[0] // 2)))
    coarse = np.sqrt(block_means(half * half, NOISE_BLOCK // 2))
    # Near black and white the noise is cut off, and a constant block says nothing about it.
    usable = (level > 12) & (level < 243) & (fine > 0)
    # A line of text on an empty page says nothing about the page's noise.
    if usable.sum() < max(8, TELLING * np.count_nonzero(fine < 0.05)):
        usable = fine >= 0
    others = [
        (block_means(other * green, NOISE_BLOCK), block_means(other * other, NOISE_BLOCK)) for other in (red, blue)
    ]

    def of(usable: NDArray[np.bool_]) -> Grain:
        limit, middle = quantiles(fine[usable], [FLAT_SHARE, 0.5])
        flat = usable & (fine <= limit)
        own = float(energy[flat].mean())
        sigma, below = math.sqrt(own), float(np.sqrt((coarse[flat] ** 2).mean()))
        likeness = [
            float(both[flat].mean()) / math.sqrt(float(each[flat].mean()) * own + 1e-9) for both, each in others
        ]
        return Grain(sigma / FLAT_BIAS, sigma / max(below, 0.05), max(likeness), limit / max(middle, 0.05))

    row, column = (np.arange(size) * CELLS // size for size in fine.shape)
    masks = (usable & (row[:, None] == down) & (column == across) for down in range(CELLS) for across in range(CELLS))
    return of(usable), tuple(of(mask) if mask.sum() >= CELL_BLOCKS else NO_GRAIN for mask in masks)


CELL_BLOCKS = 12
"""Usable blocks that a cell needs."""


def colour_noise(rgb: Rgb) -> float:
    """Blotches of colour in the calmest blocks: a band of the colour differences at half size.

    Returns:
        Root mean square of the stronger colour difference, grey levels, where it exceeds that of the luma, else 0: at
        most 2.8 in 74 photographs, 4.5 and more under blotches of 14 grey levels.
    """
    size = rgb.shape[1] // 2, rgb.shape[0] // 2
    small = cv2.cvtColor(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA).astype(np.float32), cv2.COLOR_RGB2YCrCb)
    band = cv2.GaussianBlur(small, (0, 0), 0.7) - cv2.GaussianBlur(small, (0, 0), 3)
    light, *colours = (block_means(np.asarray(plane, np.float32), NOISE_BLOCK) for plane in cv2.split(band * band))
    calm = light <= quantiles(light, [FLAT_SHARE])[0]
    found = [0.0]
    for colour in colours:
        # Of a coloured texture, the luma has as much even where it is calmest.
        if colour[calm].mean() > light[calm].mean():
            found.append(math.sqrt(float(colour[colour <= quantiles(colour, [FLAT_SHARE])[0]].mean())))
    return max(found)


class Specks(NamedTuple):
    """Samples that are an isolated black or white speck, each of shape (height, width, 3)."""

    black: NDArray[np.bool_]
    white: NDArray[np.bool_]
    median: Rgb
    """The image, median-filtered over 5 x 5 pixels."""


def specks(rgb: Rgb) -> Specks:
    """Find the samples that are an isolated black or white speck, and the median that they were compared with.

    A speck lies within 12 grey levels of the end of the scale and at least 40 from the median of its 5 x 5
    neighbourhood, and at most a fifth of the eight neighbours are like it.
    """
    median = np.asarray(cv2.medianBlur(rgb, 5), np.uint8)
    # The difference of unsigned numbers stops at zero.
    black = (rgb <= 12) & (cv2.subtract(median, rgb) >= 40)
    white = (rgb >= 243) & (cv2.subtract(rgb, median) >= 40)
    for mask in (black, white):
        if mask.any():
            mask &= cv2.boxFilter(mask.view(np.uint8), cv2.CV_8U, (3, 3), normalize=False) <= 2
    return Specks(black, white, median)


EVEN, ANNOUNCED = 0.85, 0.8
"""`evenness` up to which specks are a texture; `surroundings` from which they are the tips of strokes: impulses stay
below 0.6 up to a fifth of all samples, sharp text and its enlargements have 1.0 and more."""


def evenness(black: NDArray[np.bool_], white: NDArray[np.bool_], plane: Plane) -> float:
    """Density of specks in the calm half of where they can be seen over that in all of it.

    Args:
        black: Black specks, shape (height, width, 3); on white paper they can be seen.
        white: White specks, likewise.
        plane: Luma, grey levels; its median filter decides where it is calm.

    Returns:
        Near 1 for noise, near 0 for the glints and gaps of a texture and the tips of strokes; 0 without specks.
    """
    smooth = cv2.medianBlur(np.clip(plane, 0, 255).astype(np.uint8), 5).astype(np.float32)
    level = block_means(smooth, NOISE_BLOCK)
    activity = block_means(smooth * smooth, NOISE_BLOCK) - level * level
    calm, all_of_it = 0.0, 0.0
    for mask, seen in ((black, level > 45), (white, level < 210)):
        if mask.any() and seen.any():
            red, green, blue = cv2.split(mask.view(np.uint8))
            density = block_means((red + green + blue).astype(np.float32), NOISE_BLOCK)
            calm += float(density[seen & (activity <= np.median(activity[seen]))].mean())
            all_of_it += float(density[seen].mean())
    return calm / max(all_of_it, 1e-9)


def surroundings(mask: NDArray[np.bool_], rgb: Rgb, median: Rgb) -> float:
    """How far the neighbours of specks already are from the local median, over how far the specks are.

    Args:
        mask: Specks, shape (height, width, 3).
        rgb: The image.
        median: Its median over 5 x 5 pixels.

    Returns:
        The median over the specks of the farthest of the four neighbours; 0 without specks.
    """
    if not mask.any():
        return 0.0
    away = cv2.absdiff(rgb, median)
    beside = np.asarray(cv2.dilate(away, np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.uint8)), np.float32)
    place = np.flatnonzero(mask)
    return quantiles(beside.ravel().take(place) / away.ravel().take(place), [0.5])[0]


def detail_gap(plane: Plane, detail: Plane, edge_magnitude: Plane) -> float:
    """The share (0..1) of textured area without fine detail; textured is where the gradient, smoothed, is above 1."""
    textured = (edge_magnitude > 1.0) & (plane > 8) & (plane < 247)
    area = np.count_nonzero(textured)
    return np.count_nonzero(textured & (np.abs(detail) < 0.5)) / area if area > 200 else 0.0
