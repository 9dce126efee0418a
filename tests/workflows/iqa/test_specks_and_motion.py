"""Enlarged text is no impulse noise, and a longer motion is no weaker one; a score that strong noise contradicts."""

from __future__ import annotations

import math
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.features import measure
from loopwright.workflows.iqa.measuring.severity import assess


def text(size: int) -> np.ndarray:
    page = Image.new("L", (320, 200), 255)
    letters = np.random.default_rng(3).choice(list("abcdefghijklmnopqrstuvwxyzABCDEFGH     "), (60, 50))
    for row, top in enumerate(range(4, 200, size + 3)):
        ImageDraw.Draw(page).text((4, top), "".join(letters[row]), fill=0, font=ImageFont.load_default(size))
    return np.repeat(np.asarray(page)[..., None], 3, axis=2)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("size", [12, 14, 18])
@pytest.mark.parametrize("how", [cv2.INTER_CUBIC, cv2.INTER_LANCZOS4])
def test_enlarged_text_is_no_impulse_noise(size, how):
    image = cv2.resize(text(size), None, fx=2, fy=2, interpolation=how)
    features = measure(image)
    assert features.impulse_fraction > 0.001
    assert features.impulse_surroundings > 0.8
    assert "impulse noise" not in [finding.type for finding in detect(features).findings]


@pytest.mark.matrix(2)
@pytest.mark.parametrize("share", [0.01, 0.05, 0.15])
@pytest.mark.parametrize("name", ["astronaut", "gravel", "coffee"])
def test_impulses_come_without_a_sign(photograph, name, share):
    image = photograph(name).copy()
    chance = np.random.default_rng(5)
    hit = chance.random(image.shape[:2]) < share
    image[hit] = np.where(chance.random(int(hit.sum())) < 0.5, 0, 255)[:, None]
    assert measure(image).impulse_surroundings < 0.6
    assert detect(measure(image)).findings[0].type == "impulse noise"


def moved(rgb: np.ndarray, length: int, angle: float) -> np.ndarray:
    kernel = np.zeros((2 * length + 1, 2 * length + 1), np.float32)
    for step in np.linspace(-length / 2, length / 2, 20 * length):
        x, y = step * math.cos(math.radians(angle)), -step * math.sin(math.radians(angle))
        kernel[round(length + y), round(length + x)] += 1
    return cv2.filter2D(rgb, -1, kernel / kernel.sum())


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["astronaut", "coffee", "stereo_motorcycle"])
@pytest.mark.parametrize("angle", [0, 45, 90])
def test_a_longer_motion_is_never_a_weaker_one(photograph, name, angle):
    findings = [assess("motion blur", measure(moved(photograph(name), length, angle))) for length in (5, 9, 17, 33)]
    ranks = [finding.severity.rank for finding in findings]
    assert ranks == sorted(ranks)
    assert ranks[-1] > ranks[0] > 0
    values = [finding.measured["value"] for finding in findings]
    # Long motions leave few edges across them: a little less is the same.
    assert all(later > 0.95 * earlier for earlier, later in pairwise(values)), values


def test_a_sharp_photograph_has_no_motion(photograph):
    for name in ("astronaut", "chelsea", "coffee"):
        assert assess("motion blur", measure(photograph(name))).measured["value"] == 0


def test_a_score_that_extreme_noise_contradicts_is_weighed_with_it(ask):
    noise = np.random.default_rng(0).normal(128, 60, (384, 512, 3))
    result = ask("How good is this image?", np.clip(noise, 0, 255).astype(np.uint8))
    assert "That is better than extreme gaussian noise" in result.quality_reasoning
    own = result.used_evidence["tool_scores"]["BlindScore"]
    assert result.quality_score == pytest.approx((own + 1) / 2, abs=1e-3)


def test_a_fault_of_another_part_does_not_contradict_the_score_of_the_first(photograph, ask):
    image = photograph("astronaut").copy()
    width = image.shape[1]
    image[:, width // 2 :] = cv2.GaussianBlur(image[:, width // 2 :], (0, 0), 4)
    reasons = ask("Compare the sharpness of the left half and the right half", image).quality_reasoning
    assert "In the right half: Gaussian blur is" in reasons
    assert "rely on the measurement" not in reasons
