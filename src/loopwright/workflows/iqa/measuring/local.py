"""Local measures: one number per small cell of an image, in the unit of the measure.

Each takes the pixels of an image, and some the pixels of its reference, and gives a float32 grid. What a cell cannot
tell is NaN.
"""

from __future__ import annotations

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.edges import COARSE, gradient
from loopwright.workflows.iqa.measuring.features.grain import fine_detail
from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, luma, magnitude
from loopwright.workflows.iqa.measuring.gradients import likeness_of_edges_and_colours
from loopwright.workflows.iqa.measuring.reference_planes import Pair

CELL = 8
"""Side of a cell, pixels of the plane that is measured."""
TEXTURE = 0.6
"""Gradient from which a neighbourhood tells how sharp it is, grey levels per pixel."""


def blur(rgb: Rgb) -> Plane:
    """How far the fine detail lies below the slopes that a blur leaves, nepers: about 0.6 where a photograph is sharp.

    Fine detail goes with blur, a coder's loss of detail and motion in any direction, long before the edges widen. NaN
    where there are no slopes, so that an empty sky is not called blurred.
    """
    plane = luma(rgb)
    size = plane.shape[1] // CELL, plane.shape[0] // CELL
    detail = smoothed(area_mean(np.abs(fine_detail(plane)), size), 2.0)
    slope = smoothed(area_mean(magnitude(*gradient(plane, COARSE)), size), 2.0)
    # A tenth of a grey level is what rounding to 8 bits leaves even of nothing.
    lost = np.log((slope + 0.1) / (detail + 0.1))
    return np.where(slope < TEXTURE, np.float32(np.nan), lost).astype(np.float32)


def dissimilarity(rgb: Rgb, reference: Rgb) -> Plane:
    """One minus the local similarity of gradients and colours of MDSI, before it is pooled; 0 for no difference."""
    values = np.asarray(1 - likeness_of_edges_and_colours(Pair(rgb, reference)), np.float32)
    # The mean over half a cell and its neighbourhood.
    return smoothed(area_mean(values, (values.shape[1] * 2 // CELL, values.shape[0] * 2 // CELL)), 1.0)


def smoothed(plane: Plane, sigma: float) -> Plane:
    """Gaussian mean with a standard deviation of `sigma` pixels."""
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE), np.float32)
