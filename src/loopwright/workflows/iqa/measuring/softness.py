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
from loopwright.workflows.iqa.measuring.severity import assess
from loopwright.workflows.iqa.measuring.whereabouts import mask_words
from loopwright.workflows.iqa.schemas import DistortionFinding

CELL = 8
"""Side of a cell whose sharpness is judged, pixels of the plane that is measured."""
TEXTURE = 0.6
"""Gradient from which a neighbourhood tells how sharp it is, grey levels per pixel."""
SOFT = 1.2
"""Loss of fine detail from which a place is soft, nepers: sharp photographs have a median of 0 to 1.1, and after a
Gaussian blur of 1 to 8 pixels nine tenths of their places have more than 1.2."""
SHARP = 0.9
"""Blur of the sharpest tiles up to which something is sharp, pixels."""
NOTABLE = 0.08
"""Share of the places that can tell from which softness is worth a word."""
KNOWN = 0.15
"""Share of the image that must be able to tell."""
EVERYWHERE = 0.9
"""Share from which softness is a slight blur of the whole, if the strongest edges are widened too: of 234 photographs
13 are so, with a mean opinion of .53 where all have .66, and one of the best quarter."""
WIDENED = 0.75
"""Blur of the strongest edges for that, pixels; references have .47 to .74, blurred by .9 pixels .90 to 1.14."""


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
    if not features.edge_sigma < SHARP:
        return None
    lost = lost_detail(whole_view(rgb))
    known = np.isfinite(lost)
    if known.mean() < KNOWN:
        return None
    # Single cells are chance: the majority of a neighbourhood decides.
    soft = (np.where(known, lost, 0) > SOFT).astype(np.float32)
    weight = smoothed(known.astype(np.float32), 1.5)
    mask = known & (smoothed(soft, 1.5) > 0.5 * weight)
    share = float(mask.sum() / known.sum())
    if share < NOTABLE:
        return None
    filled = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)).astype(bool)
    return Softness(share, mask_words(filled), features.edge_sigma)


def lost_detail(rgb: Rgb) -> Plane:
    """How far each cell's fine detail lies below the slopes that a blur leaves, nepers: about 0.6 where it is sharp.

    Fine detail goes with blur, a coder's loss of detail and motion in any direction, long before the edges widen. NaN
    where there are no slopes, so that an empty sky is not called blurred.
    """
    plane = luma(rgb)
    size = plane.shape[1] // CELL, plane.shape[0] // CELL
    detail = smoothed(area_mean(np.abs(fine_detail(plane)), size), 2.0)
    slope = smoothed(area_mean(magnitude(*gradient(plane, COARSE)), size), 2.0)
    # A tenth of a grey level is what rounding to 8 bits leaves even of nothing.
    lost = np.log((slope + 0.1) / (detail + 0.1))
    return np.where(slope < TEXTURE, np.float32(np.nan), lost).astype(np.float32)


def softened(features: ImageFeatures, part: Softness) -> DistortionFinding | None:
    """The slight blur that softness nearly everywhere is; None where some of the image is sharp."""
    if part.share < EVERYWHERE or not features.edge_sigma_strong > WIDENED:
        return None
    why = f"{part.share:.0%} of what can be judged has lost its finest detail"
    finding = assess("gaussian blur", features, confidence=0.7, why=why)
    return finding.model_copy(update={"severity": max(finding.severity, Severity.SLIGHT)})
