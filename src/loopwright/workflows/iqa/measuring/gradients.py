"""GMSD and MDSI: how unevenly the edges (and the colours) differ, and where."""

import math
from typing import cast

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, checked, smoothed
from loopwright.workflows.iqa.measuring.reference_planes import Map, Pair, f32, mixed, similarity_of_squares

_PREWITT_EDGE = np.array([1, 0, -1], np.float32)
_PREWITT_MEAN = np.array([1, 1, 1], np.float32) / 3

_LHM = np.array([[0.2989, 0.5870, 0.1140], [0.30, 0.04, -0.35], [0.34, -0.60, 0.17]], np.float32)
"""Luminance and the two opponent channels H and M of MDSI, one row each."""

_CELL = 4
"""Side of a cell of the map of differences, pixels of the plane that is measured."""


def gmsd(pair: Pair) -> float:
    """Gradient magnitude similarity deviation on luma at half resolution.

    Xue, Zhang, Mou and Bovik, IEEE TIP 23(2), 2014: 2 x 2 mean, Prewitt gradients, T = 170, sample standard deviation.

    Returns:
        0 for identical images, about 0.35 at worst; lower is better.

    Raises:
        ImageError: If a side is shorter than 4 pixels.
    """
    checked(pair.image, "GMSD", 4)
    first, second = (_gradient_energy(plane) for plane in pair.half_luma)
    alike = similarity_of_squares(first, second, 170.0)
    deviation = cast("float", cv2.meanStdDev(alike)[1].item())
    return deviation * math.sqrt(alike.size / (alike.size - 1))


def mdsi(pair: Pair) -> float:
    """Mean deviation similarity index: gradients and chromaticity together, pooled by their mean deviation.

    Nafchi, Shahkolaei, Hedjam and Cheriet, IEEE Access 4, 2016, with the constants of the paper: C1 = 140, C2 = 55,
    C3 = 550, alpha = 0.6, q = o = 1/4, sum combination. The images are first averaged over blocks of
    round(shorter side / 256) pixels.

    Returns:
        0 for identical images, about 0.7 at worst; lower is better.

    Raises:
        ImageError: If a side is shorter than 4 pixels.
    """
    checked(pair.image, "MDSI", 4)
    return _mean_deviation_of_fourth_root(likeness_of_edges_and_colours(pair)) ** 0.25


def likeness_of_edges_and_colours(pair: Pair) -> Map:
    """MDSI's map, before it is pooled: 1 where the two are alike."""
    (light, h, m), (light_ref, h_ref, m_ref) = (mixed(each, _LHM) for each in pair.small)
    edges, edges_ref = _gradient_energy(light), _gradient_energy(light_ref)
    edges_both = _gradient_energy((light + light_ref) * np.float32(0.5))
    beside, beside_ref = (similarity_of_squares(each, edges_both, 55.0) for each in (edges, edges_ref))
    structure = similarity_of_squares(edges_ref, edges, 140.0) + beside - beside_ref
    colour = (2 * (h * h_ref + m * m_ref) + 550) / (h * h + h_ref * h_ref + m * m + m_ref * m_ref + 550)
    return 0.6 * structure + 0.4 * colour


def dissimilarity(rgb: Rgb, reference: Rgb) -> Plane:
    """One minus the local similarity of gradients and colours of MDSI, before it is pooled; 0 for no difference."""
    values = np.asarray(1 - likeness_of_edges_and_colours(Pair(rgb, reference)), np.float32)
    return smoothed(area_mean(values, (values.shape[1] // _CELL, values.shape[0] // _CELL)), 1.0)


def _mean_deviation_of_fourth_root(values: Map) -> float:
    """``mean |v^(1/4) - mean(v^(1/4))|``; the root of a negative value is complex, as in the paper's own code."""
    if float(values.min()) >= 0:
        root = np.sqrt(np.sqrt(values))
        return float(np.abs(root - np.float32(root.mean(dtype=np.float64))).mean(dtype=np.float64))
    complex_root = values.astype(np.complex128) ** 0.25
    return float(np.abs(complex_root - complex_root.mean()).mean())


def _gradient_energy(values: Map) -> Map:
    across = cv2.sepFilter2D(values, cv2.CV_32F, _PREWITT_EDGE, _PREWITT_MEAN, borderType=cv2.BORDER_CONSTANT)
    down = cv2.sepFilter2D(values, cv2.CV_32F, _PREWITT_MEAN, _PREWITT_EDGE, borderType=cv2.BORDER_CONSTANT)
    return f32(across * across + down * down)
