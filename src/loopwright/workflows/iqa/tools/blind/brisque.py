"""BRISQUE: how far the shape of an image's locally normalised luma is from that of undistorted photographs.

Mittal, Moorthy and Bovik, "No-reference image quality assessment in the spatial domain", IEEE Transactions on Image
Processing 21(12), 2012. 36 numbers, 18 at each of two scales, go into the support-vector regression that the authors
trained on the LIVE database, which ships in `data/blind_brisque.npz`.
"""

import math

import cv2
import numpy as np

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import checked
from loopwright.workflows.iqa.tools.blind import scene_statistics as scene


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
    model = scene.shipped_arrays("blind_brisque.npz")
    scaled = 2 * (features - model["lowest"]) / (model["highest"] - model["lowest"]) - 1
    kernel = np.exp(-model["gamma"] * ((model["vectors"] - scaled) ** 2).sum(axis=1))
    # An exact sum, so that no order of summing can show in the last digit.
    return math.fsum(model["weights"] * kernel) - float(model["offset"])


def brisque_features(image: Rgb) -> scene.Floats:
    """The 36 numbers of the paper's table I, at full and at half size.

    Returns:
        Shape (36,): per scale the shape and variance of the normalised luma, then shape, mean and the variance left
        and right of zero for its products with the neighbour to the right, below, and on the two diagonals. NaN where
        an image is flat.

    Raises:
        ImageError: If a side has fewer than 32 pixels.
    """
    checked(image, "BRISQUE")
    luma = scene.grey(image)
    return np.concatenate([scale_features(scene.normalised(plane)) for plane in (luma, scene.halved(luma))])


def scale_features(values: scene.Map) -> scene.Floats:
    """The 18 numbers of one scale, of shape (18,)."""
    own = scene.fit(values[None])
    numbers = [own.shape[0], (own.left[0] ** 2 + own.right[0] ** 2) / 2]
    for rows, columns in scene.SHIFTS:
        pair = scene.fit(_products(values, rows, columns)[None])
        numbers += [pair.shape[0], pair.mean[0], pair.left[0] ** 2, pair.right[0] ** 2]
    return np.array(numbers)


def _products(values: scene.Map, rows: int, columns: int) -> scene.Map:
    """Products of each value with its neighbour that many rows below and columns to the right."""
    height, width = values.shape
    first = values[: height - rows, max(0, -columns) : width - max(0, columns)]
    second = values[rows:, max(0, columns) : width + min(0, columns)]
    return np.asarray(cv2.multiply(first, second), np.float32)
