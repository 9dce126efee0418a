"""NIQE, the tool that needs no reference: how far an image's local statistics are from those of good photographs.

Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013. Blocks of 96 x 96 pixels have 36 numbers
each (asymmetric generalised Gaussians fitted to the locally normalised luma and to its products with its
neighbours, at two scales); the score is the distance between the blocks' Gaussian model and that of pristine images,
which the paper's authors published and which ships in `data/niqe_pris_params.npz`.
"""

from __future__ import annotations

import functools
import math
from importlib import resources
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError

Floats = NDArray[np.float64]
Map = NDArray[np.floating[Any]]
"""A map of one float32 per pixel, or n blocks of one."""

BLOCK = 96
"""Side of a block, in pixels of the full resolution, as in the paper."""

_DENSE_STRIDE = 24
"""Distance between blocks of an image too small for four blocks side by side; they then overlap."""

_FLAT = np.float32(1e-3)
"""Below this, in levels, a difference from the local mean is rounding noise of a flat area and counts as zero."""

_SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Neighbours: right, below, and the two diagonals, as (rows, columns)."""

# MATLAB's bicubic kernel (a = -1/2) stretched for halving; it is symmetric and sums to one.
_HALVING = np.array([-3, -9, 29, 111, 111, 29, -9, -3], np.float32) / 256


class _Pristine(NamedTuple):
    """The Gaussian model of good photographs."""

    mean: Floats
    covariance: Floats


class _Shapes(NamedTuple):
    """Tables over the shape parameter of the asymmetric generalised Gaussian, 0.2 to 10 in steps of 0.001."""

    alpha: Floats
    ratio: Floats
    """Gamma(2/a)^2 / (Gamma(1/a) Gamma(3/a)); rises with a."""
    scale: Floats
    """sqrt(Gamma(1/a) / Gamma(3/a)), from a standard deviation to beta."""
    mean: Floats
    """Gamma(2/a) / Gamma(1/a), from a difference of betas to the mean."""


def niqe(image: NDArray[np.uint8]) -> float:
    """Natural image quality evaluator.

    Differs from the paper's own code in two points. An image too small for four whole blocks is covered with
    overlapping ones, where the paper's code gives no usable number. And in flat areas differences below 0.001 levels
    count as zero, where the paper's code fits its model to rounding noise; so every machine gives the same score.

    Args:
        image: uint8 RGB, H x W x 3.

    Returns:
        0 and up, about 2 to 20 for photographs; lower is better.

    Raises:
        ImageError: If the image is too small for two blocks (96 x 120 pixels), or so flat that no two blocks have
            any structure to measure.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ImageError(f"NIQE: the image must be uint8 H x W x 3, not {image.dtype} {image.shape}")
    height, width = image.shape[:2]
    if min(height, width) < BLOCK or max(height, width) < BLOCK + _DENSE_STRIDE:
        raise ImageError(
            f"NIQE needs at least {BLOCK} x {BLOCK + _DENSE_STRIDE} pixels, not {width} x {height}; "
            "give a larger image or region"
        )
    stride = BLOCK if (height // BLOCK) * (width // BLOCK) >= 4 else _DENSE_STRIDE
    rows, columns = ((length - BLOCK) // stride * stride + BLOCK for length in (height, width))
    luma = cv2.cvtColor(image[:rows, :columns], cv2.COLOR_RGB2GRAY).astype(np.float32)
    half = cv2.sepFilter2D(luma, cv2.CV_32F, _HALVING, _HALVING, anchor=(3, 3), borderType=cv2.BORDER_REFLECT)
    half = np.ascontiguousarray(half[::2, ::2], np.float32)
    fine = _features(_normalised(luma), BLOCK, stride)
    coarse = _features(_normalised(half), BLOCK // 2, stride // 2)
    return _distance(np.hstack([fine, coarse]))


def _distance(features: Floats) -> float:
    """Distance between the model of these blocks (n x 36) and the pristine model, equation 10 of the paper."""
    whole = features[~np.isnan(features).any(axis=1)]
    if len(whole) < 2:
        raise ImageError("NIQE cannot be measured: the image is flat, fewer than two blocks have any structure")
    pristine = _pristine()
    gap = pristine.mean - whole.mean(axis=0)
    pooled = (pristine.covariance + np.cov(whole, rowvar=False)) / 2
    return math.sqrt(max(0.0, float(gap @ np.linalg.pinv(pooled) @ gap)))


def _normalised(luma: Map) -> Map:
    """Luma less its local mean, over its local standard deviation plus one; Gaussian window of 7 x 7, sigma 7/6."""
    # Around mid-grey the squares below lose fewer float32 digits; the result is the same.
    centred = luma - np.float32(128)
    mean = _window(centred)
    variance = _window(centred * centred) - mean * mean
    centred -= mean
    centred[np.abs(centred) < _FLAT] = 0
    centred /= np.sqrt(np.abs(variance)) + np.float32(1)
    return centred


def _window(values: Map) -> Map:
    return np.asarray(cv2.GaussianBlur(values, (7, 7), 7 / 6, borderType=cv2.BORDER_REPLICATE), np.float32)


def _features(values: Map, side: int, stride: int) -> Floats:
    """The 18 numbers of one scale for each block, n x 18; NaN where a block has no structure."""
    blocks = np.lib.stride_tricks.sliding_window_view(values, (side, side))[::stride, ::stride]
    # Row by row, so that the copies stay small whatever the image's size.
    return np.vstack([_row_features(np.ascontiguousarray(row)) for row in blocks])


def _row_features(blocks: Map) -> Floats:
    alpha, left, right = _fit(blocks)
    columns = [alpha, (left + right) / 2]
    for shift in _SHIFTS:
        columns.extend(_fit(blocks * np.roll(blocks, shift, axis=(1, 2)), with_mean=True))
    return np.stack(columns, axis=1)


def _fit(blocks: Map, *, with_mean: bool = False) -> list[Floats]:
    """Asymmetric generalised Gaussian of each block by moment matching.

    Args:
        blocks: n x side x side.
        with_mean: Whether to give the mean too.

    Returns:
        Shape, mean (only if asked for), left and right scale; n values each, NaN without values of both signs.
    """
    shapes = _shapes()
    flat = blocks.reshape(len(blocks), -1)
    below = np.minimum(flat, 0)
    squares_below = np.einsum("ij,ij->i", below, below).astype(np.float64)
    squares = np.einsum("ij,ij->i", flat, flat).astype(np.float64)
    absolute = flat.sum(axis=1, dtype=np.float64) - 2 * below.sum(axis=1, dtype=np.float64)
    count = flat.shape[1]
    count_below = np.count_nonzero(flat < 0, axis=1)
    count_above = np.count_nonzero(flat > 0, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.sqrt(squares_below / count_below)
        right = np.sqrt(np.maximum(squares - squares_below, 0) / count_above)
        asymmetry = left / right
        ratio = (absolute / count) ** 2 / (squares / count)
        ratio *= (asymmetry**3 + 1) * (asymmetry + 1) / (asymmetry**2 + 1) ** 2
    # A block without structure takes the first entry for its shape; its scales stay NaN, so it drops out.
    index = _nearest(shapes.ratio, np.nan_to_num(ratio))
    left *= shapes.scale[index]
    right *= shapes.scale[index]
    fitted = [shapes.alpha[index], left, right]
    if with_mean:
        fitted.insert(1, (right - left) * shapes.mean[index])
    return fitted


def _nearest(rising: Floats, values: Floats) -> NDArray[np.intp]:
    """Index of the entry that is nearest to each value."""
    above = np.clip(np.searchsorted(rising, values), 1, len(rising) - 1)
    return np.where(values - rising[above - 1] <= rising[above] - values, above - 1, above)


@functools.cache
def _shapes() -> _Shapes:
    alpha = np.arange(0.2, 10.001, 0.001)
    first, second, third = (np.array([math.lgamma(k / a) for a in alpha]) for k in (1, 2, 3))
    return _Shapes(alpha, np.exp(2 * second - first - third), np.exp((first - third) / 2), np.exp(second - first))


@functools.cache
def _pristine() -> _Pristine:
    path = resources.files("loopwright.workflows.iqa") / "data" / "niqe_pris_params.npz"
    with path.open("rb") as file, np.load(file) as data:
        return _Pristine(data["mu_pris_param"].ravel(), data["cov_pris_param"])
