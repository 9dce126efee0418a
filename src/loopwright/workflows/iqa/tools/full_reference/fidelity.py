"""VIF in the pixel domain: how much of the information in the reference is left in the image."""

from __future__ import annotations

import math

import cv2
import numpy as np

from loopwright.workflows.iqa.tools.full_reference.planes import Map, Pair, f32

_NOISE = np.float32(2.0)
"""Variance of the visual noise, in squared grey levels."""
_TINY = np.float32(1e-8)
_WINDOWS = (17, 9, 5, 3)
"""The Gaussian window of each scale, finest first, in pixels a side; its standard deviation is a fifth of that."""
_SMALLEST = 41


def vif(pair: Pair) -> float:
    """Visual information fidelity in the pixel domain (VIFp), on luma at four scales.

    Sheikh and Bovik, IEEE TIP 15(2), 2006, in the authors' own version for pixels, with a noise variance of 2.

    Args:
        pair: The image in question and its reference, at least 41 pixels a side.

    Returns:
        0 and up; 1 for identical images, more for an image of higher contrast; higher is better.

    Raises:
        ImageError: If a side is shorter than 41 pixels.
    """
    pair.require("VIF", _SMALLEST)
    # Around mid-grey the squares lose fewer float32 digits; variances stay as they are.
    image, reference = (plane - np.float32(128) for plane in pair.luma)
    kept = there = 0.0
    for scale, window in enumerate(_WINDOWS):
        if scale:
            image, reference = (np.ascontiguousarray(_mean(plane, window)[::2, ::2]) for plane in (image, reference))
        scale_kept, scale_there = _information(image, reference, window)
        kept, there = kept + scale_kept, there + scale_there
    return (kept + float(_TINY)) / (there + float(_TINY))


def _information(image: Map, reference: Map, window: int) -> tuple[float, float]:
    """What is left of the reference's information, and what there was, at one scale, in decimal digits."""
    mean, mean_ref = _mean(image, window), _mean(reference, window)
    variance = np.maximum(_mean(image * image, window) - mean * mean, 0)
    variance_ref = np.maximum(_mean(reference * reference, window) - mean_ref * mean_ref, 0)
    common = _mean(image * reference, window) - mean * mean_ref
    there = _sum_of_logs(variance_ref * (1 / _NOISE) + 1)
    gain = common / (variance_ref + _TINY)
    rest = variance - gain * common
    # Where one of the two is flat, or they run against each other, nothing is left.
    nothing = (gain < 0) | (variance_ref < _TINY) | (variance < _TINY)
    gain[nothing] = 0
    np.copyto(rest, variance, where=nothing)
    np.maximum(rest, _TINY, out=rest)
    rest += _NOISE
    np.multiply(gain, gain, out=gain)
    gain *= variance_ref
    gain /= rest
    gain += 1
    return _sum_of_logs(gain), there


def _sum_of_logs(values: Map) -> float:
    return float(cv2.sumElems(cv2.log(values))[0]) / math.log(10)


def _mean(values: Map, window: int) -> Map:
    """The weighted mean within the window, where that lies inside."""
    blurred = f32(cv2.GaussianBlur(values, (window, window), window / 5, borderType=cv2.BORDER_REFLECT))
    border = window // 2
    return blurred[border:-border, border:-border]
