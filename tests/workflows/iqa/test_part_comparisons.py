"""Comparisons of parts of one image: every phrasing measures all the parts that it names, and the answer holds them."""

from __future__ import annotations

from itertools import product

import cv2
import numpy as np
import pytest
from PIL import Image

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.question.places import fractions_of
from loopwright.workflows.iqa.question.reading import read_query

PAIRS = [
    ("left half", "right half"),
    ("right half", "left half"),
    ("top half", "bottom half"),
    ("upper half", "lower half"),
    ("left third", "right third"),
    ("top left corner", "bottom right corner"),
    ("upper right corner", "lower left corner"),
    ("top left quarter", "bottom right quarter"),
    ("upper left quadrant", "lower right quadrant"),
    ("left side", "right side"),
    ("left edge", "right edge"),
    ("top third", "middle third"),
    ("centre", "left edge"),
]
FORMS = [
    "Compare the sharpness of the {0} and the {1}",
    "Compare the sharpness of the {0} with that of the {1}.",
    "Compare the noise in the {0} with the noise in the {1}",
    "Compare the {0} with the {1}",
    "compare the {0} to the {1}",
    "{0} vs. {1}",
    "The {0} versus the {1}: which is sharper?",
    "Which is noisier, the {0} or the {1}?",
    "Is the {0} sharper than the {1}?",
    "Is the {0} as sharp as the {1}?",
    "Is there more noise in the {0} than in the {1}?",
    "What is the difference in sharpness between the {0} and the {1}?",
    "How does the contrast of the {0} compare to the {1}?",
    "Compare the sharpness of the {0} of the image with the {1} of the image",
]


@pytest.mark.matrix(20)
@pytest.mark.parametrize(("form", "pair"), list(product(FORMS, PAIRS)))
def test_both_parts_of_a_comparison_are_measured(form, pair):
    assert list(map(fractions_of, read_query(form.format(*pair)).scope)) == list(map(fractions_of, pair))


CORNERS = ["top left corner", "top right corner", "bottom left corner", "bottom right corner"]


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Compare the sharpness of the left half and the right half", "The left half"),
        ("Left half vs. right half: which is sharper?", "The left half"),
        ("Which is blurrier, left or right?", "The right half"),
        ("Is the left half sharper than the right half?", "Yes"),
        ("Is the right half sharper than the left half?", "No"),
        ("Is the right half as sharp as the left half?", "No"),
        ("Is there a difference in sharpness between the left and the right half?", "Yes"),
        ("Is there a difference in sharpness between the top and the bottom half?", "No"),
        ("Compare the sharpness of the top half and the bottom half", "About the same"),
        ("Which quadrant is sharpest?", "The top left quarter and the bottom left quarter are about the same"),
    ],
)
def test_the_answer_compares_the_numbers_of_all_parts(photograph, tmp_path, query, first):
    # The same upside down, so that top and bottom are alike; the right half is blurred.
    rgb = np.concatenate([photograph("coffee")[:200], photograph("coffee")[:200][::-1]])
    rgb[:, 300:] = cv2.GaussianBlur(rgb[:, 300:], (0, 0), 3)
    path = tmp_path / "image.png"
    Image.fromarray(rgb).save(path)
    state = run_pipeline(query, path)
    said = state["summarizer_result"].final_answer
    assert said.split(":")[0].split(", ahead")[0] == first, said
    scopes = read_query(query).scope
    assert set(state["executor_evidence"].regions) == set(scopes)
    assert all(f"in the {scope}" in said for scope in scopes), said


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("Is the centre sharper than the corners?", "Yes"),
        ("Are the corners softer than the centre?", "Yes"),
        ("Are the corners sharper than the centre?", "No"),
        ("Are the corners as sharp as the centre?", "No"),
    ],
)
def test_all_corners_are_held_against_the_centre(photograph, ask, query, word):
    rgb = photograph("gravel")
    image = cv2.GaussianBlur(rgb, (0, 0), 3)
    image[100:412, 100:412] = rgb[100:412, 100:412]
    for corner in CORNERS:
        left, top, width, height = (round(share * 512) for share in fractions_of(corner))
        inside = (slice(top, top + height), slice(left, left + width))
        image[inside] = cv2.GaussianBlur(rgb, (0, 0), 3)[inside]
    said = ask(query, image).final_answer
    assert said.split(":")[0] == word, said


def test_some_soft_corners_are_a_partly(photograph, ask):
    image = photograph("gravel").copy()
    image[:200, :200] = cv2.GaussianBlur(image[:200, :200], (0, 0), 3)
    said = ask("Are the corners softer than the centre?", image).final_answer
    assert said.startswith("Partly: ")
