"""What one measurement leaves open does not silence another; what looks alike is told apart: text and specks, motions."""

import math
from itertools import pairwise

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.answer.facts import UNABLE
from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.measuring.severity import assess

CHOICE = "Which? A. sharp B. blurry C. cannot tell"


def walls():
    """Images without an edge that are not blurred: one colour, skies, walls with the grain of a sensor."""
    v, u = np.mgrid[-1:1:300j, -1:1:400j]
    grain = np.random.default_rng(0).normal(0, 1.2, v.shape)
    planes = {
        "one colour": 128 + 0 * v,
        "sky": 150 + 60 * v,
        "wall in uneven light": 170 - 50 * (u**2 + v**2) / 2 + grain,
        "haze": 200 + 20 * v - 10 * v * u + grain,
    }
    return {
        name: np.repeat(plane.clip(0, 255).round().astype(np.uint8)[..., None], 3, 2) for name, plane in planes.items()
    }


@pytest.mark.matrix
@pytest.mark.parametrize("name", walls())
def test_a_wall_is_neither_sharp_nor_blurred(ask, name):
    result = ask(CHOICE, walls()[name])
    assert result.final_answer == "C"
    assert "sharpness cannot be judged" in result.quality_reasoning
    for query in ("Is it blurry?", "Is it sharp?"):
        assert ask(query, walls()[name]).final_answer.startswith(UNABLE)


def test_an_abstention_over_colour_does_not_silence_what_was_measured_of_blur(ask, photograph):
    grey = photograph("camera")
    assert "black-and-white" in str(detect(measure(grey)).abstained)
    assert ask("Is it blurry?", grey).final_answer.startswith("No")
    assert ask("Is it blurry? A. Yes B. No C. Cannot tell", grey).final_answer == "B"
    assert ask(CHOICE, grey).final_answer == "A"
    assert ask("Which? A. desaturated B. not desaturated C. cannot tell", grey).final_answer == "C"
    said = ask("What is wrong with it?", grey).final_answer
    assert said.startswith("No blur")
    assert said.endswith("color distortions cannot be ruled out.")


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["chelsea", "rocket", "coins"])
def test_a_photograph_without_any_edge_left_is_blurred_with_a_modest_confidence(ask, photograph, name):
    blurred = cv2.GaussianBlur(photograph(name), (0, 0), 20)
    features = measure(blurred)
    assert features.edge_tiles == 0
    assert 12 < features.least_blur < 35
    finding = next(item for item in detect(features).findings if item.type == "gaussian blur")
    assert (finding.severity, finding.confidence) == ("extreme", 0.5)
    assert "fog" in finding.explanation
    assert ask("Is it blurry?", blurred).final_answer.startswith("Yes: extreme gaussian blur (50% sure)")
    assert ask("Is it sharp?", blurred).final_answer.startswith("No: extreme gaussian blur (50% sure)")
    assert ask(CHOICE, blurred).final_answer == "B"


def test_a_named_fault_is_not_ruled_out_where_detection_cannot_tell(ask, photograph):
    rgb = photograph("chelsea").astype(np.float32)
    low, high = np.percentile(rgb @ [0.299, 0.587, 0.114], [1, 99])
    pale = (rgb * 115 / (high - low) + 60).astype(np.uint8)
    for query in ("Is it washed out?", "Keep only if it has enough contrast?", "How is the contrast?"):
        assert ask(query, pale).final_answer.startswith(UNABLE), query
    page = np.tile(np.linspace(245, 235, 300, dtype=np.uint8)[:, None, None], (1, 400, 3))
    assert ask("Is it overexposed?", page).final_answer.startswith("No: no overexposure"), "bright by itself"
    assert ask("Is it overexposed?", np.zeros((64, 64, 4), np.uint8)).final_answer.startswith(UNABLE), "laid on white"


def test_a_coder_without_measured_traces_is_not_ruled_out_by_a_small_file(tmp_path, photograph):
    for quality, start in ((3, (UNABLE, "Yes")), (20, UNABLE), (95, "No: no compression")):
        Image.fromarray(photograph("coffee")).save(tmp_path / "cat.webp", quality=quality)
        said = run_pipeline("Is the compression visible?", tmp_path / "cat.webp")["summarizer_result"].final_answer
        assert said.startswith(start)


def test_a_sky_may_be_banded_above_a_town(photograph):
    sky = np.linspace(60, 200, 300)[:, None, None] * np.array([0.6, 0.8, 1.1]) + np.zeros((1, 512, 1))
    for step in (12, 1):
        scene = np.concatenate([(sky // step * step).astype(np.uint8), photograph("astronaut")[:150]])
        assert (step > 1) is any(item.type == "banding" for item in detect(measure(scene)).findings)


def test_a_small_crop_may_lie_within_a_wall():
    v, u = np.mgrid[0:1:120j, 0:1:120j]
    features = measure(np.repeat((120 + 50 * np.sin(4 * u) * np.cos(4 * v)).astype(np.uint8)[..., None], 3, 2))
    assert (features.edge_tiles, features.tone_variation > 6) == (0, True)
    assert not [item for item in detect(features).findings if item.type == "gaussian blur"]


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
    large = cv2.resize(text(size), None, fx=3, fy=3, interpolation=how)
    scan = np.pad(np.where(large > 128, 255, 0).astype(np.uint8), ((0, 600), (0, 960), (0, 0)), constant_values=255)
    assert measure(scan).impulse_fraction == 0, "two tones"
    assert measure(cv2.resize(text(size), None, fx=2, fy=2, interpolation=how)).impulse_fraction == 0


@pytest.mark.matrix(2)
@pytest.mark.parametrize("share", [0.01, 0.05, 0.15])
@pytest.mark.parametrize("name", ["astronaut", "gravel", "coffee"])
def test_impulses_come_without_a_sign(photograph, name, share):
    image = photograph(name).copy()
    chance = np.random.default_rng(5)
    hit = chance.random(image.shape[:2]) < share
    image[hit] = np.where(chance.random(int(hit.sum())) < 0.5, 0, 255)[:, None]
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


@pytest.mark.parametrize("angle", [0, 30, 75, 120])
def test_direction_of_motion_with_and_without_a_reference(photograph, angle):
    rgb = photograph("astronaut")
    image = moved(rgb, 18, angle)
    pair, features = measure_pair(image, rgb), measure(image)
    directions = pair.blur_direction, features.motion_direction
    apart = [min((direction - angle) % 180, (angle - direction) % 180) for direction in directions]
    assert apart[0] < 8 and apart[1] < 15
    assert pair.blur_sigma > 3 * pair.blur_sigma_minor
    assert features.motion_anisotropy > 3 * measure(rgb).motion_anisotropy


def test_a_sharp_photograph_has_no_motion(photograph):
    for name in ("astronaut", "chelsea", "coffee"):
        assert assess("motion blur", measure(photograph(name))).measured["value"] == 0


def test_a_score_that_extreme_noise_contradicts_is_weighed_with_it(ask):
    noise = np.random.default_rng(0).normal(128, 60, (384, 512, 3))
    result = ask("How good is this image?", np.clip(noise, 0, 255).astype(np.uint8))
    assert "That is better than extreme gaussian noise" in result.quality_reasoning
    own = result.used_evidence["tool_scores"]["BlindScore"]
    assert result.quality_score == pytest.approx((own + 1) / 2, abs=1e-3)
