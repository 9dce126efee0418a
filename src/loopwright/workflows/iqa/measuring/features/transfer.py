"""The linear filter that leads from a reference to an image: blur, sharpening, motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from loopwright.workflows.iqa.measuring.features.model import Plane
from loopwright.workflows.iqa.measuring.features.planes import frequencies, mean_power, tile_spectra


class LinearFilter(NamedTuple):
    """The linear filter that leads from the (toned) reference to the image."""

    share: float
    detail_gain: float
    sigma: float
    sigma_minor: float
    direction: float


def linear_filter(image: Plane, origin: Plane) -> LinearFilter:
    """Transfer function and coherence between reference and image by Welch's method.

    With cross spectrum Sxy and spectra Sxx, Syy, the best linear filter is Sxy / Sxx, and Syy - |Sxy|^2 / Sxx is what
    it leaves.
    """
    x, y = tile_spectra(origin), tile_spectra(image)
    sxx = mean_power(x) + 1e-6
    syy = mean_power(y)
    sxy = (np.conj(x) * y).mean(axis=0)
    sdd = mean_power(y - x)
    # Each frequency spends one complex degree of freedom of as many as there are independent tiles.
    tiles = max(2.0, len(x) / 2.5)
    left = np.minimum(np.maximum(syy - np.abs(sxy) ** 2 / sxx, 0) * tiles / (tiles - 1), sdd)
    share = 1 - float(left.sum()) / max(float(sdd.sum()), 1e-9)
    size = x.shape[1]
    fx, fy = frequencies(size)
    radius = np.hypot(fx, fy)
    gain = np.real(sxy) / sxx
    band = (radius > 0.15) & (radius < 0.4)
    detail_gain = float((gain[band] * sxx[band]).sum() / sxx[band].sum())
    major, minor, direction = _equivalent_gaussian(gain, sxx, fx, fy)
    return LinearFilter(max(0.0, share), detail_gain, major, minor, direction)


def _equivalent_gaussian(gain: Plane, weight: Plane, fx: Plane, fy: Plane) -> tuple[float, float, float]:
    """Axes in pixels and direction of the blur's covariance C, fitted by -ln(gain) = 2 pi^2 f' C f."""
    radius = np.hypot(fx, fy)
    use = (radius > 0.02) & (radius < 0.3) & (gain > 0.3)
    if use.sum() < 6:
        # Nothing but the lowest frequencies survived: the blur is wider than the tiles can tell.
        return 8.0, 8.0, 0.0
    x, y = fx[use].astype(np.float64), fy[use].astype(np.float64)
    loss = -np.log(np.clip(gain[use], 0.05, 4.0)) / (2 * np.pi**2)
    # Where little of the reference is, the gain is rough; the squared radius evens out the fall of natural spectra.
    scale = np.sqrt(np.sqrt(weight[use].astype(np.float64)))
    design = np.stack([x * x, 2 * x * y, y * y], axis=1)
    cxx, cxy, cyy = np.linalg.lstsq(design * scale[:, None], loss * scale, rcond=None)[0]
    values, vectors = np.linalg.eigh(np.array([[cxx, cxy], [cxy, cyy]]))
    direction = math.degrees(math.atan2(float(vectors[1, 1]), float(vectors[0, 1]))) % 180
    return math.sqrt(max(0.0, float(values[1]))), math.sqrt(max(0.0, float(values[0]))), direction
