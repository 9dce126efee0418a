"""The quality tools that compare an image with its pristine reference: PSNR, SSIM, GMSD and MDSI.

Each takes two uint8 RGB arrays of one shape, H x W x 3, and gives one number in the tool's own unit and direction.
NumPy and OpenCV only; the heavy maps are float32, the final sums float64. `docs/tools.md` has the values of independent
implementations beside ours.
"""

from __future__ import annotations

import math
from typing import Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError

RGB = NDArray[np.uint8]
"""An image: uint8, H x W x 3, red first."""

Map = NDArray[np.floating[Any]]
"""A map of one float32 per pixel."""

PSNR_CAP = 100.0
"""What `psnr` gives for identical images, in dB; the formula gives infinity, which JSON cannot hold."""

_PREWITT_EDGE = np.array([1, 0, -1], np.float32)
_PREWITT_MEAN = np.array([1, 1, 1], np.float32) / 3

# Luminance and the two opponent channels H and M of MDSI, one row each.
_LHM = np.array([[0.2989, 0.5870, 0.1140], [0.30, 0.04, -0.35], [0.34, -0.60, 0.17]], np.float32)


def psnr(image: RGB, reference: RGB) -> float:
    """Peak signal-to-noise ratio over the three channels together.

    ``10 log10(255^2 / MSE)``.

    Args:
        image: The image in question, H x W x 3.
        reference: The pristine image, of the same shape.

    Returns:
        Decibels, at most `PSNR_CAP`; higher is better.

    Raises:
        ImageError: If the shapes differ or are not H x W x 3.
    """
    _check(image, reference, 1, "PSNR")
    error = cv2.norm(image, reference, cv2.NORM_L2SQR) / image.size
    return min(10 * math.log10(255**2 / error), PSNR_CAP) if error > 0 else PSNR_CAP


def ssim(image: RGB, reference: RGB) -> float:
    """Structural similarity on luma, mean over the map without its border of five pixels.

    Wang, Bovik, Sheikh and Simoncelli, IEEE TIP 13(4), 2004: Gaussian window of 11 x 11, sigma 1.5, K1 = 0.01,
    K2 = 0.03, at full resolution. The moments come from the sum and the difference of the images, which needs four
    filters instead of five and keeps float32 exact where the images are alike.

    Args:
        image: The image in question, H x W x 3, at least 11 pixels a side.
        reference: The pristine image, of the same shape.

    Returns:
        -1..1; 1 for identical images; higher is better.

    Raises:
        ImageError: If the shapes differ, are not H x W x 3, or a side is shorter than 11 pixels.
    """
    _check(image, reference, 11, "SSIM")
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    difference, other = _luma(image), _luma(reference)
    # Centred on zero, so that the squares below lose fewer float32 digits; the true mean of the sum is 256 higher.
    # Buffers are used again as soon as they are free: fresh ones cost more in page faults than the arithmetic.
    total = difference + other
    total -= np.float32(256)
    difference -= other
    total_mean = _gaussian(total, into=other)
    total_spread = _gaussian(np.multiply(total, total, out=total))
    difference_mean = _gaussian(difference, into=total)
    difference_spread = _gaussian(np.multiply(difference, difference, out=difference))
    scratch = difference
    total_spread -= np.multiply(total_mean, total_mean, out=scratch)
    total_mean += np.float32(256)
    total_energy = np.multiply(total_mean, total_mean, out=total_mean)
    difference_energy = np.multiply(difference_mean, difference_mean, out=difference_mean)
    difference_spread -= difference_energy
    # Sum and difference carry twice the energy of the two images, so the constants are doubled too.
    similarity = _ratio(total_energy, difference_energy, 2 * c1)
    similarity *= _ratio(total_spread, difference_spread, 2 * c2)
    return float(similarity[5:-5, 5:-5].mean(dtype=np.float64))


def gmsd(image: RGB, reference: RGB) -> float:
    """Gradient magnitude similarity deviation on luma at half resolution.

    Xue, Zhang, Mou and Bovik, IEEE TIP 23(2), 2014: 2 x 2 mean, Prewitt gradients, T = 170, sample standard deviation.

    Args:
        image: The image in question, H x W x 3, at least 4 pixels a side.
        reference: The pristine image, of the same shape.

    Returns:
        0 for identical images, about 0.35 at worst; lower is better.

    Raises:
        ImageError: If the shapes differ, are not H x W x 3, or a side is shorter than 4 pixels.
    """
    _check(image, reference, 4, "GMSD")
    first = _gradient_energy(_block_mean(_luma(image), 2))
    second = _gradient_energy(_block_mean(_luma(reference), 2))
    similarity = _similarity(first, second, 170.0)
    deviation = cast(float, cv2.meanStdDev(similarity)[1].item())
    return deviation * math.sqrt(similarity.size / (similarity.size - 1))


def mdsi(image: RGB, reference: RGB) -> float:
    """Mean deviation similarity index: gradients and chromaticity together, pooled by their mean deviation.

    Nafchi, Shahkolaei, Hedjam and Cheriet, IEEE Access 4, 2016, with the constants of the paper: C1 = 140, C2 = 55,
    C3 = 550, alpha = 0.6, q = o = 1/4, sum combination. The images are first averaged over blocks of
    round(shorter side / 256) pixels.

    Args:
        image: The image in question, H x W x 3, at least 4 pixels a side.
        reference: The pristine image, of the same shape.

    Returns:
        0 for identical images, about 0.7 at worst; lower is better.

    Raises:
        ImageError: If the shapes differ, are not H x W x 3, or a side is shorter than 4 pixels.
    """
    _check(image, reference, 4, "MDSI")
    # MATLAB rounds halves up, Python to even.
    block = max(1, math.floor(min(image.shape[:2]) / 256 + 0.5))
    light, h, m = _lhm(image, block)
    light_ref, h_ref, m_ref = _lhm(reference, block)
    edges, edges_ref = _gradient_energy(light), _gradient_energy(light_ref)
    edges_both = _gradient_energy((light + light_ref) * np.float32(0.5))
    structure = _similarity(edges_ref, edges, 140.0)
    structure += _similarity(edges, edges_both, 55.0)
    structure -= _similarity(edges_ref, edges_both, 55.0)
    c3 = np.float32(550)
    colour = (2 * (h * h_ref + m * m_ref) + c3) / (h * h + h_ref * h_ref + m * m + m_ref * m_ref + c3)
    combined = np.float32(0.6) * structure + np.float32(0.4) * colour
    return _mean_deviation_of_fourth_root(combined) ** 0.25


def _mean_deviation_of_fourth_root(values: Map) -> float:
    """``mean |v^(1/4) - mean(v^(1/4))|``; the root of a negative value is complex, as in the paper's own code."""
    if float(values.min()) >= 0:
        root = np.sqrt(np.sqrt(values))
        return float(np.abs(root - np.float32(root.mean(dtype=np.float64))).mean(dtype=np.float64))
    complex_root = values.astype(np.complex128) ** 0.25
    return float(np.abs(complex_root - complex_root.mean()).mean())


def _check(image: RGB, reference: RGB, smallest: int, tool: str) -> None:
    for name, array in (("image", image), ("reference", reference)):
        if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
            raise ImageError(f"{tool}: the {name} must be uint8 H x W x 3, not {array.dtype} {array.shape}")
    if image.shape != reference.shape:
        (height, width), (ref_height, ref_width) = image.shape[:2], reference.shape[:2]
        raise ImageError(
            f"{tool}: the image is {width} x {height} pixels but the reference {ref_width} x {ref_height}; "
            "both must be of one size"
        )
    if min(image.shape[:2]) < smallest:
        raise ImageError(
            f"{tool} needs at least {smallest} pixels a side, not {image.shape[1]} x {image.shape[0]}; "
            "give a larger image or region"
        )


def _ratio(total: Map, difference: Map, constant: float) -> Map:
    """``(total - difference + c) / (total + difference + c)``, in place of both."""
    total += np.float32(constant)
    total += difference
    difference /= total
    difference *= np.float32(-2)
    difference += np.float32(1)
    return difference


def _luma(image: RGB) -> Map:
    """Luma of BT.601, rounded to whole levels as the papers' own code has it."""
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)


def _gaussian(values: Map, into: Map | None = None) -> Map:
    return _f32(cv2.GaussianBlur(values, (11, 11), 1.5, dst=into))


def _block_mean(values: Map, block: int) -> Map:
    """Mean over blocks; each starts (block - 1) // 2 pixels before its sample, and zeros lie outside (MATLAB conv2)."""
    if block == 1:
        return values
    before = (block - 1) // 2
    below = _missing(values.shape[0], before, block)
    right = _missing(values.shape[1], before, block)
    if before or below or right:
        values = _f32(cv2.copyMakeBorder(values, before, below, before, right, cv2.BORDER_CONSTANT, value=(0, 0, 0)))
        values = values[: values.shape[0] // block * block, : values.shape[1] // block * block]
    size = (values.shape[1] // block, values.shape[0] // block)
    return _f32(cv2.resize(values, size, interpolation=cv2.INTER_AREA))


def _missing(length: int, before: int, block: int) -> int:
    """How many zeros to add so that there is one whole block for every `block`-th pixel."""
    return max(0, math.ceil(length / block) * block - length - before)


def _gradient_energy(values: Map) -> Map:
    """Square of the Prewitt gradient magnitude, zeros outside."""
    across = cv2.sepFilter2D(values, cv2.CV_32F, _PREWITT_EDGE, _PREWITT_MEAN, borderType=cv2.BORDER_CONSTANT)
    down = cv2.sepFilter2D(values, cv2.CV_32F, _PREWITT_MEAN, _PREWITT_EDGE, borderType=cv2.BORDER_CONSTANT)
    return _f32(across * across + down * down)


def _similarity(first: Map, second: Map, constant: float) -> Map:
    """``(2 a b + c) / (a^2 + b^2 + c)`` from the squares of a and b."""
    c = np.float32(constant)
    return (2 * np.sqrt(first * second) + c) / (first + second + c)


def _lhm(image: RGB, block: int) -> tuple[Map, Map, Map]:
    """Luminance and the two opponent channels, averaged over blocks."""
    small = _block_mean(image.astype(np.float32), block)
    light, h, m = cv2.split(cv2.transform(small, _LHM))
    return _f32(light), _f32(h), _f32(m)


def _f32(values: Any) -> Map:
    """OpenCV's results are typed as any number; these are float32."""
    return cast(Map, values)
