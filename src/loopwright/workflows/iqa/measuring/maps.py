"""Where in an image a distortion is: maps from 0, nothing, to 1, strong, for a report to draw over the image."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from loopwright.workflows.iqa.distortions import Distortion, kind_of, parse_distortion
from loopwright.workflows.iqa.measuring import local
from loopwright.workflows.iqa.measuring.features.model import Plane, Rgb
from loopwright.workflows.iqa.measuring.features.planes import area_mean, checked, whole_view

LONG_SIDE = 640
"""The longer side of a map, in pixels, at most; that of the image if it is smaller."""
STRIP_PIXELS = 2_000_000
"""Pixels of an image that are measured at a time where the measure needs every one of them."""
REACH = 4.0
"""How far a cell that can tell speaks for one that cannot, as a standard deviation in cells."""

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DistortionMap:
    """Where a distortion is."""

    values: Values
    """float32, H x W with the proportions of the image and a longer side of at most `LONG_SIDE` pixels: 0 for nothing,
    1 for the strongest of this image's scale."""
    title: str
    """What it shows."""
    scale: str
    """What 0 and 1 mean, with numbers and unit."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How one map is made."""

    title: str
    label: str
    """What is measured, with ``{}`` for the number and its unit."""
    low: float
    """The number that is 0 on the map."""
    least: float
    """The number that is 1 where the image has nothing stronger; below `low` where less is worse."""
    most: float
    """The number that is 1 in any case; between the two, the strongest hundredth of the image is 1."""
    measure: Callable[..., Plane]
    every_pixel: bool = False
    """Whether a reduced image would not show it."""
    told: Callable[[float], float] = float
    """The number as the label tells it."""


def _percent(value: float) -> float:
    return 100 * value


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


_BLUR = _Recipe(
    "Fine detail that is gone", "the finest detail {} times weaker than the edges around it (sharp: about 2 times)",
    1.0, 2.0, 3.0, local.blur, told=math.exp,
)  # fmt: skip
BLIND: dict[str, _Recipe] = {
    "blurs": _BLUR,
    "jpeg2000": _BLUR,
    "noise": _Recipe(
        "Local noise", "noise of about {} of 255 grey levels", 2.0, 8.0, 28.0, local.noise,
        every_pixel=True,
    ),
    "overexposure": _Recipe("Bright areas", "a brightness of {} of 255", 200, 250, 250, local.brightness),
    "underexposure": _Recipe("Dark areas", "a brightness of {} of 255", 60, 5, 5, local.brightness),
}  # fmt: skip
"""Kind or sub-type -> the map that needs no reference, beside that of the 8 x 8 grid. Contrast, a colour cast and a
change of brightness or saturation concern the image as a whole, and what is there by nature looks the same."""

_DIFFERENCE = _Recipe(
    "Local difference in edges and colours", "a difference of {}% in edges and colours (as MDSI sees it)",
    0.01, 0.1, 0.5, local.dissimilarity, told=_percent,
)  # fmt: skip
"""The map beside a reference, whatever the distortion."""


def distortion_map(rgb: Rgb, reference: Rgb | None, distortion: str | None) -> DistortionMap | None:
    """Show where a distortion is.

    Args:
        rgb: The image, uint8, H x W x 3, at least 32 pixels a side.
        reference: The pristine image of the same size, or None.
        distortion: The distortion in question, as a kind, a sub-type or another word for one; None for any difference
            from the reference.

    Returns:
        The map; with a reference, of where the two differ. None where a distortion has none: changes of the whole image
        (contrast, colour cast, saturation, a mean shift), specks, squares, halos and an unnamed distortion.

    Raises:
        ImageError: If an array is not uint8 RGB or is smaller than 32 pixels a side.
        UnknownNameError: If nobody knows the distortion.
    """
    images = [checked(rgb)] if reference is None else [checked(rgb), checked(reference)]
    name = None if distortion is None else parse_distortion(distortion)
    recipe = _recipe(images, name)
    if recipe is None:
        return None
    if recipe.every_pixel:
        raw = _by_strips(recipe.measure, images)
    else:
        raw = recipe.measure(*map(whole_view, images))
    raw = _spread(raw)
    top = _top(raw, recipe)
    values = np.nan_to_num(np.clip((raw - recipe.low) / (top - recipe.low), 0, 1), nan=0.0).astype(np.float32)
    scale = "; ".join(
        f"{mark}: {recipe.label.format(_number(recipe.told(at)))}" for mark, at in enumerate((recipe.low, top))
    )
    return DistortionMap(_resized(values, rgb.shape[:2]), recipe.title, scale)


def _recipe(images: Sequence[Rgb], name: str | None) -> _Recipe | None:
    if len(images) == 2:
        return _DIFFERENCE
    if name is None:
        return None
    if name in ("jpeg", Distortion.COMPRESSION):
        # The grid has one phase for the whole image, which no strip could find alone.
        measure = partial(local.blockiness, phases=local.grid_phases(images[0]))
        return _Recipe("Local blockiness", "steps at the borders of the 8 x 8 blocks {}% larger than beside them",
                       0.05, 0.4, 2.0, measure, every_pixel=True, told=_percent)  # fmt: skip
    return BLIND.get(name) or BLIND.get(kind_of(name).value)


def _by_strips(measure: Callable[..., Plane], images: Sequence[Rgb]) -> Plane:
    """Measure strips of whole rows of cells, one after another, so that memory does not grow with the image."""
    height, width = images[0].shape[:2]
    rows = max(64, STRIP_PIXELS // width // 64 * 64)
    tops = list(range(0, max(1, height - 63), rows))
    ends = [*tops[1:], height]
    parts = [measure(*(image[top:end] for image in images)) for top, end in zip(tops, ends, strict=True)]
    return np.concatenate(parts)


def _spread(raw: Plane) -> Plane:
    """Let cells that can tell speak for neighbours that cannot; NaN is left where no neighbour can either."""
    known = np.isfinite(raw)
    if known.all():
        return raw
    weight = local.smoothed(known.astype(np.float32), REACH)
    around = local.smoothed(np.where(known, raw, 0).astype(np.float32), REACH) / np.maximum(weight, 1e-6)
    return np.where(known, raw, np.where(weight > 0.02, around, np.float32(np.nan)))


def _top(raw: Plane, recipe: _Recipe) -> float:
    """The number that is 1: the strongest hundredth of the image, within the recipe's bounds."""
    known = raw[np.isfinite(raw)]
    rising = recipe.least > recipe.low
    if not known.size:
        return recipe.least
    strongest = float(np.quantile(known, 0.99 if rising else 0.01))
    low, high = sorted((recipe.least, recipe.most))
    return min(max(strongest, low), high)


def _resized(values: Values, shape: tuple[int, ...]) -> Values:
    scale = min(1.0, LONG_SIDE / max(shape))
    size = (max(1, round(shape[1] * scale)), max(1, round(shape[0] * scale)))
    if size[0] < values.shape[1]:
        return area_mean(values, size)
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_LINEAR), np.float32)
