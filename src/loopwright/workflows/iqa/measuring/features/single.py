"""Everything that one image shows by itself."""

import math

import cv2
import numpy as np

from loopwright.workflows.iqa.measuring.features import coding, grain
from loopwright.workflows.iqa.measuring.features.edges import find_edges, motion, motion_length, slopes, tile_sharpness
from loopwright.workflows.iqa.measuring.features.model import VISIBLE_NOISE, ImageFeatures, Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import checked, detail_view, luma, whole_view
from loopwright.workflows.iqa.measuring.features.tone import tone


def measure(rgb: Rgb) -> ImageFeatures:
    """Measure an image without a reference.

    Sharpness, tone and colour are measured on the whole image, reduced to 1,536 pixels if it is larger; noise, specks
    and traces of coding on at most 1,536 x 1,536 pixels from the middle at full resolution.

    Raises:
        ImageError: If the array is not uint8 RGB or a side has fewer than 32 pixels.
    """
    checked(rgb)
    whole, close = whole_view(rgb), detail_view(rgb)
    whole_luma = luma(whole)
    close_luma = whole_luma if whole.shape == close.shape else luma(close)

    black, white, median = grain.specks(close)
    speck = black | white
    noise, cells = grain.noise([channel.astype(np.float32) for channel in cv2.split(np.where(speck, median, close))])
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
        noise_sigma=noise.sigma,
        noise_whiteness=noise.whiteness,
        noise_likeness=noise.likeness,
        noise_cells=cells,
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
