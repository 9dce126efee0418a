"""PSNR, SSIM and MS-SSIM: how large the errors are, and whether local means, contrasts and structures are alike."""

import math
from typing import NamedTuple

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.planes import checked
from loopwright.workflows.iqa.measuring.reference_planes import MIRRORED, Map, Pair, Two, block_mean, f32

PSNR_CAP = 100.0
"""What `psnr` gives for identical images, in dB; the formula gives infinity, which JSON cannot hold."""
WINDOW, SIGMA = 11, 1.5
"""The Gaussian window: pixels a side, and its standard deviation in pixels."""
_BORDER = WINDOW // 2
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_MIDDLE = np.float32(256)
"""The middle of the sum of two grey levels."""
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weights of the five scales, finest first, from table 1 of the paper on MS-SSIM."""


def psnr(pair: Pair) -> float:
    """Peak signal-to-noise ratio over the three channels together.

    ``10 log10(255^2 / MSE)``.

    Returns:
        Decibels, at most `PSNR_CAP`; higher is better.
    """
    error = cv2.norm(pair.image, pair.reference, cv2.NORM_L2SQR) / pair.image.size
    return min(10 * math.log10(255**2 / error), PSNR_CAP) if error > 0 else PSNR_CAP


def ssim(pair: Pair) -> float:
    """Structural similarity on luma, mean over the map without its border of five pixels.

    Wang, Bovik, Sheikh and Simoncelli, IEEE TIP 13(4), 2004: Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01,
    K2 = 0.03. As the authors advise, luma is first averaged over blocks of round(shorter side / 256) pixels, so that
    the window covers what an eye takes in at once; `similarity_of_structure` gives the value at full resolution.

    Returns:
        -1..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 11 pixels.
    """
    checked(pair.image, "SSIM", WINDOW)
    return pair.once(_at_half).whole if pair.block == 2 else similarity_of_structure(_averaged(pair.luma, pair.block))


def similarity_of_structure(planes: Two) -> float:
    """SSIM of two planes as they are, -1..1: 1 for identical planes, higher is better."""
    return _likeness(planes).whole


def ms_ssim(pair: Pair) -> float:
    """Structural similarity on luma at five scales, each half as fine as the one before.

    Wang, Simoncelli and Bovik, Asilomar 2003: contrast and structure at every scale, the means at the coarsest alone,
    multiplied with the exponents of the paper; a scale whose mean is negative counts as 0.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 161 pixels.
    """
    checked(pair.image, "MS-SSIM", (WINDOW - 1) * 2 ** (len(_WEIGHTS) - 1) + 1)
    contrasts = [_contrast(pair.luma), pair.once(_at_half).contrast]
    planes = pair.mirrored_half_luma
    for _ in _WEIGHTS[len(contrasts) : -1]:
        planes = _averaged(planes, 2)
        contrasts.append(_contrast(planes))
    factors = (*contrasts, _likeness(_averaged(planes, 2)).whole)
    return math.prod(max(factor, 0.0) ** weight for factor, weight in zip(factors, _WEIGHTS, strict=True))


class _Likeness(NamedTuple):
    """How much alike two planes are, mean over the map without its border."""

    whole: float
    """Of means, contrast and structure together."""
    contrast: float
    """Of contrast and structure alone."""


def _at_half(pair: Pair) -> _Likeness:
    return _likeness(pair.mirrored_half_luma)


def _averaged(planes: Two, block: int) -> Two:
    # An odd last row or column is repeated, as in the authors' code.
    return Two(*(block_mean(each, block, MIRRORED) for each in planes))


def _likeness(planes: Two) -> _Likeness:
    mean, spread, difference, difference_spread = _moments(planes)
    means = _ratio((mean + _MIDDLE) ** 2, difference, 2 * _C1)
    spreads = _ratio(spread, difference_spread, 2 * _C2)
    return _Likeness(_mean(means * spreads), _mean(spreads))


def _contrast(planes: Two) -> float:
    _, spread, _, difference_spread = _moments(planes)
    return _mean(_ratio(spread, difference_spread, 2 * _C2))


def _moments(planes: Two) -> tuple[Map, Map, Map, Map]:
    """The sum's local mean, less `_MIDDLE`, and variance; the square of the difference's local mean, and its variance.

    They need four filters, where those of the two planes would need five, and keep float32 exact where the planes are
    alike. Sum and difference carry twice the energy of the two planes.
    """
    # Centred on zero, so that the squares below lose fewer float32 digits.
    total, difference = planes.image + planes.reference - _MIDDLE, planes.image - planes.reference
    mean, difference_mean = _gaussian(total), _gaussian(difference) ** 2
    spread = _gaussian(total * total) - mean * mean
    difference_spread = _gaussian(difference * difference) - difference_mean
    return mean, spread, difference_mean, difference_spread


def _ratio(total: Map, difference: Map, constant: float) -> Map:
    """``(total - difference + c) / (total + difference + c)``."""
    return 1 - 2 * (difference / (total + constant + difference))


def _mean(values: Map) -> float:
    return float(values[_BORDER:-_BORDER, _BORDER:-_BORDER].mean(dtype=np.float64))


def _gaussian(values: Map) -> Map:
    return f32(cv2.GaussianBlur(values, (WINDOW, WINDOW), SIGMA))
