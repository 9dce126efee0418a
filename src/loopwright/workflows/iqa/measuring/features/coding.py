"""Traces of coders and resamplers: the 8 x 8 grid and its quantised DCT, missing levels, repeated pixels."""

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import blocks, level_counts, mean_square

LUMA_TABLE = {
    (0, 0): 16, (0, 1): 11, (1, 0): 12, (1, 1): 12, (2, 0): 14, (0, 2): 10, (1, 2): 14, (2, 1): 13, (2, 2): 16,
}  # fmt: skip
"""Quantisation steps of the lowest frequencies in the example table of ITU-T T.81, annex K.1, at quality 50."""
STEPS = np.arange(2.0, 256.0)
"""Quantisation steps that are tried, DCT units."""
REGULAR = 0.8
"""Share of the runs of repeated pixels that are as long as their median, up to one, from which they are squares."""
BINS, BINS_PER_UNIT = 2048, 4
"""Histogram of the size of a DCT coefficient: number of bins, and bins per DCT unit."""
SETTINGS, MIDDLE, GRIDDED = (10, 25, 40, 60), 768, 0.08
"""Qualities that are tried on the reference; side of what is tried of it, pixels; and by how much the likeness must
exceed that of a displaced grid: blur, noise and wavelets stay below 0.02, AVIF below 0.06, resampled JPEG has 0.09."""
FEW = 16
"""Levels below which an image is a drawing that no coder has touched."""
BAND, FAR = 0.05, 24
"""Share of the samples from which a level is a band, and the distance of two used levels that are two colours."""


def step_sizes(plane: Plane, axis: int) -> Plane:
    """Absolute steps between neighbouring rows (axis 0) or columns (axis 1)."""
    near, far = (plane[:-1], plane[1:]) if axis == 0 else (plane[:, :-1], plane[:, 1:])
    return np.asarray(cv2.absdiff(far, near), np.float32)


def _grid(plane: Plane, axis: int) -> int:
    """Phase 0..7 of the first border of the strongest of the eight possible grids, axis 0 for horizontal borders."""
    line = step_sizes(plane, axis).mean(axis=1 - axis)
    return int(np.argmax([line[phase::8].mean() for phase in range(8)]))


@lru_cache(maxsize=1)
def _combs() -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """For every step: cos(2 pi size / step) for every bin of a coefficient's size, and the first bin that counts."""
    size = np.arange(BINS, dtype=np.float32) / BINS_PER_UNIT
    counts = size[None] > 0.6 * STEPS[:, None]
    return (np.cos(2 * np.pi * size[None] / STEPS[:, None]) * counts).astype(np.float32), counts.argmax(axis=1)


def quantisation_steps(coefficients: NDArray[np.float32]) -> NDArray[np.float64]:
    """Largest step, DCT units, whose multiples the values of each of n coefficients keep to, or 0; of shape (n,).

    Values that a coder set to zero agree with every step, so only the others count. The mean of cos(2 pi v / q) is 1
    for values on multiples of q and 0 on average otherwise; it needs to exceed 0.6 with at least 24 values.

    Args:
        coefficients: Shape (blocks, n): the same n DCT coefficients of every block.
    """
    bins = np.minimum(np.abs(coefficients) * BINS_PER_UNIT + 0.5, BINS - 1).astype(np.intp)
    count = bins.shape[1]
    # One count of all columns: bin by bin, column by column.
    histogram = np.bincount((bins * count + np.arange(count)).ravel(), minlength=BINS * count)
    histogram = histogram.reshape(BINS, count).astype(np.float32)
    # The last bin holds everything larger, whose remainder is unknown.
    histogram[-1] = 0
    combs, first = _combs()
    kept = histogram[::-1].cumsum(axis=0)[::-1][first]
    score = np.where(kept >= 24, combs @ histogram / np.maximum(kept, 1), 0.0)
    steps = np.zeros(score.shape[1])
    for column in range(score.shape[1]):
        agreeing = np.flatnonzero(score[:, column] > 0.6)
        if len(agreeing):
            # A step that is a little off still agrees with small multiples; the best one nearby is the step itself.
            largest = STEPS[agreeing[-1]]
            near = np.flatnonzero((largest * 0.85 < STEPS) & (largest >= STEPS))
            steps[column] = STEPS[near[int(np.argmax(score[near, column]))]]
    return steps


def jpeg_trace(plane: Plane) -> tuple[float, float]:
    """A JPEG coder's quality 1..100, 100 for none, from the pixels; and the share of coefficients that agree, 0..1."""
    # A coder leaves ringing of many levels around whatever few there were: without it, the regular steps are drawn.
    if np.count_nonzero(level_counts(np.clip(plane + 0.5, 0, 255).astype(np.uint8))) < FEW:
        return 100.0, 0.0
    top, left = ((_grid(plane, axis) + 1) % 8 for axis in (0, 1))
    found = _quality(plane[top:, left:])
    if found[1] >= 0.5 or top == left == 0:
        return found
    return max(found, _quality(plane), key=lambda trace: trace[1])


def _quality(plane: Plane) -> tuple[float, float]:
    """Quality by nine coefficients of the grid that starts at the first pixel, and the share that has a step."""
    steps = quantisation_steps(_lowest_frequencies(plane))
    scales = (steps / np.array(list(LUMA_TABLE.values())))[steps > 0]
    evidence = len(scales) / len(LUMA_TABLE)
    if evidence < 0.5:
        return 100.0, evidence
    scale = float(np.median(scales))
    quality = 50 / scale if scale > 1 else 100 - 50 * scale
    return min(99.0, max(1.0, quality)), evidence


def coder_beneath(plane: Plane, origin: Plane) -> tuple[float, float]:
    """The JPEG coder whose work an image still holds beneath what came after, such as noise or another coder.

    What a coder makes of the reference is known. An image that went through it differs from the reference in the same
    way, and less so in the way of a coder with a displaced grid, which blur and noise go with just as well.

    Returns:
        Its quality, one of `SETTINGS`, or 100 for none; and how its error correlates with the difference, 0..1.
    """
    rows, columns = ((side - min(side, MIDDLE)) // 16 * 8 for side in plane.shape)
    image, pristine = (each[rows:, columns:][:MIDDLE, :MIDDLE] for each in (plane, origin))

    def likeness(setting: int, off: int) -> float:
        before = np.ascontiguousarray(pristine[off:, off:])
        _, coded = cv2.imencode(
            ".jpg", np.clip(before + 0.5, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, setting]
        )
        error = np.asarray(cv2.imdecode(coded, cv2.IMREAD_GRAYSCALE), np.float32) - before
        difference = image[off:, off:] - before
        common = mean_square(error) * mean_square(difference)
        return float((error * difference).mean()) / math.sqrt(common + 1e-6)

    if likeness(SETTINGS[1], 0) - likeness(SETTINGS[1], 4) < GRIDDED / 2:
        return 100.0, 0.0
    on_grid = {setting: likeness(setting, 0) for setting in SETTINGS}
    best = max(SETTINGS, key=lambda setting: on_grid[setting])
    beside = likeness(best, 4)
    return (float(best), on_grid[best]) if on_grid[best] - beside > GRIDDED else (100.0, 0.0)


def _lowest_frequencies(plane: Plane) -> NDArray[np.float32]:
    """DCT coefficients of the 8 x 8 blocks, in the order of `LUMA_TABLE`; about 6,000 blocks of a large image."""
    from scipy import fft

    tiles = blocks(plane, 8)
    found = np.asarray(fft.dctn(tiles[:: len(tiles) // 6000 + 1] - np.float32(128), axes=(1, 2), norm="ortho"))
    return np.asarray(np.stack([found[:, row, column] for row, column in LUMA_TABLE], axis=1), np.float32)


def least_level_use(rgb: Rgb) -> float:
    """`level_use` of the image, or of the second worst of 4 x 4 cells: the sky above a town may be banded.

    In a cell, levels that lie far apart are those of its colours. Of 150 photographs as they are one has a cell below
    0.25, and none has two.
    """
    rows = (cell for row in np.array_split(rgb, 4) for cell in np.array_split(row, 4, axis=1))
    return min(level_use(rgb), sorted(level_use(np.ascontiguousarray(cell), near=True) for cell in rows)[1])


def flat_share(rgb: Rgb) -> float:
    """Share of the pixels, 0..1, that are as green as the next ones to the right and below."""
    green = np.asarray(cv2.extractChannel(rgb, 1), np.uint8)
    return float(((green[:-1, :-1] == green[1:, :-1]) & (green[:-1, :-1] == green[:-1, 1:])).mean())


def background(rgb: Rgb) -> float:
    """Share of the pixels, 0..1, that may have the commonest colour exactly: its level in each channel, the rarest."""
    channels = (np.asarray(cv2.extractChannel(rgb, channel), np.uint8) for channel in range(3))
    return min(float(level_counts(channel).max()) / channel.size for channel in channels)


def level_use(rgb: Rgb, *, near: bool = False) -> float:
    """Share, 0..1, of the 8-bit levels in use between the 1st and the 99th percentile, the least of the channels.

    A level is in use if it has more than a fiftieth of the mean count. A range of fewer than 24 levels says nothing: 1;
    nor do levels that are not several `near` each other, if they must be.
    """
    uses = [1.0]
    for channel in range(3):
        counts = level_counts(np.asarray(cv2.extractChannel(rgb, channel), np.uint8))
        # The ends of the scale collect what was clipped, which would hide the levels between.
        counts[0] = counts[255] = 0
        share = np.cumsum(counts) / max(1, counts.sum())
        low, high = np.searchsorted(share, (0.01, 0.99))
        span = counts[low : high + 1]
        if len(span) >= 24:
            used = span > 0.02 * span.mean()
            bands = np.count_nonzero(span > BAND * span.sum())
            if not near or (bands > 3 and np.diff(np.flatnonzero(used)).max() < FAR):
                uses.append(float(used.mean()))
    return min(uses)


def pixel_size(plane: Plane) -> float:
    """Mean side of squares of repeated pixels, in pixels, on the axis where it is smaller; 1 for none.

    A column is repeated if its step to the next is below 2 % of the mean; runs of more than 40 such columns are a
    border or an empty sky, not pixelation. Squares are all of one size, up to a pixel; the flat areas of a drawing or
    the steps of a banded sky are not.
    """
    sizes: list[float] = []
    for axis in (0, 1):
        line = step_sizes(plane, axis).mean(axis=1 - axis)
        borders = np.flatnonzero(line > 0.02 * line.mean() + 1e-6)
        runs = np.diff(borders)
        runs = runs[runs <= 40]
        middle = np.median(runs) if len(runs) else 1
        regular = middle > 1 and np.mean(np.abs(runs - middle) <= 1) > REGULAR
        sizes.append(float(runs.mean()) if regular else 1.0)
    return min(sizes)
