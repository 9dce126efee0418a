"""What one measurement leaves open does not silence another, and nothing is said of what could not be measured."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from loopwright.workflows.iqa.answer.verdicts import UNABLE
from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.features import measure, measure_pair

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
    assert said.endswith("it cannot be told whether there is any color distortions.")


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


def test_lost_contrast_is_not_blur(photograph):
    rgb = photograph("gravel")
    grey = (128 + 0.2 * (rgb.astype(float) - 128)).round().astype(np.uint8)
    assert [item.type for item in detect(measure(grey), measure_pair(grey, rgb)).findings] == ["low contrast"]


def test_a_small_crop_may_lie_within_a_wall():
    v, u = np.mgrid[0:1:120j, 0:1:120j]
    soft = np.repeat((120 + 50 * np.sin(4 * u) * np.cos(4 * v)).astype(np.uint8)[..., None], 3, 2)
    features = measure(soft)
    assert (features.edge_tiles, features.tone_variation > 6) == (0, True)
    assert not [item for item in detect(features).findings if item.type == "gaussian blur"]
