"""How much of an image is soft although its sharpest parts are sharp, and where: an answer to "is it blurry?"."""

from typing import NamedTuple

import cv2
import numpy as np

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring.features import ImageFeatures
from loopwright.workflows.iqa.measuring.features.edges import COARSE, gradient
from loopwright.workflows.iqa.measuring.features.grain import fine_detail
from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, luma, magnitude, smoothed, whole_view
from loopwright.workflows.iqa.measuring.severity import Limits, assess
from loopwright.workflows.iqa.measuring.whereabouts import mask_words
from loopwright.workflows.iqa.schemas import DistortionFinding

LIMITS = Limits("soft")
"""From and up to which numbers something is soft."""


class Softness(NamedTuple):
    """The soft part of an image whose sharpest parts are sharp."""

    share: float
    """Of the area that has anything to judge sharpness by, 0..1."""
    place: str
    """Where most of it is, in words such as "in the left half"."""
    sharpest: float
    """Blur of the sharpest tiles, pixels."""


def soft_part(rgb: Rgb, features: ImageFeatures) -> Softness | None:
    """Find the soft part of an image that is not blurred as a whole.

    Returns:
        Its share and place; None where nothing is sharp, nearly everything is, or too little can be judged.
    """
    if not features.edge_sigma < LIMITS.sharp:
        return None
    lost = lost_detail(whole_view(rgb))
    known = np.isfinite(lost)
    if known.mean() < LIMITS.known:
        return None
    # Single cells are chance: the majority of a neighbourhood decides.
    soft = (np.where(known, lost, 0) > LIMITS.soft).astype(np.float32)
    weight = smoothed(known.astype(np.float32), 1.5)
    mask = known & (smoothed(soft, 1.5) > 0.5 * weight)
    share = float(mask.sum() / known.sum())
    if share < LIMITS.notable:
        return None
    filled = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)).astype(bool)
    return Softness(share, mask_words(filled), features.edge_sigma)


def lost_detail(rgb: Rgb) -> Plane:
    """How far each cell's fine detail lies below the slopes that a blur leaves, nepers: about 0.6 where it is sharp.

    Fine detail goes with blur, a coder's loss of detail and motion in any direction, long before the edges widen. NaN
    where there are no slopes, so that an empty sky is not called blurred.
    """
    plane = luma(rgb)
    cell = int(LIMITS.cell)
    size = plane.shape[1] // cell, plane.shape[0] // cell
    detail = smoothed(area_mean(np.abs(fine_detail(plane)), size), 2.0)
    slope = smoothed(area_mean(magnitude(*gradient(plane, COARSE)), size), 2.0)
    # A tenth of a grey level is what rounding to 8 bits leaves even of nothing.
    lost = np.log((slope + 0.1) / (detail + 0.1))
    return np.where(slope < LIMITS.texture, np.float32(np.nan), lost).astype(np.float32)


def softened(features: ImageFeatures, part: Softness) -> DistortionFinding | None:
    """The slight blur that softness nearly everywhere is; None where some of the image is sharp."""
    if part.share < LIMITS.everywhere or not features.edge_sigma_strong > LIMITS.widened:
        return None
    why = f"{part.share:.0%} of what can be judged has lost its finest detail"
    finding = assess("gaussian blur", features, confidence=0.7, why=why)
    return finding.model_copy(update={"severity": max(finding.severity, Severity.SLIGHT)})
