"""How much of an image is soft although its sharpest parts are sharp, and where: an answer to "is it blurry?"."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.measuring import local
from loopwright.workflows.iqa.measuring.features import ImageFeatures
from loopwright.workflows.iqa.measuring.features.model import Rgb
from loopwright.workflows.iqa.measuring.features.planes import whole_view
from loopwright.workflows.iqa.measuring.severity import assess
from loopwright.workflows.iqa.measuring.whereabouts import mask_words
from loopwright.workflows.iqa.schemas import DistortionFinding

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
    lost = local.blur(whole_view(rgb))
    known = np.isfinite(lost)
    if known.mean() < KNOWN:
        return None
    # Single cells are chance: the majority of a neighbourhood decides.
    soft = (np.where(known, lost, 0) > SOFT).astype(np.float32)
    weight = local.smoothed(known.astype(np.float32), 1.5)
    mask = known & (local.smoothed(soft, 1.5) > 0.5 * weight)
    share = float(mask.sum() / known.sum())
    if share < NOTABLE:
        return None
    filled = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)).astype(bool)
    return Softness(share, mask_words(filled), features.edge_sigma)


def softened(features: ImageFeatures, part: Softness) -> DistortionFinding | None:
    """The slight blur that softness nearly everywhere is.

    Returns:
        The finding; None where some of the image is sharp.
    """
    if part.share < EVERYWHERE or not features.edge_sigma_strong > WIDENED:
        return None
    why = f"{part.share:.0%} of what can be judged has lost its finest detail"
    finding = assess("gaussian blur", features, confidence=0.7, why=why)
    return finding.model_copy(update={"severity": max(finding.severity, Severity.SLIGHT)})
