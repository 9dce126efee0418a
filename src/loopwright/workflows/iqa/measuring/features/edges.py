"""Sharpness of edges, direction of motion blur."""

import math
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features import planes
from loopwright.workflows.iqa.measuring.features.model import Plane

CREST = 1.0
"""Smoothing with which crests are found, pixels."""
FINE, COARSE = 0.5, 1.5
"""Standard deviations of the two smoothings whose gradients are compared, pixels."""
TILE = 64
"""Side of the tiles among which the sharpest are sought, pixels."""
TILE_EDGES = 12
"""Edge pixels that a tile needs to be measured."""
NOISE_GRADIENT = 0.2
"""Standard deviation of one gradient component, smoothed by `CREST`, for white noise of standard deviation 1:
1 / sqrt(8 pi) for a Gaussian derivative of that width."""


class Edges(NamedTuple):
    """Pixels on the crest of an edge, one entry per pixel."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    dx: Plane
    """Horizontal part of the unit gradient, towards the brighter side."""
    dy: Plane
    """Vertical part, downwards."""
    height: Plane
    """Gradient after the coarse smoothing, grey levels per pixel."""
    ratio: Plane
    """Gradient after the fine smoothing over that after the coarse one; at most 3 for a step, above if sharpened."""
    sigma: Plane
    """Standard deviation of the Gaussian that would have made a step this wide, pixels."""


def gradient(plane: Plane, sigma: float) -> tuple[Plane, Plane]:
    """Central differences of the smoothed plane, grey levels per pixel."""
    smooth = cv2.GaussianBlur(plane, (0, 0), sigma)
    gx = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    gy = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(gx, np.float32), np.asarray(gy, np.float32)


class Slopes(NamedTuple):
    """Gradient of a plane smoothed by `CREST`, grey levels per pixel."""

    dx: Plane
    dy: Plane
    size: Plane


def slopes(plane: Plane) -> Slopes:
    """Gradient of the plane smoothed by `CREST`, and its size."""
    dx, dy = gradient(plane, CREST)
    return Slopes(dx, dy, planes.magnitude(dx, dy))


def find_edges(plane: Plane, slope: Slopes, noise_sigma: float) -> Edges:
    """Edge crests that stand clear of the noise, whose deviation is given in grey levels, with the blur of each.

    A step blurred to standard deviation s has, smoothed by a further t, a gradient of 1 / sqrt(s^2 + t^2) at its crest.
    The ratio of two smoothings gives s whatever the contrast (Zhuo and Sim, Pattern Recognition 44, 2011).

    Returns:
        The edges; none is an empty tuple of arrays.
    """
    gx, gy, size = slope
    horizontal = np.abs(gx) >= np.abs(gy)
    crest = np.zeros(plane.shape, bool)
    middle = size[1:-1, 1:-1]
    across = (middle >= size[1:-1, :-2]) & (middle > size[1:-1, 2:])
    along = (middle >= size[:-2, 1:-1]) & (middle > size[2:, 1:-1])
    # What `np.where` gives, several times as fast.
    crest[1:-1, 1:-1] = along ^ (horizontal[1:-1, 1:-1] & (across ^ along))
    crest &= size > max(2.0, 5 * NOISE_GRADIENT * noise_sigma)
    crest[:4] = crest[-4:] = False
    crest[:, :4] = crest[:, -4:] = False
    # Places in one dimension are found and read ten times as fast as in two.
    place = np.flatnonzero(crest)
    row, column = np.divmod(place, plane.shape[1])
    height = size.take(place)
    ux, uy = gx.take(place) / height, gy.take(place) / height
    fine, coarse = (
        np.maximum(ux * px + uy * py, 1e-3)
        for px, py in (_gradient_at(place, plane, sigma) for sigma in (FINE, COARSE))
    )
    ratio = fine / coarse
    squared = np.clip(ratio**2, 1.002, None)
    variance = (COARSE**2 - squared * FINE**2) / (squared - 1)
    sigma = np.sqrt(np.maximum(variance, 0)).astype(np.float32)
    return Edges(row, column, ux, uy, coarse, ratio.astype(np.float32), sigma)


def _gradient_at(place: NDArray[np.intp], plane: Plane, sigma: float) -> tuple[Plane, Plane]:
    """`gradient` at single places off the border, given as indices of the flattened plane."""
    smooth = np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma), np.float32).ravel()
    gx, gy = ((smooth.take(place + step) - smooth.take(place - step)) * np.float32(0.5) for step in (1, plane.shape[1]))
    return gx, gy


def tile_sharpness(edges: Edges, width: int) -> dict[str, float]:
    """Median edge blur per tile of a plane; the sharpest tenth of the tiles, and the tile in the middle.

    Returns:
        The fields of `ImageFeatures` about the width of edges; NaN and 0 tiles if no tile has enough edges.
    """
    tile = edges.row // TILE * (width // TILE + 1) + edges.column // TILE
    # By tile, then by blur: positive floats are in the order of their bits, so one sort of whole numbers does both.
    keys = np.sort(tile.astype(np.uint64) << np.uint64(32) | edges.sigma.view(np.uint32))
    starts = np.flatnonzero(np.diff((keys >> np.uint64(32)).astype(np.int64), prepend=-1))
    counts = np.diff(np.append(starts, len(keys)))
    medians = keys[(starts + counts // 2)[counts >= TILE_EDGES]].astype(np.uint32).view(np.float32)
    if len(medians) == 0:
        return {**dict.fromkeys(_WIDTHS, math.nan), "edge_tiles": 0}
    middle, top = planes.quantiles(edges.height, (0.5, 0.9))
    sharpest, typical = planes.quantiles(medians, (0.1, 0.5))
    strong, weak = _median(edges.sigma[edges.height >= top]), _median(edges.sigma[edges.height <= middle])
    ratio = _median(edges.ratio[edges.height >= middle])
    widths = dict(zip(_WIDTHS, (sharpest, typical, strong, weak, ratio), strict=True))
    return {**widths, "edge_tiles": len(medians)}


_WIDTHS = ("edge_sigma", "edge_sigma_typical", "edge_sigma_strong", "edge_sigma_weak", "edge_ratio")


def _median(values: Plane) -> float:
    return planes.quantiles(values, [0.5])[0]


def motion(plane: Plane, noise_sigma: float) -> tuple[float, float]:
    """Dependence of fine detail on direction.

    Blur along a line takes the high frequencies of that direction and leaves those across. The log ratio of the band at
    0.12 to 0.35 cycles per pixel to the band at 0.03 to 0.08 is taken in 18 directions and fitted by its second
    harmonic.

    Args:
        plane: Luma, grey levels.
        noise_sigma: Standard deviation of the noise, whose flat spectrum is taken off, grey levels.

    Returns:
        Amplitude in nepers, and the direction of least detail in degrees counter-clockwise from the horizontal.
    """
    spectra = planes.tile_spectra(plane)
    size = spectra.shape[1]
    strength = planes.mean_power(spectra)
    window_energy = (size * 3 / 8) ** 2
    floor = max(noise_sigma, 0.3) ** 2 * window_energy
    radius, sector = _sectors(size)
    bands: list[NDArray[np.float64]] = []
    for low, high in ((0.03, 0.08), (0.12, 0.35)):
        inside = (radius >= low) & (radius < high)
        total = np.bincount(sector[inside], strength[inside], 18)
        count = np.bincount(sector[inside], minlength=18)
        # A window's leakage and few bins per sector make single sectors rough; neighbours share.
        total, count = (value + np.roll(value, 1) + np.roll(value, -1) for value in (total, count))
        bands.append(np.maximum(total / np.maximum(count, 1) - floor, 0.1 * floor))
    detail = np.log(bands[1] / bands[0])
    theta = (np.arange(18) + 0.5) * np.pi / 18
    harmonic = (detail * np.exp(2j * theta)).sum() / 9
    least = (np.angle(-harmonic) / 2) % np.pi
    return float(np.abs(harmonic)), math.degrees(float(least))


def motion_length(edges: Edges, direction: float) -> float:
    """Length, in pixels, of the motion that would make the edges across it as wide as they are; NaN with too few.

    A line of length L has the variance L^2 / 12. Edges whose gradient lies within 25 degrees of the direction, degrees
    counter-clockwise from the horizontal, count;
    `TILE_EDGES` are enough.
    """
    turned = math.radians(direction)
    across = np.abs(edges.dx * math.cos(turned) - edges.dy * math.sin(turned)) > math.cos(math.radians(25))
    if np.count_nonzero(across) < TILE_EDGES:
        return math.nan
    return math.sqrt(12) * _median(edges.sigma[across])


@lru_cache(maxsize=2)
def _sectors(size: int) -> tuple[Plane, NDArray[np.intp]]:
    """Of each bin of `tile_spectra`: cycles per pixel, and which of 18 directions."""
    fx, fy = planes.frequencies(size)
    angle = np.arctan2(fy, fx)
    return np.hypot(fx, fy), np.floor(np.mod(angle, np.pi) / np.pi * 18).astype(np.intp) % 18
