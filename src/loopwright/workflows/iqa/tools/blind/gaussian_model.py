"""BlindScore, the score without a reference: a regression over natural-scene statistics and measured features.

Kernel ridge regression with a Laplacian kernel, trained by `scripts/train_blind.py` on a mixture of photographs with
the faults that cameras and people make (BIQ2021, train split) and of pristine photographs with a known distortion
(TID2013, rebuilt); `data/blind_score.json` says on what, when, and how well it agrees with people whom it has not seen.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.tools.blind.features import NAME, blind_features
from loopwright.workflows.iqa.tools.blind.scene_statistics import Floats, shipped_arrays

STEPS = 32
"""Steps of the numbers that the model sees, per standard deviation. So coarse that the last digits, in which machines
may differ, do not show, and that the model fits into single bytes."""
LARGEST = 112
"""Numbers are cut off this many steps from the mean, so that an image like no other gets no wild score."""


class KernelModel(NamedTuple):
    """What the score is computed with."""

    mean: Floats
    """Of each number over the training images."""
    spread: Floats
    """Standard deviation of each."""
    emphasis: Floats
    """What each number's difference counts for; the squares sum to one."""
    points: NDArray[np.int8]
    """The training images' numbers in steps, shape (images, numbers)."""
    weights: Floats
    """What each training image adds."""
    gamma: float
    """How fast the likeness falls with the distance."""
    offset: float
    """Score of an image that is like no other."""


def blind_score(image: Rgb) -> float:
    """Predicted mean opinion.

    Images with a side of more than 1,024 pixels are judged on a copy reduced to that, as a screen shows them.

    Returns:
        1 (bad) to 5 (excellent); the same pixels always give the same number.

    Raises:
        ImageError: If a side has fewer than 32 pixels, or the image is flat.
    """
    groups = blind_features(image)
    # Single numbers may be missing; without any structure at full size nearly all are, and the rest says nothing.
    if np.isnan(groups["shape 1"]).any():
        raise ImageError(f"{NAME} cannot be measured: the image is flat, there is no structure")
    score = response(blind_model(), np.concatenate(list(groups.values())))
    return min(5.0, max(1.0, score))


def in_steps(features: Floats, mean: Floats, spread: Floats) -> NDArray[np.int8]:
    """The numbers as the model sees them.

    Args:
        features: Shape (..., numbers); NaN, nothing to measure, counts as the mean.
        mean: Shape (numbers,).
        spread: Shape (numbers,).

    Returns:
        Steps from the mean, int8.
    """
    steps = np.nan_to_num((features - mean) / spread * STEPS)
    return np.rint(np.clip(steps, -LARGEST, LARGEST)).astype(np.int8)


def response(model: KernelModel, features: Floats) -> float:
    """What the model says of one image's numbers, shape (numbers,); it may lie beyond the scale."""
    steps = in_steps(features, model.mean, model.spread)
    # Whole numbers below 2^24, so single precision is exact.
    apart = np.subtract(model.points, steps, dtype=np.float32)
    apart *= apart
    distance = np.sqrt(np.einsum("ij,j->i", apart, (model.emphasis / STEPS) ** 2))
    likeness = np.exp(-model.gamma * distance)
    # An exact sum, so that no order of summing can show in the last digit.
    return model.offset + math.fsum(model.weights * likeness)


@functools.cache
def blind_model() -> KernelModel:
    """The shipped model."""
    data = shipped_arrays("blind_score.npz")
    arrays = {name: data[name].astype(np.float64) for name in ("mean", "spread", "emphasis", "weights")}
    return KernelModel(points=data["points"], gamma=float(data["gamma"]), offset=float(data["offset"]), **arrays)
