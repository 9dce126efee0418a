"""NIQE, the tool that needs no reference: how far an image's local statistics are from those of good photographs.

Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013. Blocks of 96 x 96 pixels have 36 numbers
each (asymmetric generalised Gaussians fitted to the locally normalised luma and to its products with its
neighbours, at two scales); the score is the distance between the blocks' Gaussian model and that of pristine images,
which the paper's authors published and which ships in `data/niqe_pris_params.npz`.
"""

import math

import numpy as np

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.tools.blind import scene_statistics as scene

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
    luma = scene.grey(image)
    height, width = luma.shape
    if min(height, width) < BLOCK or max(height, width) < BLOCK + _DENSE_STRIDE:
        raise ImageError(
            f"NIQE needs at least {BLOCK} x {BLOCK + _DENSE_STRIDE} pixels, not {width} x {height}; "
            "give a larger image or region"
        )
    stride = BLOCK if (height // BLOCK) * (width // BLOCK) >= 4 else _DENSE_STRIDE
    rows, columns = ((length - BLOCK) // stride * stride + BLOCK for length in (height, width))
    luma = luma[:rows, :columns]
    fine = _features(scene.normalised(luma), BLOCK, stride)
    coarse = _features(scene.normalised(scene.halved(luma)), BLOCK // 2, stride // 2)
    return _distance(np.hstack([fine, coarse]))


def _distance(features: scene.Floats) -> float:
    """Distance between the model of these blocks (n x 36) and the pristine model, equation 10 of the paper."""
    whole = features[~np.isnan(features).any(axis=1)]
    if len(whole) < 2:
        raise ImageError("NIQE cannot be measured: the image is flat, fewer than two blocks have any structure")
    pristine = scene.shipped_arrays("niqe_pris_params.npz")
    gap = pristine["mu_pris_param"].ravel() - whole.mean(axis=0)
    pooled = (pristine["cov_pris_param"] + np.cov(whole, rowvar=False)) / 2
    return math.sqrt(max(0.0, float(gap @ np.linalg.pinv(pooled) @ gap)))


def _features(values: scene.Map, side: int, stride: int) -> scene.Floats:
    """The 18 numbers of one scale for each block, n x 18; NaN where a block has no structure."""
    blocks = np.lib.stride_tricks.sliding_window_view(values, (side, side))[::stride, ::stride]
    # Row by row, so that the copies stay small whatever the image's size.
    return np.vstack([_row_features(np.ascontiguousarray(row)) for row in blocks])


def _row_features(blocks: scene.Map) -> scene.Floats:
    own = scene.fit(blocks)
    columns = [own.shape, (own.left_scale + own.right_scale) / 2]
    for shift in scene.SHIFTS:
        pair = scene.fit(blocks * np.roll(blocks, shift, axis=(1, 2)))
        columns.extend([pair.shape, pair.mean, pair.left_scale, pair.right_scale])
    return np.stack(columns, axis=1)
