"""Natural-scene statistics, the shape of the distribution of an image's locally normalised luma; and two tools by them.

Ruderman's observation, on which BRISQUE and NIQE rest: the luma of a good photograph, less its local mean and
over its local standard deviation, is nearly Gaussian, and distortions change that shape. The fit is that of Lasmar,
Stitou and Berthoumieu, ICIP 2009.

BRISQUE: Mittal, Moorthy and Bovik, "No-reference image quality assessment in the spatial domain", IEEE Transactions on
Image Processing 21(12), 2012. 36 numbers, 18 at each of two scales, go into the support-vector regression that the
authors trained on the LIVE database, which ships in `data/blind_brisque.npz`.

NIQE: Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013. Blocks of 96 x 96 pixels have 36
numbers each (asymmetric generalised Gaussians fitted to the locally normalised luma and to its products with its
neighbours, at two scales); the score is the distance between the blocks' Gaussian model and that of pristine images,
which the paper's authors published and which ships in `data/niqe_pris_params.npz`.
"""

import functools
import math
from importlib import resources
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import checked, whole_view

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
    spread = np.sqrt(np.abs(_window(centred * centred) - mean * mean))
    centred -= mean
    centred[np.abs(centred) < _FLAT] = 0
    return centred / (spread + 1)


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


def brisque(image: Rgb) -> float:
    """Blind image spatial quality evaluator.

    Differs from the authors' code in the border, which repeats the last pixel where theirs is black, and in flat areas
    (see `normalised`).

    Args:
        image: uint8 RGB, H x W x 3; beyond 6.5 megapixels a copy reduced to that is measured.

    Returns:
        About 0 (like a good photograph) to 100; a little beyond either end is possible. Lower is better.

    Raises:
        ImageError: If a side has fewer than 32 pixels, or the image is flat.
    """
    features = brisque_features(image)
    if np.isnan(features).any():
        raise ImageError("BRISQUE cannot be measured: the image is flat, there is no structure")
    # A support-vector regression with a radial kernel; `lowest` becomes -1 for it, and `highest` 1.
    model = shipped_arrays("blind_brisque.npz")
    scaled = 2 * (features - model["lowest"]) / (model["highest"] - model["lowest"]) - 1
    kernel = np.exp(-model["gamma"] * ((model["vectors"] - scaled) ** 2).sum(axis=1))
    # An exact sum, so that no order of summing can show in the last digit.
    return math.fsum(model["weights"] * kernel) - float(model["offset"])


def brisque_features(image: Rgb) -> Floats:
    """The 36 numbers of the paper's table I, at full and at half size.

    Returns:
        Shape (36,): per scale the shape and variance of the normalised luma, then shape, mean and the variance left
        and right of zero for its products with the neighbour to the right, below, and on the two diagonals. NaN where
        an image is flat.

    Raises:
        ImageError: If a side has fewer than 32 pixels.
    """
    checked(image, "BRISQUE")
    luma = grey(image)
    return np.concatenate([scale_features(normalised(plane)) for plane in (luma, halved(luma))])


def scale_features(values: Map) -> Floats:
    """The 18 numbers of one scale, of shape (18,)."""
    own = fit(values[None])
    numbers = [own.shape[0], (own.left[0] ** 2 + own.right[0] ** 2) / 2]
    for rows, columns in SHIFTS:
        pair = fit(_products(values, rows, columns)[None])
        numbers += [pair.shape[0], pair.mean[0], pair.left[0] ** 2, pair.right[0] ** 2]
    return np.array(numbers)


def _products(values: Map, rows: int, columns: int) -> Map:
    """Products of each value with its neighbour that many rows below and columns to the right."""
    height, width = values.shape
    first = values[: height - rows, max(0, -columns) : width - max(0, columns)]
    second = values[rows:, max(0, columns) : width + min(0, columns)]
    return np.asarray(cv2.multiply(first, second), np.float32)


BLOCK = 96
"""Side of a block, in pixels of the full resolution, as in the paper."""

_DENSE_STRIDE = 24
"""Distance between blocks of an image too small for four blocks side by side; they then overlap."""


def niqe(image: Rgb) -> float:
    """Natural image quality evaluator.

    Differs from the paper's own code in two points. An image too small for four whole blocks is covered with
    overlapping ones, where the paper's code gives no usable number. And in flat areas differences below 0.001 levels
    count as zero, where the paper's code fits its model to rounding noise; so every machine gives the same score.

    Args:
        image: uint8 RGB, H x W x 3; beyond 6.5 megapixels a copy reduced to that is measured.

    Returns:
        0 and up, about 2 to 20 for photographs; lower is better.

    Raises:
        ImageError: If the image is too small for two blocks (96 x 120 pixels), or so flat that no two blocks have
            any structure to measure.
    """
    luma = grey(image)
    height, width = luma.shape
    if min(height, width) < BLOCK or max(height, width) < BLOCK + _DENSE_STRIDE:
        raise ImageError(
            f"NIQE needs at least {BLOCK} x {BLOCK + _DENSE_STRIDE} pixels, not {width} x {height}; "
            "give a larger image or region"
        )
    stride = BLOCK if (height // BLOCK) * (width // BLOCK) >= 4 else _DENSE_STRIDE
    rows, columns = ((length - BLOCK) // stride * stride + BLOCK for length in (height, width))
    luma = luma[:rows, :columns]
    fine = _features(normalised(luma), BLOCK, stride)
    coarse = _features(normalised(halved(luma)), BLOCK // 2, stride // 2)
    return _distance(np.hstack([fine, coarse]))


def _distance(features: Floats) -> float:
    """Distance between the model of these blocks (n x 36) and the pristine model, equation 10 of the paper."""
    whole = features[~np.isnan(features).any(axis=1)]
    if len(whole) < 2:
        raise ImageError("NIQE cannot be measured: the image is flat, fewer than two blocks have any structure")
    pristine = shipped_arrays("niqe_pris_params.npz")
    gap = pristine["mu_pris_param"].ravel() - whole.mean(axis=0)
    pooled = (pristine["cov_pris_param"] + np.cov(whole, rowvar=False)) / 2
    return math.sqrt(max(0.0, float(gap @ np.linalg.pinv(pooled) @ gap)))


def _features(values: Map, side: int, stride: int) -> Floats:
    """The 18 numbers of one scale for each block, n x 18; NaN where a block has no structure."""
    blocks = np.lib.stride_tricks.sliding_window_view(values, (side, side))[::stride, ::stride]
    # Row by row, so that the copies stay small whatever the image's size.
    return np.vstack([_row_features(np.ascontiguousarray(row)) for row in blocks])


def _row_features(blocks: Map) -> Floats:
    own = fit(blocks)
    columns = [own.shape, (own.left_scale + own.right_scale) / 2]
    for shift in SHIFTS:
        pair = fit(blocks * np.roll(blocks, shift, axis=(1, 2)))
        columns.extend([pair.shape, pair.mean, pair.left_scale, pair.right_scale])
    return np.stack(columns, axis=1)
