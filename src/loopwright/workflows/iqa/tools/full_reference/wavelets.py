"""HaarPSI: how much alike the coefficients of Haar wavelets are, weighted by where they are large."""

import math

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.planes import checked
from loopwright.workflows.iqa.measuring.reference_planes import Map, Pair, Two, f32, similarity

_C, _ALPHA = 30.0, 4.2
_SCALES = 3
_SIGNS = (np.array([1, 1], np.float32), np.array([1, -1], np.float32))


def haarpsi(pair: Pair) -> float:
    """Haar wavelet-based perceptual similarity index, with colour.

    Reisenhofer, Bosse, Kutyniok and Wiegand, Signal Processing: Image Communication 61, 2018: 2 x 2 mean, YIQ,
    C = 30, alpha = 4.2; the two finer of three scales are compared, the coarsest gives the weights.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 16 pixels.
    """
    checked(pair.image, "HaarPSI", 16)
    light, i, q = pair.half_yiq
    gained = weighed = 0.0
    weights: list[Map] = []
    for across in (False, True):
        fine, middle, coarse = (
            Two(*(_haar(plane, 2**scale, across) for plane in light)) for scale in range(1, _SCALES + 1)
        )
        weight = np.maximum(coarse.image, coarse.reference)
        gain, weigh = _pooled(similarity(*fine, _C), similarity(*middle, _C), weight)
        gained, weighed = gained + gain, weighed + weigh
        weights.append(weight)
    chroma = [
        Two(*(np.abs(f32(cv2.blur(plane, (2, 2), anchor=(0, 0), borderType=cv2.BORDER_CONSTANT))) for plane in both))
        for both in (i, q)
    ]
    weight = (weights[0] + weights[1]) * np.float32(0.5)
    gain, weigh = _pooled(similarity(*chroma[0], _C), similarity(*chroma[1], _C), weight)
    gained, weighed = gained + gain, weighed + weigh
    # Two images without any structure are alike in all that is looked at.
    share = gained / weighed if weighed > 0 else 1 / (1 + math.exp(-_ALPHA))
    return min((math.log(share / (1 - share)) / _ALPHA) ** 2, 1.0)


def _pooled(first: Map, second: Map, weight: Map) -> tuple[float, float]:
    """The weighted sum of the logistic of the mean of two likenesses, and the sum of the weights."""
    logistic = weight / (f32(cv2.exp((first + second) * (-_ALPHA / 2))) + 1)
    return float(logistic.sum(dtype=np.float64)), float(weight.sum(dtype=np.float64))


def _haar(plane: Map, size: int, across: bool) -> Map:
    """The magnitude of the coefficients of one Haar wavelet, zeros outside, as MATLAB's conv2 "same" has them.

    Its side is in pixels; across, it compares left with right, else above with below.
    """
    half = np.ones(size // 2, np.float32)
    mean, edge = (np.kron(sign, half) for sign in _SIGNS)
    rows, columns = (edge, mean) if across else (mean, edge)
    found = cv2.sepFilter2D(
        plane, cv2.CV_32F, rows / np.float32(size), columns, anchor=(size // 2 - 1, size // 2 - 1),
        borderType=cv2.BORDER_CONSTANT,
    )  # fmt: skip
    return np.abs(found, out=found)
