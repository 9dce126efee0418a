"""FSIMc: whether the features (by phase congruency), the edges and the colours are alike."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.reference_planes import Map, Pair, Two, aligned, f32, similarity

_SCALES, _ORIENTATIONS = 4, 4
_SHORTEST_WAVE, _MULTIPLE = 6, 2
_BANDWIDTH, _ANGLE_RATIO = 0.55, 1.2
_CUTOFF, _STEEPNESS = 0.45, 15
_NOISE_DEVIATIONS, _NOISE_OVERRATED = 2.0, 1.7
_T_PHASE, _T_EDGES, _T_COLOUR, _COLOUR_WEIGHT = 0.85, 160.0, 200.0, 0.03
_TOO_UNEQUAL = 100
"""Ratio of the standard deviations of two planes from which on they are not transformed together."""
_TINY = np.float32(np.finfo(np.float32).eps)


def fsimc(pair: Pair) -> float:
    """Feature similarity index with colour.

    L. Zhang, L. Zhang, Mou and D. Zhang, IEEE TIP 20(8), 2011: phase congruency (Kovesi, Videre 1(3), 1999; 4 scales, 4
    orientations, k = 2), Scharr gradients, the chrominances of YIQ; T1 = 0.85, T2 = 160, T3 = T4 = 200, lambda = 0.03.
    The images are first averaged over blocks of round(shorter side / 256) pixels.

    Args:
        pair: The image in question and its reference, at least 16 pixels a side.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 16 pixels.
    """
    pair.require("FSIMc", 16)
    light, i, q = pair.small_yiq
    first, second = _phase_congruency(light)
    alike = similarity(first, second, _T_PHASE)
    alike *= similarity(edges(light.image), edges(light.reference), _T_EDGES)
    colour = similarity(*i, _T_COLOUR)
    colour *= similarity(*q, _T_COLOUR)
    alike *= cv2.pow(np.abs(colour, out=colour), _COLOUR_WEIGHT)
    weight = np.maximum(first, second)
    total = float(weight.sum(dtype=np.float64))
    # Two images without any feature are alike in all that is looked at.
    return float(np.multiply(alike, weight, out=alike).sum(dtype=np.float64)) / total if total > 0 else 1.0


def edges(plane: Map) -> Map:
    """The magnitude of Scharr's gradient, zeros outside.

    Args:
        plane: The plane.
    """
    across, down, steep = aligned(plane.shape, 3)
    for dx, slope in ((1, across), (0, down)):
        cv2.Scharr(plane, cv2.CV_32F, dx, 1 - dx, dst=slope, scale=1 / 16, borderType=cv2.BORDER_CONSTANT)
    return f32(cv2.magnitude(across, down, steep))


def grid(height: int, width: int) -> tuple[Map, Map]:
    """Distance from the zero frequency down and across, in cycles a pixel, the zero frequency in the middle.

    Args:
        height: Rows.
        width: Columns.
    """
    down, across = (((np.arange(side) - side // 2) / (side - side % 2)).astype(np.float32) for side in (height, width))
    return down[:, np.newaxis], across[np.newaxis, :]


class _Bank(NamedTuple):
    """Log-Gabor filters of one size, and what noise of variance 1 would give through them.

    A filter answers with a wave's even part as the real part and its odd part as the imaginary one. It is split into
    its symmetric half, which gives the even part, and its antisymmetric half, so that two images go through each as the
    real and the imaginary part of one spectrum.
    """

    even: Map
    """The symmetric halves: orientations x scales x h x w x 2, zero frequency first; each value twice, for both parts
    of a spectrum, and divided by h w, as OpenCV's own scaling of an inverse transform takes as long as it does."""
    odd: Map
    """The antisymmetric halves, in the same form."""
    noise: tuple[float, ...]
    """Orientation -> the noise threshold, for a median of 1 of the squared response at the finest scale."""


@functools.lru_cache(maxsize=2)
def _bank(height: int, width: int) -> _Bank:
    down, across = grid(height, width)
    radius = np.fft.ifftshift(np.sqrt(down * down + across * across))
    angle = np.fft.ifftshift(np.arctan2(-down, across))
    low_pass = 1 / (1 + (radius / _CUTOFF) ** (2 * _STEEPNESS))
    radius[0, 0] = 1
    bands = np.stack(
        [
            np.exp(-(np.log(radius * _SHORTEST_WAVE * _MULTIPLE**scale) ** 2) / (2 * math.log(_BANDWIDTH) ** 2))
            for scale in range(_SCALES)
        ]
    )
    bands *= low_pass
    bands[:, 0, 0] = 0
    deviation = math.pi / _ORIENTATIONS / _ANGLE_RATIO
    spreads = []
    for orientation in range(_ORIENTATIONS):
        apart = angle - orientation * math.pi / _ORIENTATIONS
        apart = np.abs(np.arctan2(np.sin(apart), np.cos(apart)))
        spreads.append(np.exp(-(apart**2) / (2 * deviation**2)))
    filters = np.stack([bands * spread for spread in spreads])
    mirrored = np.roll(filters[..., ::-1, ::-1], (1, 1), axis=(2, 3))
    even, odd = (filters + mirrored) / 2, (filters - mirrored) / 2
    noise = tuple(
        _noise(halves, float(np.vdot(whole[0], whole[0]))) for halves, whole in zip(even, filters, strict=True)
    )
    return _Bank(_for_both_parts(even), _for_both_parts(odd), noise)


def _for_both_parts(filters: Map) -> Map:
    height, width = filters.shape[-2:]
    return np.repeat((filters / (height * width)).astype(np.float32)[..., np.newaxis], 2, axis=-1)


def _noise(even: Map, energy_of_finest: float) -> float:
    """The noise threshold of one orientation; the sums over space are those over frequencies, by Parseval."""
    even = even.reshape(len(even), -1).astype(np.float64)
    products = even @ even.T
    power = -1 / math.log(0.5) / energy_of_finest
    energy = 2 * power * np.trace(products) + 4 * power * np.triu(products, 1).sum()
    rayleigh = math.sqrt(energy / 2)
    threshold = rayleigh * math.sqrt(math.pi / 2) + _NOISE_DEVIATIONS * math.sqrt((2 - math.pi / 2) * rayleigh**2)
    return threshold / _NOISE_OVERRATED


def _phase_congruency(planes: Two) -> Two:
    """Where the planes' waves are in step, 0..1, and nearly 0 where there is only noise."""
    weaker, stronger = sorted(float(plane.std()) for plane in planes)
    if weaker * _TOO_UNEQUAL >= stronger:
        return _side_by_side(planes)
    # Nearly flat beside a rich one, a plane would drown in the rounding errors of the other.
    return Two(*(_side_by_side(Two(plane, plane)).image for plane in planes))


def _side_by_side(planes: Two) -> Two:
    """Phase congruency of two planes that are the real and the imaginary part of one."""
    height, width = planes.image.shape
    bank = _bank(height, width)
    spectrum = f32(cv2.dft(cv2.merge(planes)))
    # By -i, which makes of the antisymmetric halves' imaginary answers real ones.
    turned = f32(cv2.merge([spectrum[..., 1], -spectrum[..., 0]]))
    energy, amplitude = np.zeros_like(spectrum), np.zeros_like(spectrum)
    # Each holds both images. They are used again and again: fresh ones cost more in page faults than the arithmetic.
    size, *spares = aligned(spectrum.shape, 4)
    waves = [aligned(spectrum.shape, 2) for _ in range(_SCALES)]
    for evens, odds, noise in zip(bank.even, bank.odd, bank.noise, strict=True):
        medians = np.empty(0)
        for scale, (even, odd) in enumerate(waves):
            cv2.dft(np.multiply(spectrum, evens[scale], out=even), dst=even, flags=cv2.DFT_INVERSE)
            cv2.dft(np.multiply(turned, odds[scale], out=odd), dst=odd, flags=cv2.DFT_INVERSE)
            amplitude += f32(cv2.magnitude(even, odd, size))
            if scale == 0:
                medians = np.array([_median(f32(each)) for each in cv2.split(size)])
        in_step = _in_step(waves, size, *spares).reshape(height, -1)
        in_step -= np.tile((noise * medians).astype(np.float32), width)
        energy += np.maximum(size, 0, out=size)
    energy += _TINY
    amplitude += _TINY
    return Two(*map(f32, cv2.split(np.divide(energy, amplitude, out=energy))))


def _median(values: Map) -> float:
    """The lower median; the values are put in another order."""
    middle = (values.size - 1) // 2
    flat = values.ravel()
    flat.partition(middle)
    return float(flat[middle])


def _in_step(waves: list[list[Map]], total: Map, even: Map, odd: Map, aside: Map) -> Map:
    """How far the waves of all scales point the way that they point together, less how far they point aside.

    Args:
        waves: Scale -> even and odd part; overwritten.
        total: Where the result goes.
        even: A buffer.
        odd: Another.
        aside: Another.
    """
    np.add(*(own_even for own_even, _ in waves[:2]), out=even)
    np.add(*(own_odd for _, own_odd in waves[:2]), out=odd)
    for own_even, own_odd in waves[2:]:
        even += own_even
        odd += own_odd
    for scale, (own_even, own_odd) in enumerate(waves):
        own_even *= odd
        own_odd *= even
        if scale == 0:
            cv2.absdiff(own_even, own_odd, dst=aside)
        else:
            aside += f32(cv2.absdiff(own_even, own_odd, dst=own_even))
    # Along the direction in which the waves point together, their sum is as long as it is.
    cv2.magnitude(even, odd, total)
    aside /= np.add(total, _TINY, out=even)
    total -= aside
    return total
