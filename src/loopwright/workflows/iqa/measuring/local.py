"""Local measures: one number per small cell of an image, in the unit of the measure.

Each takes the pixels of an image, and some the pixels of its reference, and gives a float32 grid. What a cell cannot
tell is NaN.
"""

from __future__ import annotations

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.coding import grid_steps
from loopwright.workflows.iqa.measuring.features.edges import COARSE, gradient
from loopwright.workflows.iqa.measuring.features.grain import fine_detail
from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, block_means, detail_view, luma, magnitude
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
    size = _cells(plane)
    detail = smoothed(area_mean(_size(fine_detail(plane)), size), 2.0)
    slope = smoothed(area_mean(magnitude(*gradient(plane, COARSE)), size), 2.0)
    # A tenth of a grey level is what rounding to 8 bits leaves even of nothing.
    lost = np.log((slope + 0.1) / (detail + 0.1))
    return np.where(slope < TEXTURE, np.float32(np.nan), lost).astype(np.float32)


def _cells(plane: Plane) -> tuple[int, int]:
    """Width and height in cells."""
    return plane.shape[1] // CELL, plane.shape[0] // CELL


def _pooled(values: Plane) -> Plane:
    """Mean over half a cell and its neighbourhood."""
    return smoothed(area_mean(values, (values.shape[1] * 2 // CELL, values.shape[0] * 2 // CELL)), 1.0)


def noise(rgb: Rgb) -> Plane:
    """Standard deviation of what is left beside texture, grey levels.

    White noise loses three quarters of its energy where the size is halved, texture gains some; what the two sizes
    share is taken off. The lowest of a cell's neighbours speaks for it, so that an edge does not count.
    """
    plane = np.asarray(cv2.extractChannel(rgb, 1), np.float32)
    half = fine_detail(area_mean(plane, (plane.shape[1] // 2, plane.shape[0] // 2)))
    fine = block_means(fine_detail(plane) ** 2, CELL)
    coarse = block_means(half * half, CELL // 2)[: fine.shape[0], : fine.shape[1]]
    energy = np.asarray(np.maximum(fine[: coarse.shape[0], : coarse.shape[1]] - coarse, 0) / 0.75, np.float32)
    lowest = cv2.morphologyEx(smoothed(energy, 1.0), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    return np.sqrt(np.asarray(lowest, np.float32))


def grid_phases(rgb: Rgb) -> tuple[int, int]:
    """Row and column, 0..7, after which the 8 x 8 grid of a coder has its first border."""
    plane = luma(detail_view(rgb))
    return grid_steps(plane, 0)[2], grid_steps(plane, 1)[2]


def blockiness(rgb: Rgb, phases: tuple[int, int]) -> Plane:
    """Extra step between neighbours on the 8 x 8 grid over the mean step beside it, 0 for none."""
    plane = luma(rgb)
    width, height = _cells(plane)
    extra, beside = (np.zeros((height, width), np.float32) for _ in range(2))
    for axis, phase in enumerate(phases):
        lines = plane if axis == 1 else np.ascontiguousarray(plane.T)
        steps = _size(np.diff(lines, axis=1))
        at = np.arange(phase, steps.shape[1] - 2, CELL)
        at = at[at >= 2]
        near = (steps[:, at - 2] + steps[:, at - 1] + steps[:, at + 1] + steps[:, at + 2]) / 4
        size = (width, height) if axis == 1 else (height, width)
        for total, values in ((extra, steps[:, at] - near), (beside, near)):
            cells = area_mean(np.ascontiguousarray(values, np.float32), size)
            total += cells if axis == 1 else cells.T
    return np.maximum(smoothed(extra, 1.5) / (smoothed(beside, 1.5) + 1), 0)


def brightness(rgb: Rgb) -> Plane:
    """Luma, grey levels."""
    return _pooled(luma(rgb))


def dissimilarity(rgb: Rgb, reference: Rgb) -> Plane:
    """One minus the local similarity of gradients and colours of MDSI, before it is pooled; 0 for no difference."""
    return _pooled(np.asarray(1 - likeness_of_edges_and_colours(Pair(rgb, reference)), np.float32))


def _size(values: Plane) -> Plane:
    return np.asarray(np.abs(values), np.float32)


def smoothed(plane: Plane, sigma: float) -> Plane:
    """Gaussian mean with a standard deviation of `sigma` pixels."""
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE), np.float32)
