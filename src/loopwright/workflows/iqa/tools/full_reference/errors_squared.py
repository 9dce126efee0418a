"""PSNR: how large the pixels' errors are."""

from __future__ import annotations

import math

import cv2

from loopwright.workflows.iqa.tools.full_reference.planes import Pair

PSNR_CAP = 100.0
"""What `psnr` gives for identical images, in dB; the formula gives infinity, which JSON cannot hold."""


def psnr(pair: Pair) -> float:
    """Peak signal-to-noise ratio over the three channels together.

    ``10 log10(255^2 / MSE)``.

    Args:
        pair: The image in question and its reference.

    Returns:
        Decibels, at most `PSNR_CAP`; higher is better.
    """
    error = cv2.norm(pair.image, pair.reference, cv2.NORM_L2SQR) / pair.image.size
    return min(10 * math.log10(255**2 / error), PSNR_CAP) if error > 0 else PSNR_CAP
