"""Everything that one image shows by itself; exposure, contrast, colour cast and saturation are measured here."""

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.measuring.features import coding, grain, planes
from loopwright.workflows.iqa.measuring.features.edges import (
    Slopes,
    find_edges,
    motion,
    motion_length,
    slopes,
    tile_sharpness,
)
from loopwright.workflows.iqa.measuring.features.model import VISIBLE_NOISE, ImageFeatures, Plane, Rgb


def measure(rgb: Rgb) -> ImageFeatures:
    """Measure an image without a reference.

    Sharpness, tone and colour are measured on the whole image, reduced to 1,536 pixels if it is larger; noise, specks
    and traces of coding on at most 1,536 x 1,536 pixels from the middle at full resolution.

    Raises:
        ImageError: If the array is not uint8 RGB or a side has fewer than 32 pixels.
    """
    planes.checked(rgb)
    whole, close = planes.whole_view(rgb), planes.detail_view(rgb)
    whole_luma = planes.luma(whole)
    close_luma = whole_luma if whole.shape == close.shape else planes.luma(close)

    black, white, median = grain.specks(close)
    speck = black | white
    noise, cells = grain.grain([channel.astype(np.float32) for channel in cv2.split(np.where(speck, median, close))])
    fine = grain.fine_detail(close_luma)
    strays = (
        grain.surroundings(speck, close, median) <= grain.ANNOUNCED
        and grain.evenness(black, white, close_luma) > grain.EVEN
    )
    jpeg_quality, jpeg_evidence = coding.jpeg_trace(close_luma)
    slope = slopes(whole_luma)
    close_slope = slope if close_luma is whole_luma else slopes(close_luma)

    edges = find_edges(whole_luma, slope, noise.sigma)
    half = math.nan if noise.sigma < VISIBLE_NOISE else _strongest_at_half_size(whole_luma, noise.sigma)
    anisotropy, direction = motion(whole_luma, noise.sigma)
    return ImageFeatures(
        width=rgb.shape[1],
        height=rgb.shape[0],
        edge_sigma_half=half,
        motion_anisotropy=anisotropy,
        motion_direction=direction,
        motion_length=motion_length(edges, direction),
        grain=noise,
        grain_of_cells=cells,
        colour_noise=grain.colour_noise(close),
        impulse_fraction=np.count_nonzero(speck) / speck.size if strays else 0.0,
        jpeg_quality=jpeg_quality,
        jpeg_evidence=jpeg_evidence,
        fine_detail_gap=grain.detail_gap(close_luma, fine, close_slope.size),
        level_use=coding.least_level_use(close),
        flat_share=coding.flat_share(close),
        background=coding.background(close),
        pixel_size=coding.pixel_size(close_luma),
        **tile_sharpness(edges, whole_luma.shape[1]),
        **tone(whole, whole_luma, slope),
    )


def _strongest_at_half_size(plane: Plane, noise_sigma: float) -> float:
    """Four pixels' mean has half their noise, while a blur keeps half its width."""
    small = np.asarray(cv2.resize(plane, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.float32)
    return tile_sharpness(find_edges(small, slopes(small), noise_sigma / 2), small.shape[1])["edge_sigma_strong"]


PURE = 8
"""The lowest channel up to which a clipped colour is a pure one, as drawings have, and no light."""
GREY = 6.0
"""Chroma up to which something is grey, CIELAB units."""


def lab(rgb: Rgb) -> NDArray[np.float32]:
    """CIELAB (D65) of an image reduced by area averaging to at most 256 pixels a side, float32, shape (h, w, 3)."""
    scale = 256 / max(rgb.shape[:2])
    if scale < 1:
        rgb = np.asarray(cv2.resize(rgb, (0, 0), fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    return np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)


def tone(rgb: Rgb, plane: Plane, slope: Slopes) -> dict[str, float]:
    """Measure exposure and colour: the fields of `ImageFeatures` about them."""
    counts = planes.level_counts(np.clip(plane + 0.5, 0, 255).astype(np.uint8)).astype(np.float64)
    share = np.cumsum(counts) / counts.sum()
    dark, bright = np.searchsorted(share, (0.01, 0.99))
    red, green, blue = cv2.split(rgb)
    highest, lowest = cv2.max(cv2.max(red, green), blue), cv2.min(cv2.min(red, green), blue)
    image = lab(rgb)
    lightness = np.ascontiguousarray(image[..., 0])
    usable = (lightness > 8) & (lightness < 99)
    cast_a, cast_b = _cast(image, lightness, usable)
    size = planes.magnitude(image[..., 1], image[..., 2])
    spread = image[..., 1:][usable].std(axis=0) if usable.any() else np.zeros(2)
    small, smooth = planes.area_mean(plane, (64, 64)).astype(np.float64).ravel(), surface()
    return dict(
        overexposed_fraction=float(1 - share[249]),
        partly_clipped_fraction=np.count_nonzero((highest >= 254) & (lowest > PURE) & (lowest < 254)) / lowest.size,
        mean_luma=float(plane.mean()),
        dark_point=float(dark),
        bright_point=float(bright),
        tone_variation=float((small - smooth @ (small @ smooth)).std()),
        steepest_slope=planes.quantiles(slope.size, [0.999])[0],
        cast_a=cast_a,
        cast_b=cast_b,
        chroma=float(size.mean()),
        chroma_spread=float(np.linalg.norm(spread)),
        neutral_share=float((size[usable] < GREY).mean()) if usable.any() else 1.0,
    )


@lru_cache(maxsize=1)
def surface() -> NDArray[np.float64]:
    """Orthonormal functions that span the quadratic surfaces over 64 x 64, shape (4096, 6)."""
    v, u = (axis.ravel() for axis in np.mgrid[-1:1:64j, -1:1:64j])
    return np.asarray(np.linalg.qr(np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], axis=1))[0])


def _cast(image: NDArray[np.float32], lightness: Plane, usable: NDArray[np.bool_]) -> tuple[float, float]:
    """The shift that the brightest twentieth (not clipped) and the mean have in common; none if they disagree.

    Red leaves give the mean a shift but not the highlights; a red lamp gives the highlights one but not the mean; light
    of the wrong colour, or a wrong white balance, gives it to both.
    """
    if np.count_nonzero(usable) < 100:
        return 0.0, 0.0
    brightest = usable & (lightness >= planes.quantiles(lightness[usable], [0.95])[0])
    bright, mean = (np.array(cv2.mean(image, mask.view(np.uint8))[1:3]) for mask in (brightest, usable))
    lengths = float(np.linalg.norm(bright)), float(np.linalg.norm(mean))
    if min(lengths) < 1e-6 or float(bright @ mean) < 0.7 * lengths[0] * lengths[1]:
        return 0.0, 0.0
    shared = bright if lengths[0] < lengths[1] else mean
    return float(shared[0]), float(shared[1])
