"""VIF in the pixel domain: how much of the information in the reference is left in the image."""

import math

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.planes import checked
from loopwright.workflows.iqa.measuring.reference_planes import Map, Pair, f32

_NOISE = np.float32(2.0)
"""Variance of the visual noise, in squared grey levels."""
_TINY = np.float32(1e-8)
_WINDOWS = (17, 9, 5, 3)
"""The Gaussian window of each scale, finest first, in pixels a side; its standard deviation is a fifth of that."""
_SMALLEST = 41
_ROWS = 128
"""Rows that are worked on at a time."""


def vif(pair: Pair) -> float:
    """Visual information fidelity in the pixel domain (VIFp), on luma at four scales.

    Sheikh and Bovik, IEEE TIP 15(2), 2006, in the authors' own version for pixels, with a noise variance of 2.

    Returns:
        0 and up; 1 for identical images, more for an image of higher contrast; higher is better.

    Raises:
        ImageError: If a side is shorter than 41 pixels.
    """
    checked(pair.image, "VIF", _SMALLEST)
    # Around mid-grey the squares lose fewer float32 digits; variances stay as they are.
    image, reference = (plane - np.float32(128) for plane in pair.luma)
    kept = there = 0.0
    for scale, window in enumerate(_WINDOWS):
        if scale:
            image, reference = (
                np.ascontiguousarray(_inside(_mean(plane, window), window)[::2, ::2]) for plane in (image, reference)
            )
        scale_kept, scale_there = _information(image, reference, window)
        kept, there = kept + scale_kept, there + scale_there
    return (kept + float(_TINY)) / (there + float(_TINY))


def _information(image: Map, reference: Map, window: int) -> tuple[float, float]:
    """What is left of the reference's information, and what there was, at one scale, in decimal digits."""
    kept = there = 0.0
    # Some rows at a time, with those that their windows reach: what is made of them stays in the processor's cache.
    for top in range(0, len(image) - window + 1, _ROWS):
        rows = slice(top, top + _ROWS + window - 1)
        rows_kept, rows_there = _information_of_rows(image[rows], reference[rows], window)
        kept, there = kept + rows_kept, there + rows_there
    return kept, there


def _information_of_rows(image: Map, reference: Map, window: int) -> tuple[float, float]:
    mean, mean_ref = _mean(image, window), _mean(reference, window)
    variance = np.maximum(_mean(image * image, window) - mean * mean, 0)
    variance_ref = np.maximum(_mean(reference * reference, window) - mean_ref * mean_ref, 0)
    common = _mean(image * reference, window) - mean * mean_ref
    gain = common / (variance_ref + _TINY)
    rest = variance - gain * common
    # Where one of the two is flat, or they run against each other, nothing is left.
    nothing = (gain < 0) | (variance_ref < _TINY) | (variance < _TINY)
    gain[nothing] = 0
    rest[nothing] = variance[nothing]
    kept = gain * gain * variance_ref / (np.maximum(rest, _TINY) + _NOISE) + 1
    there = variance_ref * (1 / _NOISE) + 1
    # The border, where windows lie partly outside, is cut only here, as whole planes are faster than their insides.
    return _sum_of_logs(_inside(kept, window)), _sum_of_logs(_inside(there, window))


def _sum_of_logs(values: Map) -> float:
    return float(np.log(values).sum(dtype=np.float64)) / math.log(10)


def _mean(values: Map, window: int) -> Map:
    return f32(cv2.GaussianBlur(values, (window, window), window / 5, borderType=cv2.BORDER_REFLECT))


def _inside(values: Map, window: int) -> Map:
    border = window // 2
    return values[border:-border, border:-border]
