"""PIQE: the share of an image's lively blocks that are impaired or noisy. It was trained on nothing.

Venkatanath, Praneeth, Maruthi Chandrasekhar, Channappayya and Medasani, "Blind image quality evaluation using
perception based features", National Conference on Communications, 2015; where the paper leaves a detail open, as
MATLAB's `piqe` does it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.planes import checked
from loopwright.workflows.iqa.tools.blind.scene_statistics import Map, grey, normalised

BLOCK = 16
"""Side of a block, pixels."""
SEGMENT = 6
"""Pixels of a piece of a block's edge."""
LIVELY = 0.1
"""Variance of the normalised luma from which a block counts."""
LEVEL = 0.1
"""Standard deviation of a piece of edge below which it is unnaturally level: blocking, or detail that is gone."""


def piqe(image: NDArray[np.uint8]) -> float:
    """Perception based image quality evaluator.

    Args:
        image: uint8 RGB, H x W x 3. Sides that are no multiple of 16 are filled up with their mirror image;
            beyond 6.5 megapixels a copy reduced to that is measured.

    Returns:
        0 to 100; lower is better. An image without any lively block has 100.

    Raises:
        ImageError: If a side has fewer than 16 pixels.
    """
    checked(image, "PIQE", BLOCK)
    luma = grey(image)
    luma = np.pad(luma, [(0, -length % BLOCK) for length in luma.shape], mode="symmetric")
    values = normalised(np.rint(luma * np.float32(255) / max(1.0, float(luma.max()))))
    rows, columns = values.shape[0] // BLOCK, values.shape[1] // BLOCK
    blocks = values.reshape(rows, BLOCK, columns, BLOCK).swapaxes(1, 2).reshape(-1, BLOCK, BLOCK)
    variance = blocks.var(axis=(1, 2), ddof=1)
    lively = variance > LIVELY
    blocks, variance = blocks[lively], variance[lively].astype(np.float64)
    penalty = np.where(_impaired(blocks), 1 - variance, 0) + np.where(_noisy(blocks, variance), variance, 0)
    return float((penalty.sum() + 1) / (len(blocks) + 1) * 100)


def _impaired(blocks: Map) -> NDArray[np.bool_]:
    """Whether a piece of one of the four edges of a block is level."""
    edges = np.stack([blocks[:, 0], blocks[:, -1], blocks[:, :, 0], blocks[:, :, -1]], axis=1)
    pieces = np.lib.stride_tricks.sliding_window_view(edges, SEGMENT, axis=2)
    return np.asarray((pieces.std(axis=3, ddof=1) < LEVEL).any(axis=(1, 2)))


def _noisy(blocks: Map, variance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the middle columns of a block vary as its surround does, in proportion to the whole."""
    middle = blocks[:, :, 7:9]
    # MATLAB's code takes out the eighth column and then, by the old numbers, the tenth; so does everybody since.
    surround = np.delete(blocks, (7, 9), axis=2)
    spread = np.sqrt(variance)
    around = surround.std(axis=(1, 2), ddof=1, dtype=np.float64)
    ratio = middle.std(axis=(1, 2), ddof=1, dtype=np.float64) / np.maximum(around, 1e-12)
    return spread > 2 * np.abs(spread - ratio) / np.maximum(spread, ratio)
