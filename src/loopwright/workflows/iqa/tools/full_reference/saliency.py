"""VSI: whether what catches the eye, the edges and the colours are alike."""

import functools
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import checked, magnitude
from loopwright.workflows.iqa.measuring.reference_planes import MIRRORED, Map, Pair, block_mean, f32, mixed, similarity

_SIDE = 256
"""Pixels a side at which saliency is looked for."""
_FREQUENCY, _BANDWIDTH = 0.021, 1.34
_CENTRE, _WARMTH = 145.0, 0.001
_C_SALIENCY, _C_EDGES, _C_COLOUR = 1.27, 386.0, 130.0
_EDGE_WEIGHT, _COLOUR_WEIGHT = 0.4, 0.02
_LMN = np.array([[0.06, 0.63, 0.27], [0.30, 0.04, -0.35], [0.34, -0.60, 0.17]], np.float32)
"""Luminance and the two opponent channels M and N, one row each."""
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]],
    np.float32,
)
_WHITE = np.array([0.9642119944, 1.0, 0.8251882845], np.float32)[:, np.newaxis]
"""The white of D50, for an observer of 2 degrees."""
_LAB = np.array([[0, 116, 0], [500, -500, 0], [0, 200, -200]], np.float32)
_STEPS = 64
"""Steps of a grey level in the table of linear light."""
_FINE = 40_000
"""Steps of the unit in the table of CIE's cube root."""
_TINY = np.float32(np.finfo(np.float32).eps)


def vsi(pair: Pair) -> float:
    """Visual saliency-induced index.

    L. Zhang, Shen and Li, IEEE TIP 23(10), 2014: saliency by SDSP (L. Zhang, Gu and Li, ICIP 2013), Scharr gradients,
    the channels M and N; C1 = 1.27, C2 = 386, C3 = 130, alpha = 0.4, beta = 0.02. The maps are averaged over blocks of
    round(shorter side / 256) pixels.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 16 pixels.
    """
    checked(pair.image, "VSI", 16)
    (light, m, n), (light_ref, m_ref, n_ref) = (mixed(each, _LMN) for each in pair.small)
    seen, seen_ref = (_saliency(rgb, pair.block) for rgb in (pair.image, pair.reference))
    alike = similarity(seen, seen_ref, _C_SALIENCY)
    alike *= cv2.pow(similarity(_edges(light), _edges(light_ref), _C_EDGES), _EDGE_WEIGHT)
    colour = similarity(m, m_ref, _C_COLOUR) * similarity(n, n_ref, _C_COLOUR)
    # The real part of a negative number's root.
    turned = np.where(colour < 0, np.float32(math.cos(math.pi * _COLOUR_WEIGHT)), np.float32(1))
    alike = alike * cv2.pow(np.abs(colour), _COLOUR_WEIGHT) * turned
    weight = np.maximum(seen, seen_ref)
    total = float(weight.sum(dtype=np.float64))
    # Where nothing catches the eye, every place counts the same.
    if total <= 0:
        return float(alike.mean(dtype=np.float64))
    return float((alike * weight).sum(dtype=np.float64)) / total


def _saliency(image: Rgb, block: int) -> Map:
    """How much each place catches the eye, 0..1, averaged over blocks of `block` pixels.

    By SDSP: what stands out at a middle frequency in CIELAB, near the middle, and of a warm colour.
    """
    lab = _lab(image)
    found = np.sqrt(_standing_out(lab)) * _prepared()[1] * _warm(lab)
    height, width = image.shape[:2]
    found = _stretched(f32(cv2.transpose(_stretched(f32(cv2.transpose(found)), width))), height)
    low, high = float(found.min()), float(found.max())
    return (block_mean(found, block, MIRRORED) - low) / (high - low + float(_TINY))


def _standing_out(lab: list[Map]) -> Map:
    """The energy of all three channels at middle frequencies."""
    band = _prepared()[0]
    total = np.zeros_like(lab[0])
    for channel in lab:
        kept = f32(cv2.dft(f32(cv2.dft(channel)) * band, flags=cv2.DFT_INVERSE | cv2.DFT_REAL_OUTPUT))
        total += kept * kept
    return total


def _warm(lab: list[Map]) -> Map:
    """How warm the colours are, 0..1."""
    warmth = np.zeros((_SIDE, _SIDE), np.float32)
    for channel in lab[1:]:
        low, high = float(channel.min()), float(channel.max())
        warmth += ((channel - low) / (high - low + float(_TINY))) ** 2
    # Below -80 it is nothing beside 1, and OpenCV takes ten times as long where its result underflows.
    return 1 - f32(cv2.exp(np.maximum(warmth * (-1 / _WARMTH**2), -80)))


@functools.cache
def _prepared() -> tuple[Map, Map]:
    """The band-pass filter, for a spectrum as `cv2.dft` packs it; and how near the middle each place is."""
    # Distance from the zero frequency, in cycles a pixel, the zero frequency in the middle.
    place = ((np.arange(_SIDE) - _SIDE // 2) / _SIDE).astype(np.float32)
    down, across = place[:, np.newaxis], place[np.newaxis, :]
    radius = np.sqrt(down * down + across * across)
    shifted = np.fft.ifftshift(np.where(radius <= 0.5, radius, 0))
    shifted[0, 0] = 1
    with np.errstate(divide="ignore"):
        band = np.exp(-(np.log(shifted / _FREQUENCY) ** 2) / (2 * _BANDWIDTH**2))
    band[0, 0] = 0
    near = np.exp(-((down * _SIDE + 1) ** 2 + (across * _SIDE + 1) ** 2) / _CENTRE**2)
    # One column each for the real and the imaginary parts, and so down the first and the last one. OpenCV's own scaling
    # of an inverse transform would take longer than the transform.
    half = (np.arange(_SIDE) + 1) // 2
    packed = band[:, half]
    packed[:, [0, -1]] = band[half][:, [0, _SIDE // 2]]
    return (packed / _SIDE**2).astype(np.float32), near.astype(np.float32)


def _stretched(values: Map, full: int) -> Map:
    """`_SIDE` rows, interpolated linearly to `full` ones, ends on ends.

    Not by a product of matrices, whose last digits depend on where in memory they lie.
    """
    places = np.arange(full) * ((_SIDE - 1) / (full - 1))
    below = np.minimum(places.astype(np.intp), _SIDE - 2)
    share = (places - below).astype(np.float32)[:, np.newaxis]
    return np.diff(values, axis=0)[below] * share + values[below]


def _lab(image: Rgb) -> list[Map]:
    """CIELAB under D50, `_SIDE` pixels a side."""
    small = f32(cv2.resize(image.astype(np.float32), (_SIDE, _SIDE), interpolation=cv2.INTER_LINEAR))
    linear = _looked_up(_linear_light(), small, _STEPS)
    roots = _looked_up(_cie_root(), f32(cv2.transform(linear, _XYZ / _WHITE)), _FINE)
    light, a, b = mixed(roots, _LAB)
    light -= np.float32(16)
    return [light, a, b]


def _looked_up(table: NDArray[np.float32], values: Map, steps: int) -> Map:
    """The table's value at the nearest of `steps` places a unit."""
    # Indexes of any other type are converted first, which takes longer than looking them up.
    return table.take((values * steps + 0.5).astype(np.intp))


@functools.cache
def _linear_light() -> NDArray[np.float32]:
    value = np.arange(255 * _STEPS + 1) / (255 * _STEPS)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4).astype(np.float32)


@functools.cache
def _cie_root() -> NDArray[np.float32]:
    value = np.arange(int(1.4 * _FINE)) / _FINE
    return np.where(value > 0.008856, np.cbrt(value), (903.3 * value + 16) / 116).astype(np.float32)


def _edges(plane: Map) -> Map:
    across, down = (
        np.asarray(cv2.Scharr(plane, cv2.CV_32F, dx, 1 - dx, scale=1 / 16, borderType=cv2.BORDER_CONSTANT), np.float32)
        for dx in (1, 0)
    )
    return magnitude(across, down)
