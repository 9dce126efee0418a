"""Natural-scene statistics: the locally normalised luma of an image, and the shape of its distribution.

Ruderman's observation, on which BRISQUE and NIQE rest: the luma of a good photograph, less its local mean and
over its local standard deviation, is nearly Gaussian, and distortions change that shape. Mittal, Moorthy and Bovik,
IEEE Transactions on Image Processing 21(12), 2012; the fit is that of Lasmar, Stitou and Berthoumieu, ICIP 2009.
"""

import functools
import math
from importlib import resources
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import whole_view

Floats = NDArray[np.float64]
Map = NDArray[np.floating[Any]]
"""A map of one float32 per pixel, or n blocks of one."""

MOST_PIXELS = 2560 * 2560
"""Pixels up to which the luma is that of the image as it is."""

SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Neighbours: right, below, and the two diagonals, as (rows, columns)."""

_FLAT = np.float32(1e-3)
"""Below this, in levels, a difference from the local mean is rounding noise of a flat area and counts as zero."""

# MATLAB's bicubic kernel (a = -1/2) stretched for halving; it is symmetric and sums to one.
_HALVING = np.array([-3, -9, 29, 111, 111, 29, -9, -3], np.float32) / 256
_ONE = np.ones(1, np.float32)


class Fit(NamedTuple):
    """Asymmetric generalised Gaussians, one entry per block."""

    shape: Floats
    """2 for a Gaussian, 1 for a Laplacian; 0.2 to 10."""
    mean: Floats
    """Of the fitted distribution."""
    left: Floats
    """Standard deviation of the values below zero; NaN without any."""
    right: Floats
    """Standard deviation of the values above zero; NaN without any."""
    left_scale: Floats
    """Scale parameter of the left side."""
    right_scale: Floats
    """Scale parameter of the right side."""


@functools.cache
def shipped_arrays(file: str) -> dict[str, NDArray[Any]]:
    """The arrays that a file of this workflow's ``data`` holds, by name; it is read once, and nobody changes them."""
    path = resources.files("loopwright.workflows.iqa") / "data" / file
    with path.open("rb") as opened, np.load(opened) as data:
        return dict(data)


def grey(image: Rgb) -> Map:
    """ITU-R BT.601 luma, rounded to whole grey levels as the papers' code does.

    Returns:
        float32, H x W; beyond `MOST_PIXELS` reduced to that by area averaging, so that memory and time stay bounded.
    """
    height, width = image.shape[:2]
    luma = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    scale = min(1.0, math.sqrt(MOST_PIXELS / (height * width)))
    return whole_view(luma, round(max(height, width) * scale)).astype(np.float32)


def halved(luma: Map) -> Map:
    """Half the size, by MATLAB's bicubic filter for that."""
    # One axis after the other, so that the second has only half of the columns to do.
    across = cv2.sepFilter2D(luma, cv2.CV_32F, _HALVING, _ONE, anchor=(3, 0), borderType=cv2.BORDER_REFLECT)
    across = np.ascontiguousarray(across[:, ::2])
    down = cv2.sepFilter2D(across, cv2.CV_32F, _ONE, _HALVING, anchor=(0, 3), borderType=cv2.BORDER_REFLECT)
    return np.ascontiguousarray(down[::2], np.float32)


def normalised(luma: Map) -> Map:
    """Luma less its local mean, over its local standard deviation plus one; Gaussian window of 7 x 7, sigma 7/6.

    In flat areas differences below 0.001 levels count as zero, where the papers' code keeps rounding noise; so every
    machine gives the same numbers.

    Returns:
        float32 of the same shape.
    """
    # Around mid-grey the squares below lose fewer float32 digits; the result is the same.
    centred = luma - np.float32(128)
    mean = _window(centred)
    spread = _window(centred * centred)
    centred -= mean
    mean *= mean
    spread -= mean
    np.sqrt(np.abs(spread, out=spread), out=spread)
    spread += np.float32(1)
    centred[np.abs(centred, out=mean) < _FLAT] = 0
    centred /= spread
    return centred


def _window(values: Map) -> Map:
    return np.asarray(cv2.GaussianBlur(values, (7, 7), 7 / 6, borderType=cv2.BORDER_REPLICATE), np.float32)


def fit(blocks: Map) -> Fit:
    """Asymmetric generalised Gaussian of each block by moment matching.

    Args:
        blocks: Shape (n, ...), float32.

    Returns:
        n values of each parameter. A block without values of both signs has NaN for the sides, and the first shape.
    """
    shapes, ratios, scales, means = _shapes()
    flat = blocks.reshape(len(blocks), -1)
    below = np.minimum(flat, 0)
    squares_below = np.einsum("ij,ij->i", below, below).astype(np.float64)
    squares = np.einsum("ij,ij->i", flat, flat).astype(np.float64)
    absolute = flat.sum(axis=1, dtype=np.float64) - 2 * below.sum(axis=1, dtype=np.float64)
    count = flat.shape[1]
    # Row by row, as NumPy counts along an axis several times as slowly.
    count_below, count_above = (np.array([np.count_nonzero(row) for row in side]) for side in (flat < 0, flat > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.sqrt(squares_below / count_below)
        right = np.sqrt(np.maximum(squares - squares_below, 0) / count_above)
        asymmetry = left / right
        ratio = (absolute / count) ** 2 / (squares / count)
        ratio *= (asymmetry**3 + 1) * (asymmetry + 1) / (asymmetry**2 + 1) ** 2
    index = _nearest(ratios, np.nan_to_num(ratio))
    left_scale, right_scale = left * scales[index], right * scales[index]
    mean = (right_scale - left_scale) * means[index]
    return Fit(shapes[index], mean, left, right, left_scale, right_scale)


def _nearest(rising: Floats, values: Floats) -> NDArray[np.intp]:
    above = np.clip(np.searchsorted(rising, values), 1, len(rising) - 1)
    return np.where(values - rising[above - 1] <= rising[above] - values, above - 1, above)


@functools.cache
def _shapes() -> tuple[Floats, Floats, Floats, Floats]:
    """Tables over the shape parameter a of the asymmetric generalised Gaussian, 0.2 to 10 in steps of 0.001.

    Beside a: Gamma(2/a)^2 / (Gamma(1/a) Gamma(3/a)), which rises with it; sqrt(Gamma(1/a) / Gamma(3/a)), from a
    standard deviation to the scale parameter; Gamma(2/a) / Gamma(1/a), from a difference of those to the mean.
    """
    alpha = np.arange(0.2, 10.001, 0.001)
    first, second, third = (np.array([math.lgamma(k / a) for a in alpha]) for k in (1, 2, 3))
    return alpha, np.exp(2 * second - first - third), np.exp((first - third) / 2), np.exp(second - first)
