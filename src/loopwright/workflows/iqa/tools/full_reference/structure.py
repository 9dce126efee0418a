"""SSIM and MS-SSIM: whether local means, contrasts and structures are alike, at one scale and at five."""

from __future__ import annotations

import cv2
import numpy as np

from loopwright.workflows.iqa.tools.full_reference.planes import MIRRORED, Map, Pair, Two, block_mean, f32

WINDOW, SIGMA = 11, 1.5
"""The Gaussian window: pixels a side, and its standard deviation in pixels."""
_BORDER = WINDOW // 2
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weights of the five scales, finest first, from table 1 of the paper on MS-SSIM."""


def ssim(pair: Pair) -> float:
    """Structural similarity on luma, mean over the map without its border of five pixels.

    Wang, Bovik, Sheikh and Simoncelli, IEEE TIP 13(4), 2004: Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01,
    K2 = 0.03. As the authors advise, luma is first averaged over blocks of round(shorter side / 256) pixels, so that
    the window covers what an eye takes in at once; `similarity_of_structure` gives the value at full resolution.

    Args:
        pair: The image in question and its reference, at least 11 pixels a side.

    Returns:
        -1..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 11 pixels.
    """
    pair.require("SSIM", WINDOW)
    return similarity_of_structure(pair.small_luma)


def similarity_of_structure(planes: Two) -> float:
    """SSIM of two planes as they are.

    Args:
        planes: Grey levels of 0 to 255, float32, at least 11 pixels a side.

    Returns:
        -1..1; 1 for identical planes; higher is better.
    """
    means, spreads = _likeness(planes)
    return _mean(np.multiply(means, spreads, out=means))


def ms_ssim(pair: Pair) -> float:
    """Structural similarity on luma at five scales, each half as fine as the one before.

    Wang, Simoncelli and Bovik, Asilomar 2003: contrast and structure at every scale, the means at the coarsest alone,
    multiplied with the exponents of the paper; a scale whose mean is negative counts as 0.

    Args:
        pair: The image in question and its reference, at least 161 pixels a side.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 161 pixels.
    """
    pair.require("MS-SSIM", (WINDOW - 1) * 2 ** (len(_WEIGHTS) - 1) + 1)
    planes, product = pair.luma, 1.0
    for scale, weight in enumerate(_WEIGHTS):
        if scale:
            # An odd last row or column is repeated, as in the authors' code.
            planes = pair.mirrored_half_luma if scale == 1 else Two(*(block_mean(each, 2, MIRRORED) for each in planes))
        means, spreads = _likeness(planes)
        if scale == len(_WEIGHTS) - 1:
            spreads = np.multiply(means, spreads, out=means)
        product *= max(_mean(spreads), 0.0) ** weight
    return product


def _likeness(planes: Two) -> Two:
    """The two factors of SSIM for every pixel: likeness of the means, and of contrast and structure.

    The moments come from the sum and the difference of the images, which needs four filters instead of five and keeps
    float32 exact where the images are alike.
    """
    # Centred on zero, so that the squares below lose fewer float32 digits; the true mean of the sum is 256 higher.
    # Buffers are used again as soon as they are free: fresh ones cost more in page faults than the arithmetic.
    total = planes.image + planes.reference
    total -= np.float32(256)
    difference = planes.image - planes.reference
    total_mean = _gaussian(total)
    total_spread = _gaussian(np.multiply(total, total, out=total))
    difference_mean = _gaussian(difference, into=total)
    difference_spread = _gaussian(np.multiply(difference, difference, out=difference))
    scratch = difference
    total_spread -= np.multiply(total_mean, total_mean, out=scratch)
    total_mean += np.float32(256)
    total_energy = np.multiply(total_mean, total_mean, out=total_mean)
    difference_energy = np.multiply(difference_mean, difference_mean, out=difference_mean)
    difference_spread -= difference_energy
    # Sum and difference carry twice the energy of the two images, so the constants are doubled too.
    return Two(_ratio(total_energy, difference_energy, 2 * _C1), _ratio(total_spread, difference_spread, 2 * _C2))


def _ratio(total: Map, difference: Map, constant: float) -> Map:
    """``(total - difference + c) / (total + difference + c)``, in place of both."""
    total += np.float32(constant)
    total += difference
    difference /= total
    difference *= np.float32(-2)
    difference += np.float32(1)
    return difference


def _mean(values: Map) -> float:
    return float(values[_BORDER:-_BORDER, _BORDER:-_BORDER].mean(dtype=np.float64))


def _gaussian(values: Map, into: Map | None = None) -> Map:
    return f32(cv2.GaussianBlur(values, (WINDOW, WINDOW), SIGMA, dst=into))
