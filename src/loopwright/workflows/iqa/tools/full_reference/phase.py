"""FSIMc: whether the features (by phase congruency), the edges and the colours are alike."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import cv2
import numpy as np

from loopwright.workflows.iqa.tools.full_reference.planes import Map, Pair, f32, length, similarity

_SCALES, _ORIENTATIONS = 4, 4
_SHORTEST_WAVE, _MULTIPLE = 6, 2
_BANDWIDTH, _ANGLE_RATIO = 0.55, 1.2
_CUTOFF, _STEEPNESS = 0.45, 15
_NOISE_DEVIATIONS, _NOISE_OVERRATED = 2.0, 1.7
_T_PHASE, _T_EDGES, _T_COLOUR, _COLOUR_WEIGHT = 0.85, 160.0, 200.0, 0.03
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
    first, second = (_phase_congruency(plane) for plane in light)
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
    across, down = (
        cv2.Scharr(plane, cv2.CV_32F, dx, 1 - dx, scale=1 / 16, borderType=cv2.BORDER_CONSTANT) for dx in (1, 0)
    )
    return length(f32(across), f32(down))


def grid(height: int, width: int) -> tuple[Map, Map]:
    """Distance from the zero frequency down and across, in cycles a pixel, the zero frequency in the middle.

    Args:
        height: Rows.
        width: Columns.
    """
    down, across = (((np.arange(side) - side // 2) / (side - side % 2)).astype(np.float32) for side in (height, width))
    return down[:, np.newaxis], across[np.newaxis, :]


class _Bank(NamedTuple):
    """Log-Gabor filters of one size, and what noise of variance 1 would give through them."""

    filters: Map
    """orientations x scales x h x w x 2, zero frequency first; each value twice, for both parts of a spectrum, and
    divided by h w, as OpenCV's own scaling of an inverse transform takes as long as the transform."""
    noise: tuple[float, ...]
    """Orientation -> the noise threshold, for a median of 1 of the squared response at the finest scale."""


@functools.lru_cache(maxsize=4)
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
    filters = np.stack([bands * spread for spread in spreads]).astype(np.float32)
    scaled = filters / np.float32(height * width)
    return _Bank(np.repeat(scaled[..., np.newaxis], 2, axis=-1), tuple(_noise(each) for each in filters))


def _noise(filters: Map) -> float:
    """The noise threshold of one orientation; the sums over space are those over frequencies, by Parseval."""
    mirrored = np.roll(filters[:, ::-1, ::-1], (1, 1), axis=(1, 2))
    even = ((filters + mirrored) / 2).astype(np.float64).reshape(len(filters), -1)
    products = even @ even.T
    power = -1 / math.log(0.5) / float((filters[0].astype(np.float64) ** 2).sum())
    energy = 2 * power * np.trace(products) + 4 * power * np.triu(products, 1).sum()
    rayleigh = math.sqrt(energy / 2)
    threshold = rayleigh * math.sqrt(math.pi / 2) + _NOISE_DEVIATIONS * math.sqrt((2 - math.pi / 2) * rayleigh**2)
    return threshold / _NOISE_OVERRATED


def _phase_congruency(plane: Map) -> Map:
    """Where the plane's waves are in step, 0..1, and nearly 0 where there is only noise."""
    bank = _bank(*plane.shape)
    # A complex transform takes less than half the time of OpenCV's own for real planes with a full result.
    spectrum = f32(cv2.dft(cv2.merge([plane, np.zeros_like(plane)])))
    energy, amplitude = np.zeros_like(plane), np.zeros_like(plane)
    # Buffers are used again and again: fresh ones cost more in page faults than the arithmetic.
    wave = np.empty_like(spectrum)
    size, *spares = (np.empty_like(plane) for _ in range(4))
    waves = [[np.empty_like(plane), np.empty_like(plane)] for _ in range(_SCALES)]
    middle = (plane.size - 1) // 2
    for filters, noise in zip(bank.filters, bank.noise, strict=True):
        median = 0.0
        for scale, each in enumerate(filters):
            np.multiply(spectrum, each, out=wave)
            even, odd = waves[scale]
            cv2.split(cv2.dft(wave, dst=wave, flags=cv2.DFT_INVERSE), [even, odd])
            amplitude += _length_into(size, even, odd, spares[0])
            if scale == 0:
                flat = size.ravel()
                flat.partition(middle)
                median = float(flat[middle])
        in_step = _in_step(waves, size, *spares)
        in_step -= np.float32(noise * median)
        energy += np.maximum(in_step, 0, out=in_step)
    energy += _TINY
    amplitude += _TINY
    return np.divide(energy, amplitude, out=energy)


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
    aside.fill(0)
    for own_even, own_odd in waves:
        own_even *= odd
        own_odd *= even
        aside += f32(cv2.absdiff(own_even, own_odd, dst=own_even))
    # Along the direction in which the waves point together, their sum is as long as it is.
    _length_into(total, even, odd, waves[0][0])
    aside /= np.add(total, _TINY, out=even)
    total -= aside
    return total


def _length_into(length: Map, first: Map, second: Map, spare: Map) -> Map:
    """`length` into a buffer, with another for what lies between."""
    np.multiply(first, first, out=length)
    length += np.multiply(second, second, out=spare)
    return np.sqrt(length, out=length)
