"""The quality tools that need no reference: BRISQUE and NIQE by natural-scene statistics, and BlindScore.

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

BlindScore is a regression over natural-scene statistics and measured features: numbers of luma at three scales, of
colour, and of the coder's grid. All are cheap to compute and none depends on where in the image something is, except
for the comparison of the middle with the rest.

It is a kernel ridge regression with a Laplacian kernel, trained by `scripts/train_blind.py` on a mixture of photographs
with the faults that cameras and people make (BIQ2021, train split) and of pristine photographs with a known distortion
(TID2013, rebuilt); `data/blind_score.json` says on what, when, and how well it agrees with people whom it has not seen.
"""

import functools
import math
from importlib import resources
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.coding import step_sizes
from loopwright.workflows.iqa.measuring.features.grain import fine_detail
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import block_means, checked, level_counts, quantiles, whole_view

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


NIQE_BLOCK = 96
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
    if min(height, width) < NIQE_BLOCK or max(height, width) < NIQE_BLOCK + _DENSE_STRIDE:
        raise ImageError(
            f"NIQE needs at least {NIQE_BLOCK} x {NIQE_BLOCK + _DENSE_STRIDE} pixels, not {width} x {height}; "
            "give a larger image or region"
        )
    stride = NIQE_BLOCK if (height // NIQE_BLOCK) * (width // NIQE_BLOCK) >= 4 else _DENSE_STRIDE
    rows, columns = ((length - NIQE_BLOCK) // stride * stride + NIQE_BLOCK for length in (height, width))
    luma = luma[:rows, :columns]
    fine = _features(normalised(luma), NIQE_BLOCK, stride)
    coarse = _features(normalised(halved(luma)), NIQE_BLOCK // 2, stride // 2)
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


LONG_SIDE = 1024
"""Longer side, in pixels, beyond which a reduced copy is measured: the image as a screen shows it."""
BLOCK = 16
"""Side of a block at full size, pixels; half of it at half size."""
SCALES = 3
BLIND_SCORE = "BlindScore"
"""The registered name of its tool."""

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
    checked(image, BLIND_SCORE)
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
        raise ImageError(f"{BLIND_SCORE} cannot be measured: the image is flat, there is no structure")
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
