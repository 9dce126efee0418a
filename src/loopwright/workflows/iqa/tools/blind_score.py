"""BlindScore, the score without a reference: a regression over natural-scene statistics and measured features.

Its numbers are statistics of luma at three scales, of colour, and of the coder's grid. All are cheap to compute and
none depends on where in the image something is, except for the comparison of the middle with the rest.

Kernel ridge regression with a Laplacian kernel, trained by `scripts/train_blind.py` on a mixture of photographs with
the faults that cameras and people make (BIQ2021, train split) and of pristine photographs with a known distortion
(TID2013, rebuilt); `data/blind_score.json` says on what, when, and how well it agrees with people whom it has not seen.
"""

import functools
import math
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.coding import step_sizes
from loopwright.workflows.iqa.measuring.features.grain import fine_detail
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import block_means, checked, level_counts, quantiles, whole_view
from loopwright.workflows.iqa.tools.natural_scenes import (
    Floats,
    Map,
    grey,
    halved,
    normalised,
    scale_features,
    shipped_arrays,
)

LONG_SIDE = 1024
"""Longer side, in pixels, beyond which a reduced copy is measured: the image as a screen shows it."""
BLOCK = 16
"""Side of a block at full size, pixels; half of it at half size."""
SCALES = 3
NAME = "BlindScore"
"""The tool's registered name."""

_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
"""The eight neighbours in a circle, as (rows, columns)."""
_BITS = (np.arange(256)[:, None] >> np.arange(len(_AROUND))) & 1
_KINDS = np.where((_BITS ^ np.roll(_BITS, 1, axis=1)).sum(axis=1) > 2, len(_AROUND) + 1, _BITS.sum(axis=1))
"""Of each of the 256 patterns: the number of brighter neighbours, or 9 where they are not all side by side."""
_FIVE = (0.05, 0.25, 0.5, 0.75, 0.95)
_THREE = (0.1, 0.5, 0.9)


def blind_features(image: Rgb) -> dict[str, Floats]:
    """Measure an image.

    Returns:
        Group -> its numbers, always the same groups and counts; NaN where there is no structure to measure.

    Raises:
        ImageError: If a side has fewer than 32 pixels.
    """
    checked(image, NAME)
    image = whole_view(image, LONG_SIDE)
    luma = plane = grey(image)
    groups: dict[str, Floats] = {}
    for scale in range(SCALES):
        if scale:
            plane = halved(plane)
        across, down = _slope(plane, 1, 0), _slope(plane, 0, 1)
        groups[f"shape {scale + 1}"] = scale_features(normalised(plane))
        groups[f"detail {scale + 1}"] = _detail(fine_detail(plane) ** 2, across, down, BLOCK >> scale)
        groups[f"texture {scale + 1}"] = _texture(plane, np.sqrt(across + down))
    groups["colour detail"] = _colour_detail(image)
    groups["grid"] = _grid(luma)
    groups["tone"] = _tone(image, luma)
    groups["middle"] = _middle(luma)
    return groups


def _log(values: Map) -> Floats:
    return np.log(values.astype(np.float64) + 0.05)


def _slope(plane: Map, across: int, down: int) -> Map:
    """Squares of the slope along an axis."""
    slope = cv2.Sobel(plane, cv2.CV_32F, across, down, ksize=1, scale=0.5, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(cv2.multiply(slope, slope), np.float32)


def _detail(fine: Map, across: Map, down: Map, side: int) -> Floats:
    """How much fine detail and slope the blocks have, and how the one goes with the other; from their squares."""
    detail = _log(np.sqrt(block_means(fine, side)))
    steep = [block_means(squares, side) for squares in (across, down)]
    slope = _log(np.sqrt(steep[0] + steep[1]))
    peaked = np.log((float((fine * fine).mean()) + 1e-3) / (float(fine.mean()) + 1e-2) ** 2)
    tilt = np.log((float(steep[0].mean()) + 0.01) / (float(steep[1].mean()) + 0.01))
    spread = [*quantiles(detail, _FIVE), *quantiles(slope, _THREE), *quantiles(detail - slope, _THREE)]
    return np.array([*spread, peaked, tilt, abs(tilt)])


def _texture(plane: Map, steep: Map) -> Floats:
    """Local binary patterns, uniform and whatever their rotation: how common each is, by number and by slope.

    Ojala, Pietikaeinen and Maeenpaeae, IEEE Transactions on Pattern Analysis and Machine Intelligence 24(7), 2002.
    Square roots of the shares, so that rare patterns count as well.
    """
    height, width = plane.shape
    middle = plane[1:-1, 1:-1]
    pattern = np.zeros(middle.shape, np.uint8)
    for place, (down, right) in enumerate(_AROUND):
        neighbour = plane[1 + down : height - 1 + down, 1 + right : width - 1 + right]
        # 255 where it is as bright or brighter.
        pattern |= np.asarray(cv2.compare(neighbour, middle, cv2.CMP_GE), np.uint8) & np.uint8(1 << place)
    # Counted by pattern and then by kind: fewer values in a row have the same place, which each has to wait for.
    by_number = np.bincount(_KINDS, level_counts(pattern)) / pattern.size
    steep = steep[1:-1, 1:-1]
    by_slope = np.bincount(_KINDS, np.bincount(pattern.ravel(), steep.ravel(), 256)) / (float(steep.sum()) + 1e-3)
    return np.sqrt(np.concatenate([by_number, by_slope]))


def _colour_detail(image: Rgb) -> Floats:
    """Fine detail of the two colour differences at full and half size: noise and fringes of colour."""
    numbers: list[float] = []
    planes = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2YCrCb))[1:]
    for plane in planes:
        values = plane.astype(np.float32)
        numbers += quantiles(_log(np.sqrt(block_means(fine_detail(values) ** 2, BLOCK))), _THREE)
        values = block_means(values, 2)
        numbers += quantiles(_log(np.sqrt(block_means(fine_detail(values) ** 2, BLOCK // 2))), _THREE)
    return np.array(numbers)


def _grid(luma: Map) -> Floats:
    """Steps on the strongest of the eight possible 8 x 8 grids against the others, and the share of no step at all."""
    numbers: list[float] = []
    for axis in (0, 1):
        step = step_sizes(luma, axis)
        line = step.mean(axis=1 - axis)
        phases = np.array([line[phase::8].mean() for phase in range(8)]) + 0.1
        numbers += [float(np.log(phases.max() / np.median(phases))), np.count_nonzero(step < 0.5) / step.size]
    return np.array(numbers)


def _tone(image: Rgb, luma: Map) -> Floats:
    counts = level_counts(luma.astype(np.uint8)).astype(np.float64)
    share = np.cumsum(counts) / counts.sum()
    points = np.searchsorted(share, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)) / 255
    inside = counts[int(points[0] * 255) : int(points[-1] * 255) + 1]
    used = float((inside > 0.02 * inside.mean()).mean())
    probability = counts[counts > 0] / counts.sum()
    entropy = -float((probability * np.log(probability)).sum())
    scale = min(1.0, 128 / max(image.shape[:2]))
    small = cv2.resize(image, (0, 0), fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB).reshape(-1, 3).astype(np.float64)
    chroma = np.hypot(lab[:, 1], lab[:, 2])
    return np.concatenate(
        [
            points,
            [share[5], 1 - share[249], used, entropy],
            lab.mean(axis=0) / 100,
            np.log(lab.std(axis=0) + 1),
            np.log(np.quantile(chroma, (0.1, 0.5, 0.95)) + 1),
            [float(np.hypot(lab[:, 1].mean(), lab[:, 2].mean())) / 100],
        ]
    )


def _middle(luma: Map) -> Floats:
    """The middle ninth against the rest: brightness, contrast and detail."""
    rows, columns = luma.shape[0] // 3, luma.shape[1] // 3
    fine = np.abs(fine_detail(luma))
    inner = (slice(rows, 2 * rows), slice(columns, 2 * columns))
    return np.array(
        [
            (float(luma[inner].mean()) - float(luma.mean())) / 255,
            np.log((float(luma[inner].std()) + 1) / (float(luma.std()) + 1)),
            np.log((float(fine[inner].mean()) + 0.05) / (float(fine.mean()) + 0.05)),
        ]
    )


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
    apart = np.subtract(model.points, steps, dtype=np.float32) ** 2
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
