"""The views of an image that the measurements share: luma, tiles and their spectra."""

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.errors import ImageError
from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb

LONG_SIDE = 1536
"""Longer side, in pixels, beyond which sharpness is judged on a reduced image, as a screen shows it, and pixel-exact
features on the central part. Without it, sensors of 20 megapixels would all be called blurry, and slow."""
MOST_TILES = 180
"""Tiles of which spectra are taken."""
SMALLEST = 32
"""Shorter side, in pixels, below which nothing can be measured."""


def checked(rgb: Rgb, what: str = "the detection of distortions", smallest: int = SMALLEST) -> Rgb:
    """Return the image, the same array, if it can be measured.

    Raises:
        ImageError: If dtype or shape are different, or a side has fewer pixels.
    """
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        raise ImageError(f"{what} takes uint8 RGB of shape (height, width, 3), not {rgb.dtype} of {rgb.shape}")
    height, width = rgb.shape[:2]
    if min(height, width) < smallest:
        raise ImageError(
            f"{what} needs at least {smallest} x {smallest} pixels, not {width} x {height}; "
            "give a larger image or region"
        )
    return rgb


def whole_view(rgb: Rgb, long_side: int = LONG_SIDE, smallest: int = SMALLEST) -> Rgb:
    """The whole image, reduced by area averaging if its longer side has more than `long_side` pixels.

    Neither side is made shorter than `smallest`.
    """
    height, width = rgb.shape[:2]
    scale = long_side / max(height, width)
    if scale >= 1:
        return rgb
    size = (max(smallest, round(width * scale)), max(smallest, round(height * scale)))
    return np.asarray(cv2.resize(np.ascontiguousarray(rgb), size, interpolation=cv2.INTER_AREA), np.uint8)


def detail_view(rgb: Rgb) -> Rgb:
    """At most `LONG_SIDE` pixels per side from the middle, at full resolution, starting on the 8 x 8 grid."""
    height, width = rgb.shape[:2]
    top = max(0, height - LONG_SIDE) // 16 * 8
    left = max(0, width - LONG_SIDE) // 16 * 8
    return np.ascontiguousarray(rgb[top : top + LONG_SIDE, left : left + LONG_SIDE])


def area_mean(values: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Reduce to a width and height by area averaging, to float32."""
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), np.float32)


def smoothed(plane: Plane, sigma: float) -> Plane:
    """Gaussian mean with a standard deviation of `sigma` pixels."""
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE), np.float32)


def mean_square(values: NDArray[np.float32]) -> float:
    """Mean of the squares, exact to about five digits, several times as fast as squaring first."""
    flat = np.ascontiguousarray(values).ravel()
    return float(np.dot(flat, flat)) / flat.size


def quantiles(values: NDArray[np.floating[Any]], shares: Sequence[float]) -> list[float]:
    """What `numpy.quantile` gives, several times as fast: the values are only parted, not copied and sorted.

    Args:
        values: Any shape, at least one, no NaN.
        shares: 0..1 each.
    """
    parted = values.flatten()
    found: list[float] = []
    for share in shares:
        place = share * (parted.size - 1)
        above = math.ceil(place)
        # One place at a time: NumPy parts by several places several times as slowly.
        parted.partition(above)
        high = float(parted[above])
        low = float(parted[:above].max()) if above else high
        found.append(high - (high - low) * (above - place))
    return found


def luma(rgb: Rgb | NDArray[np.float32]) -> Plane:
    """ITU-R BT.601 luma, float32 grey levels, without rounding."""
    return np.asarray(cv2.cvtColor(rgb.astype(np.float32, copy=False), cv2.COLOR_RGB2GRAY), np.float32)


def blocks(plane: Plane, size: int) -> Plane:
    """Cut into whole squares (n, size, size), row by row, dropping what is left over at the right and bottom."""
    rows, columns = plane.shape[0] // size, plane.shape[1] // size
    cut = plane[: rows * size, : columns * size].reshape(rows, size, columns, size)
    return np.ascontiguousarray(cut.swapaxes(1, 2)).reshape(-1, size, size)


def block_means(plane: Plane, size: int) -> Plane:
    """Means over whole squares, dropping what is left over at the right and bottom.

    Args:
        plane: Shape (height, width), at least one square large.
        size: Side of a square, pixels.

    Returns:
        Shape (height // size, width // size).
    """
    rows, columns = plane.shape[0] // size, plane.shape[1] // size
    return area_mean(np.ascontiguousarray(plane[: rows * size, : columns * size]), (columns, rows))


def magnitude(x: Plane, y: Plane) -> Plane:
    """Length of the vectors (x, y).

    Not by `cv2.magnitude`, whose last digit depends on where in memory the arrays lie, nor by `np.hypot`, which is
    several times as slow to avoid an overflow that grey levels cannot bring about.
    """
    return np.sqrt(x * x + y * y)


def level_counts(channel: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How many samples have each of the 256 levels, shape (256,)."""
    return np.asarray(cv2.calcHist([channel], [0], None, [256], [0, 256]), np.float32).ravel()


def mean_power(spectra: NDArray[np.complex64]) -> NDArray[np.float32]:
    """Mean over the tiles of the squared size of each value, of shape (rows, columns)."""
    parts = spectra.view(np.float32)
    squares = np.einsum("tij,tij->ij", parts, parts) / np.float32(len(parts))
    return squares[:, ::2] + squares[:, 1::2]


def tile_spectra(plane: Plane) -> NDArray[np.complex64]:
    """Fourier transforms of Hann-windowed tiles that overlap by half (Welch's method); needs 32 x 32 values.

    Returns:
        Shape (tiles, size, size // 2 + 1); the size is 64, or 32 where a side is shorter than 128 pixels.
    """
    size = 64 if min(plane.shape) >= 128 else 32
    window = np.hanning(size + 2)[1:-1].astype(np.float32)
    view = np.lib.stride_tricks.sliding_window_view(plane, (size, size))[:: size // 2, :: size // 2]
    rows, columns = view.shape[:2]
    # Evenly spread tiles say as much about a large image as all of them.
    picked = np.linspace(0, rows * columns - 1, min(rows * columns, MOST_TILES)).astype(np.intp)
    tiles = view[picked // columns, picked % columns]
    tiles -= tiles.mean(axis=(1, 2), keepdims=True)
    tiles *= np.outer(window, window)
    # Four times as fast as NumPy's, which works on one row at a time.
    from scipy import fft

    return np.asarray(fft.rfft2(tiles), np.complex64)


def frequencies(size: int) -> tuple[Plane, Plane]:
    """Horizontal and vertical frequency of each bin of `tile_spectra`, cycles per pixel; y points up."""
    fx, fy = np.meshgrid(np.fft.rfftfreq(size), -np.fft.fftfreq(size))
    return fx.astype(np.float32), fy.astype(np.float32)
