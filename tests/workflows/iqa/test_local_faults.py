"""Distortions of a part of an image: found beside the reference, and told apart from bokeh without one."""

from collections.abc import Callable
from functools import partial

import cv2
import numpy as np
import pytest
from batch_images import recoded
from distort import LEVELS, distort

from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.detection_parts import EDITED, changed_parts, detect_in_parts, place_of
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.measuring.softness import soft_part
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.workflow import sample_path

NAMES = [("astronaut",), ("coffee",), pytest.param(("chelsea", "stereo_motorcycle"), marks=pytest.mark.slow)]


def blurred(rgb: np.ndarray) -> np.ndarray:
    return cv2.GaussianBlur(rgb, (0, 0), 3)


def noisy(rgb: np.ndarray, sigma: float = 18) -> np.ndarray:
    return np.clip(rgb + np.random.default_rng(7).normal(0, sigma, rgb.shape), 0, 255).round().astype(np.uint8)


def darker(rgb: np.ndarray) -> np.ndarray:
    return (rgb * 0.5).astype(np.uint8)


MADE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gaussian blur": blurred, "motion blur": partial(cv2.blur, ksize=(15, 1)), "gaussian noise": noisy,
    "jpeg": partial(recoded, quality=15), "underexposure": darker,
}  # fmt: skip
KINDS = [kind if kind != "motion blur" else pytest.param(kind, marks=pytest.mark.slow) for kind in MADE]
PLACES = {
    "in the left half": (0, 0, 0.5, 1), "in the right half": (0.5, 0, 0.5, 1), "in the top half": (0, 0, 1, 0.5),
    "in the bottom half": (0, 0.5, 1, 0.5), "in the bottom right quarter": (0.5, 0.5, 0.5, 0.5),
    "near the centre": (0.37, 0.41, 0.32, 0.32),
}  # fmt: skip
"""The last is a box of a tenth of the area."""


def partly(rgb: np.ndarray, made: np.ndarray, place: tuple[float, float, float, float]) -> np.ndarray:
    """The made pixels in the place, the given ones elsewhere."""
    height, width = rgb.shape[:2]
    left, top = round(place[0] * width), round(place[1] * height)
    inside = (slice(top, top + round(place[3] * height)), slice(left, left + round(place[2] * width)))
    image = rgb.copy()
    image[inside] = made[inside]
    return image


@pytest.mark.matrix
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", NAMES)
def test_a_local_distortion_is_found_beside_the_reference_with_its_place(photograph, names, kind, record_property):
    wrong: list[object] = []
    for name in names:
        rgb = photograph(name)
        features = measure(rgb)
        for words, place in PLACES.items():
            image = partly(rgb, MADE[kind](rgb), place)
            main = next(iter(detect_in_parts(image, rgb, features, measure_pair(image, rgb)).findings), None)
            found = None if main is None else place_of(main)
            right = main is not None and main.type == kind and found is not None and found[0] == words
            if not right or abs(found[1] - place[2] * place[3]) > 0.06:
                wrong.append((name, words, main and main.type, found))
    record_property("wrong", wrong)
    # One photograph has a smooth half where a fault leaves nothing that could be told.
    assert len(wrong) <= 1, wrong


def test_two_parts_with_two_distortions_are_both_found(photograph):
    rgb = photograph("coffee")
    image = partly(partly(rgb, noisy(rgb), (0, 0, 0.3, 0.3)), blurred(rgb), (0.65, 0.6, 0.35, 0.4))
    found = detect_in_parts(image, rgb, measure(image), measure_pair(image, rgb)).findings
    assert {item.type: place_of(item)[0] for item in found} == {
        "gaussian noise": "in the top left corner",
        "gaussian blur": "in the bottom right corner",
    }
    cloned = partly(rgb, np.roll(rgb, 150, 1), PLACES["near the centre"])
    assert detect_in_parts(cloned, rgb, measure(cloned), measure_pair(cloned, rgb)).otherwise == EDITED
    assert measure_pair(noisy(rgb[60:188, 100:228] // 11, 120), rgb[60:188, 100:228] // 11).kept_shapes == 1


@pytest.mark.matrix
@pytest.mark.parametrize("quality", [97, 92])
def test_a_part_is_found_though_the_image_was_saved_once_more(photograph, quality):
    rgb = photograph("astronaut")
    image = recoded(partly(rgb, blurred(rgb), PLACES["in the right half"]), quality)
    found = detect_in_parts(image, rgb, measure(image), measure_pair(image, rgb)).findings
    assert found[0].type == "gaussian blur"
    assert place_of(found[0])[0] == "in the right half"


@pytest.mark.slow
def test_a_change_far_from_the_middle_of_a_large_image_is_found(photograph):
    # Of images beyond 1,536 pixels a side, the comparison as a whole looks at the middle alone.
    rgb = np.tile(photograph("coffee"), (5, 5, 1))
    image = rgb.copy()
    image[:260, :330] = noisy(rgb[:260, :330])
    features, pair = measure(image), measure_pair(image, rgb)
    assert detect(features, pair).findings == []
    found = detect_in_parts(image, rgb, features, pair)
    assert found.findings[0].type == "gaussian noise"
    assert place_of(found.findings[0])[0] == "near the top left corner"


@pytest.mark.matrix(2)
@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize(
    "name", ("astronaut", "coffee", *(pytest.param(name, marks=pytest.mark.slow) for name in ("camera", "rocket")))
)
def test_a_distortion_of_the_whole_image_has_no_part(photograph, kind, name):
    rgb = photograph(name)
    for level in (1, 3, 5):
        assert not changed_parts(distort(rgb, kind, level, seed=2), rgb), level


def test_the_answer_names_the_place_and_the_share_beside_a_reference(photograph, ask):
    rgb = photograph("coffee")
    half = partly(rgb, blurred(rgb), PLACES["in the left half"])
    assert ask("Is it blurry?", half, rgb).final_answer == (
        "Yes: severe gaussian blur (in the left half, 50% of the area)."
    )
    assert ask("What is wrong with it?", half, rgb).final_answer.startswith(
        "Found in the whole image, strongest first: severe gaussian blur (measured "
    )
    assert ask("Where is it blurry?", half, rgb).final_answer.endswith("pixels, in the left half, 50% of the area).")
    said = ask("Are the left and the right half blurrier than in the original?", half, rgb).final_answer
    assert said.startswith("The left half: Yes: ") and " The right half: No: " in said
    pair = [partly(each, rgb // 16, PLACES["in the left half"]) for each in (darker(rgb), rgb)]
    assert ask("Is the right half darker than the left half?", *pair).final_answer.startswith("No: the mean")
    assert "the shift of the mean" in ask("Which half is darker than in the source?", *pair).final_answer
    assert ask("Is it blurry?", rgb, rgb).final_answer == "No: no blur found in the whole image."
    lost = partly(rgb, np.full_like(rgb, 128), PLACES["in the left half"])
    for other, start in (((), "Unable to determine: 300"), ((rgb,), "Yes: 300")):
        assert ask("Is a part of it missing?", lost, *other).final_answer.startswith(start)


@pytest.mark.matrix
@pytest.mark.parametrize("place", list(PLACES)[:5])
def test_a_soft_half_without_a_reference_is_told_with_its_place(photograph, ask, place):
    rgb = photograph("gravel")
    image = partly(rgb, blurred(rgb), PLACES[place])
    said = ask("Is it blurry?", image).final_answer
    share = round(100 * PLACES[place][2] * PLACES[place][3])
    assert said.startswith("No: not blurred as a whole: its sharpest parts are sharp (edges blurred by ")
    assert f"mostly {place}" in said
    assert any(f"about {near}% of what can be judged is soft" in said for near in range(share - 4, share + 5)), said
    assert place in ask("What is wrong with it?", image).final_answer
    assert ask("Is it sharp?", image).final_answer.startswith("Yes: not blurred as a whole")


def test_a_sharp_image_and_a_blurred_one_have_no_soft_part(photograph):
    rgb = photograph("gravel")
    assert soft_part(rgb, measure(rgb)) is None
    soft = blurred(photograph("coffee"))
    assert soft_part(soft, measure(soft)) is None


def test_bokeh_is_described_and_is_no_fault(photograph, ask):
    rgb = photograph("gravel")
    said = ask("Is it blurry?", partly(cv2.GaussianBlur(rgb, (0, 0), 5), rgb, (0.25, 0.25, 0.5, 0.5))).final_answer
    assert said.startswith("Partly: its sharpest parts are sharp")
    assert "everywhere but in the centre" in said


HARBOUR = load_image(sample_path("harbour")).rgb


@pytest.mark.parametrize(("rows", "place"), [(slice(0, 95), "top"), (slice(-95, None), "bottom")])
def test_noise_of_one_part_is_found_and_placed_without_a_reference(ask, rows, place):
    image = HARBOUR.copy()
    image[rows] = noisy(image[rows], 20)
    said = ask("What is wrong with it?", image).final_answer
    assert "gaussian noise" in said and place in said


def test_white_dots_alone_are_specks_and_a_clean_photograph_has_no_noise(ask):
    image = HARBOUR.copy()
    image[np.random.default_rng(7).random(image.shape[:2]) < 0.02] = 255
    assert "impulse noise" in ask("What is wrong with it?", image).final_answer
    framed = ask("What is wrong with it?", np.pad(HARBOUR, ((30, 30), (0, 0), (0, 0)))).final_answer
    assert "noise" not in framed and "hold one colour" not in framed
