"""The quality tools that compare an image with its pristine reference.

Each takes a `Pair`, from which all take the same planes, and gives one number in the tool's own unit and direction.
NumPy and OpenCV only; the maps are float32, the final sums float64. `docs/tools.md` has the values of independent
implementations beside ours.

PSNR, SSIM and MS-SSIM tell how large the errors are, and whether local means, contrasts and structures are alike;
HaarPSI how much alike the coefficients of Haar wavelets are, weighted by where they are large; VIF how much of the
information in the reference is left; VSI whether what catches the eye, the edges and the colours are alike; GMSD and
MDSI how unevenly the edges (and the colours) differ, and where.
"""

import functools
import math
from typing import NamedTuple, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, checked, magnitude, smoothed
from loopwright.workflows.iqa.measuring.reference_planes import (
    MIRRORED,
    Map,
    Pair,
    Two,
    block_mean,
    f32,
    mixed,
    similarity,
    similarity_of_squares,
)

PSNR_CAP = 100.0
"""What `psnr` gives for identical images, in dB; the formula gives infinity, which JSON cannot hold."""
WINDOW, SIGMA = 11, 1.5
"""The Gaussian window: pixels a side, and its standard deviation in pixels."""
_BORDER = WINDOW // 2
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_MIDDLE = np.float32(256)
"""The middle of the sum of two grey levels."""
_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weights of the five scales, finest first, from table 1 of the paper on MS-SSIM."""


def psnr(pair: Pair) -> float:
    """Peak signal-to-noise ratio over the three channels together.

    ``10 log10(255^2 / MSE)``.

    Returns:
        Decibels, at most `PSNR_CAP`; higher is better.
    """
    error = cv2.norm(pair.image, pair.reference, cv2.NORM_L2SQR) / pair.image.size
    return min(10 * math.log10(255**2 / error), PSNR_CAP) if error > 0 else PSNR_CAP


def ssim(pair: Pair) -> float:
    """Structural similarity on luma, mean over the map without its border of five pixels.

    Wang, Bovik, Sheikh and Simoncelli, IEEE TIP 13(4), 2004: Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01,
    K2 = 0.03. As the authors advise, luma is first averaged over blocks of round(shorter side / 256) pixels, so that
    the window covers what an eye takes in at once; `similarity_of_structure` gives the value at full resolution.

    Returns:
        -1..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 11 pixels.
    """
    checked(pair.image, "SSIM", WINDOW)
    return pair.once(_at_half).whole if pair.block == 2 else similarity_of_structure(_averaged(pair.luma, pair.block))


def similarity_of_structure(planes: Two) -> float:
    """SSIM of two planes as they are, -1..1: 1 for identical planes, higher is better."""
    return _likeness(planes).whole


def ms_ssim(pair: Pair) -> float:
    """Structural similarity on luma at five scales, each half as fine as the one before.

    Wang, Simoncelli and Bovik, Asilomar 2003: contrast and structure at every scale, the means at the coarsest alone,
    multiplied with the exponents of the paper; a scale whose mean is negative counts as 0.

    Returns:
        0..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If a side is shorter than 161 pixels.
    """
    checked(pair.image, "MS-SSIM", (WINDOW - 1) * 2 ** (len(_WEIGHTS) - 1) + 1)
    contrasts = [_contrast(pair.luma), pair.once(_at_half).contrast]
    planes = pair.mirrored_half_luma
    for _ in _WEIGHTS[len(contrasts) : -1]:
        planes = _averaged(planes, 2)
        contrasts.append(_contrast(planes))
    factors = (*contrasts, _likeness(_averaged(planes, 2)).whole)
    return math.prod(max(factor, 0.0) ** weight for factor, weight in zip(factors, _WEIGHTS, strict=True))


class _Likeness(NamedTuple):
    """How much alike two planes are, mean over the map without its border."""

    whole: float
    """Of means, contrast and structure together."""
    contrast: float
    """Of contrast and structure alone."""


def _at_half(pair: Pair) -> _Likeness:
    return _likeness(pair.mirrored_half_luma)


def _averaged(planes: Two, block: int) -> Two:
    # An odd last row or column is repeated, as in the authors' code.
    return Two(*(block_mean(each, block, MIRRORED) for each in planes))


def _likeness(planes: Two) -> _Likeness:
    mean, spread, difference, difference_spread = _moments(planes)
    means = _ratio((mean + _MIDDLE) ** 2, difference, 2 * _C1)
    spreads = _ratio(spread, difference_spread, 2 * _C2)
    return _Likeness(_mean_inside(means * spreads), _mean_inside(spreads))


def _contrast(planes: Two) -> float:
    _, spread, _, difference_spread = _moments(planes)
    return _mean_inside(_ratio(spread, difference_spread, 2 * _C2))


def _moments(planes: Two) -> tuple[Map, Map, Map, Map]:
    """The sum's local mean, less `_MIDDLE`, and variance; the square of the difference's local mean, and its variance.

    They need four filters, where those of the two planes would need five, and keep float32 exact where the planes are
    alike. Sum and difference carry twice the energy of the two planes.
    """
    # Centred on zero, so that the squares below lose fewer float32 digits.
    total, difference = planes.image + planes.reference - _MIDDLE, planes.image - planes.reference
    mean, difference_mean = _gaussian(total), _gaussian(difference) ** 2
    spread = _gaussian(total * total) - mean * mean
    difference_spread = _gaussian(difference * difference) - difference_mean
    return mean, spread, difference_mean, difference_spread


def _ratio(total: Map, difference: Map, constant: float) -> Map:
    """``(total - difference + c) / (total + difference + c)``."""
    return 1 - 2 * (difference / (total + constant + difference))


def _mean_inside(values: Map) -> float:
    return float(values[_BORDER:-_BORDER, _BORDER:-_BORDER].mean(dtype=np.float64))


def _gaussian(values: Map) -> Map:
    return f32(cv2.GaussianBlur(values, (WINDOW, WINDOW), SIGMA))


_C_HAAR, _ALPHA = 30.0, 4.2
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
        gain, weigh = _pooled(similarity(*fine, _C_HAAR), similarity(*middle, _C_HAAR), weight)
        gained, weighed = gained + gain, weighed + weigh
        weights.append(weight)
    chroma = [
        Two(*(np.abs(f32(cv2.blur(plane, (2, 2), anchor=(0, 0), borderType=cv2.BORDER_CONSTANT))) for plane in both))
        for both in (i, q)
    ]
    weight = (weights[0] + weights[1]) * np.float32(0.5)
    gain, weigh = _pooled(similarity(*chroma[0], _C_HAAR), similarity(*chroma[1], _C_HAAR), weight)
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


_NOISE = np.float32(2.0)
"""Variance of the visual noise, in squared grey levels."""
_NOTHING = np.float32(1e-8)
_WINDOWS = (17, 9, 5, 3)
"""The Gaussian window of each scale, finest first, in pixels a side; its standard deviation is a fifth of that."""
_SMALLEST = 41
_ROWS = 128
"""Rows that are worked on at a time."""


def vif(pair: Pair) -> float:
    """Visual information fidelity in the pixel domain (VIFp), on luma at four scales.

    Sheikh and Bovik, IEEE TIP 15(2), 2006, in the authors' own version for pixels, with a noise variance of 2.

    Returns:
        0 and up; 1 for identical images, more for an image of higher contrast; higher is better.

    Raises:
        ImageError: If a side is shorter than 41 pixels.
    """
    checked(pair.image, "VIF", _SMALLEST)
    # Around mid-grey the squares lose fewer float32 digits; variances stay as they are.
    image, reference = (plane - np.float32(128) for plane in pair.luma)
    kept = there = 0.0
    for scale, window in enumerate(_WINDOWS):
        if scale:
            image, reference = (
                np.ascontiguousarray(_inside(_mean(plane, window), window)[::2, ::2]) for plane in (image, reference)
            )
        scale_kept, scale_there = _information(image, reference, window)
        kept, there = kept + scale_kept, there + scale_there
    return (kept + float(_NOTHING)) / (there + float(_NOTHING))


def _information(image: Map, reference: Map, window: int) -> tuple[float, float]:
    """What is left of the reference's information, and what there was, at one scale, in decimal digits."""
    kept = there = 0.0
    # Some rows at a time, with those that their windows reach: what is made of them stays in the processor's cache.
    for top in range(0, len(image) - window + 1, _ROWS):
        rows = slice(top, top + _ROWS + window - 1)
        rows_kept, rows_there = _information_of_rows(image[rows], reference[rows], window)
        kept, there = kept + rows_kept, there + rows_there
    return kept, there


def _information_of_rows(image: Map, reference: Map, window: int) -> tuple[float, float]:
    mean, mean_ref = _mean(image, window), _mean(reference, window)
    variance = np.maximum(_mean(image * image, window) - mean * mean, 0)
    variance_ref = np.maximum(_mean(reference * reference, window) - mean_ref * mean_ref, 0)
    common = _mean(image * reference, window) - mean * mean_ref
    gain = common / (variance_ref + _NOTHING)
    rest = variance - gain * common
    # Where one of the two is flat, or they run against each other, nothing is left.
    nothing = (gain < 0) | (variance_ref < _NOTHING) | (variance < _NOTHING)
    gain[nothing] = 0
    rest[nothing] = variance[nothing]
    kept = gain * gain * variance_ref / (np.maximum(rest, _NOTHING) + _NOISE) + 1
    there = variance_ref * (1 / _NOISE) + 1
    # The border, where windows lie partly outside, is cut only here, as whole planes are faster than their insides.
    return _sum_of_logs(_inside(kept, window)), _sum_of_logs(_inside(there, window))


def _sum_of_logs(values: Map) -> float:
    return float(np.log(values).sum(dtype=np.float64)) / math.log(10)


def _mean(values: Map, window: int) -> Map:
    return f32(cv2.GaussianBlur(values, (window, window), window / 5, borderType=cv2.BORDER_REFLECT))


def _inside(values: Map, window: int) -> Map:
    border = window // 2
    return values[border:-border, border:-border]


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
