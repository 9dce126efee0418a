"""Distortion maps on real photographs of which only one half is distorted."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from distort import distort
from scipy.stats import rankdata

from loopwright.errors import ImageError, UnknownNameError
from loopwright.workflows.iqa.measuring.maps import LONG_SIDE, distortion_map

PICTURES = ("astronaut", "chelsea", "coffee")


def halves(rgb, kind, level, *, lower):
    """The photograph with one half distorted, and the mask of that half."""
    rgb = np.ascontiguousarray(rgb[:384, :448])
    mask = np.zeros(rgb.shape[:2], bool)
    # Borders on the 8 x 8 grid, so that it is the coder's blocks that show and not the seam.
    mask[192:] = lower
    mask[:, 224:] |= not lower
    return np.where(mask[..., None], distort(rgb, kind, level, seed=1), rgb), rgb, mask


def area_under_curve(values, mask):
    """How often a pixel of the mask has a larger value than one outside, ties counting half."""
    ranks = rankdata(values[::3, ::3].ravel())
    inside = (
        cv2.resize(mask.astype(np.uint8), values.shape[::-1], interpolation=cv2.INTER_NEAREST)[::3, ::3].ravel() > 0
    )
    some, others = inside.sum(), (~inside).sum()
    return (ranks[inside].sum() - some * (some + 1) / 2) / (some * others)


BLIND = ["gaussian blur", "motion blur", "jpeg2000", "gaussian noise", "jpeg"]
PAIRED = [
    *BLIND, "impulse noise", "banding", "pixelation", "overexposure", "underexposure", "low contrast", "color cast",
    "saturation change", "oversharpening",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "paired"), [*((k, False) for k in BLIND), *((k, True) for k in PAIRED)])
def test_the_map_is_high_where_the_distortion_is(photograph, kind, paired):
    areas, inside, outside = [], [], []
    for lower, name in enumerate(PICTURES):
        made, rgb, mask = halves(photograph(name), kind, 4, lower=bool(lower % 2))
        drawn = distortion_map(made, rgb if paired else None, kind)
        areas.append(area_under_curve(drawn.values, mask))
        inside.append(drawn.values[mask].mean())
        outside.append(drawn.values[~mask].mean())
    assert np.mean(areas) > 0.9
    assert np.mean(inside) > 4 * np.mean(outside)
    if paired:
        assert np.mean(outside) < 0.05


@pytest.mark.parametrize("paired", [False, True])
def test_values_are_bounded_deterministic_and_explained(photograph, paired):
    made, rgb, _ = halves(photograph("coffee"), "gaussian noise", 3, lower=True)
    first, second = (distortion_map(made, rgb if paired else None, "noise") for _ in range(2))
    assert first.values.dtype == np.float32
    assert first.values.shape == made.shape[:2]
    assert 0 <= first.values.min() and first.values.max() <= 1
    assert np.array_equal(first.values, second.values)
    assert (first.title, first.scale) == (second.title, second.scale)
    assert ("in edges and colours" if paired else "1: noise of about") in first.scale


def test_a_pristine_image_has_an_empty_map_beside_itself(photograph):
    rgb = photograph("chelsea")
    for name in (None, "blurs", "contrast"):
        assert distortion_map(rgb, rgb, name).values.max() < 1e-3


@pytest.mark.parametrize("name", [None, "color cast", "saturation change", "mean shift", "contrast"])
def test_what_concerns_the_whole_image_has_no_map_without_a_reference(photograph, name):
    assert distortion_map(photograph("chelsea"), None, name) is None


def test_an_empty_sky_is_not_called_blurred(photograph):
    sky = np.full((300, 400, 3), (90, 140, 200), np.uint8)
    assert distortion_map(sky, None, "blurs").values.max() == 0


@pytest.mark.parametrize("name", ["blurs", "noise", "jpeg", "overexposure"])
def test_large_and_odd_sizes(photograph, name):
    large = np.tile(photograph("coffee"), (4, 4, 1))
    drawn = distortion_map(large, None, name)
    assert max(drawn.values.shape) == LONG_SIDE
    assert drawn.values.shape[0] / drawn.values.shape[1] == pytest.approx(large.shape[0] / large.shape[1], rel=0.01)
    small = photograph("coffee")[3:36, 5:72]
    assert distortion_map(small, small, name).values.shape == distortion_map(small, None, name).values.shape == (33, 67)


def test_what_cannot_be_drawn_is_said(photograph):
    rgb = photograph("coffee")
    with pytest.raises(ImageError, match="at least 32"):
        distortion_map(rgb[:20, :20], None, "noise")
    with pytest.raises(UnknownNameError, match="fogginess"):
        distortion_map(rgb, None, "fogginess")
