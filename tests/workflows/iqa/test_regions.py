"""Positions, boxes, located objects and comparisons of parts: each is measured for itself, and the answer speaks about each."""

import dataclasses
from itertools import product

import cv2
import numpy as np
import pytest
from distort import distort
from PIL import Image
from skimage import data

from loopwright.errors import InputError
from loopwright.models import ModelRegistry
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.nodes.executor import executor_node
from loopwright.workflows.iqa.question.places import box_of, fractions_of, named_places
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import PlannerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.workflow import run_pipeline

SIDE = 320
LEFT, RIGHT = (0, 0, 160, 320), (160, 0, 160, 320)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A photograph, and copies of it whose right or lower half is distorted."""
    place = tmp_path_factory.mktemp("parts")
    photograph = np.ascontiguousarray(data.astronaut()[:SIDE, :SIDE])
    Image.fromarray(photograph).save(place / "reference.png")
    blurred, noisy = photograph.copy(), photograph.copy()
    blurred[:, 160:] = distort(photograph, "gaussian blur", 4)[:, 160:]
    noisy[160:] = distort(photograph, "gaussian noise", 4)[160:]
    Image.fromarray(blurred).save(place / "blurred.png")
    Image.fromarray(noisy).save(place / "noisy.png")
    return place


@pytest.fixture
def tell(folder):
    def go(name, query, *, reference=None, **options):
        pristine = str(folder / f"{reference}.png") if reference else None
        return run_pipeline(query, str(folder / f"{name}.png"), pristine, **options)

    return go


def seeing(*script):
    """Services whose executor has a chat model with vision that replies from a script."""
    model = ScriptedChatModel(*script)
    registry = ModelRegistry({"executor": model}, nodes=("planner", "executor", "summarizer"))
    return dataclasses.replace(Services(IQAConfig()), models=registry), model


def box(name, left, top, right, bottom):
    return {"name": name, "left": left, "top": top, "right": right, "bottom": bottom}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("left half", (0, 0, 300, 300)), ("the upper third of the image", (0, 0, 600, 100)),
        ("upper left quarter", (0, 0, 300, 150)), ("center", (150, 75, 300, 150)),
        ("region 10,20,100,80", (10, 20, 100, 80)), ("sky", None), ("left shoe", None),
    ],
)  # fmt: skip
def test_the_box_of_a_name(name, expected):
    assert box_of(name, 600, 300) == expected


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Which half is noisier? A) top B) bottom C) the same", "B"), ("Is the lower half noisy?", "Yes: severe gaussian noise"),
        ("Is the bottom half less noisy than the top half? A) yes B) no", "B"), ("Is the top half noisy?", "No: no noise found in the top half"),
        ("Are the top and bottom halves equally noisy? A) yes B) no", "B"),
    ],
)  # fmt: skip
def test_questions_about_parts(tell, query, answer):
    assert tell("noisy", query)["summarizer_result"].final_answer.startswith(answer)


def test_each_part_has_its_own_answer(tell):
    said = tell("noisy", "Is the top half sharp and the bottom half noisy?")["summarizer_result"].final_answer
    assert said.startswith("The top half: Yes: not blurred as a whole: its sharpest parts are sharp")
    assert " The bottom half: Yes: severe" in said
    scored = tell("noisy", "How good are the top half and the bottom half?", reference="reference")["summarizer_result"]
    assert scored.final_answer.startswith("The top half: Excellent (5.0 of 5). The bottom half: Poor")
    assert scored.quality_score == 5.0
    assert "By part: the top half 5.00 (MDSI)" in scored.quality_reasoning
    better = tell("noisy", "Is the top half better than the bottom half?", reference="reference")["summarizer_result"]
    assert better.final_answer.startswith("Yes: by MDSI, 5.00 of 5 in the top half")


def test_a_region_partly_outside_is_clipped_and_one_outside_is_refused(tell, folder):
    evidence = tell("noisy", "Is it noisy?", region=(200, 200, 300, 300))["executor_evidence"]
    assert evidence.regions == {"region 200,200,120,120": (200, 200, 120, 120)}
    assert "leaves the image of 320 x 320 pixels; region 200,200,120,120 of it was measured" in evidence.notes[0]
    plan = {"plan": PlannerOutput(), "query": "?", "image_path": str(folder / "noisy.png")}
    with pytest.raises(InputError, match="in the image, which is 320 x 320 pixels"):
        executor_node({**plan, "region": (320, 0, 50, 50)})


def run(folder, name, query, services, **more):
    graph = build_graph(services=services)
    return graph.invoke({"query": query, "image_path": str(folder / f"{name}.png"), "max_replan_iterations": 2, **more})


def test_located_objects_are_measured_each_for_itself(folder):
    services, model = seeing({"objects": [box("suit", 500, 0, 1000, 1000), box("flag", 0, 0, 500, 1000)]})
    state = run(folder, "blurred", "Is the flag sharper than the suit?", services)
    evidence = state["executor_evidence"]
    assert evidence.regions == {"flag": LEFT, "suit": RIGHT}
    assert "suit: located by the chat model at 160,0,160,320 (left, top, width, height)" in evidence.notes
    assert state["summarizer_result"].final_answer.startswith("Yes: the blur of the strongest edges")
    assert state["iteration_count"] == 0
    assert not state["summarizer_result"].need_replan
    assert '"flag"' in str(model.calls[0].messages)


def test_an_object_that_the_model_does_not_see_leaves_the_others_located(folder):
    services, _ = seeing({"objects": [box("suit", 500, 0, 1000, 1000)]})
    state = run(folder, "blurred", "What is wrong with the suit and the dragon?", services)
    evidence = state["executor_evidence"]
    assert evidence.regions == {"suit": RIGHT}
    assert list(evidence.distortion_set) == ["suit", "Global"]
    assert "dragon: could not be located, so the whole image was measured" in evidence.notes
    assert state["iteration_count"] == 0


@pytest.mark.parametrize("reply", ["I see no boxes.", RuntimeError("the provider is down")])
def test_a_model_that_fails_costs_the_place_and_nothing_else(folder, reply):
    services, _ = seeing(*[reply] * 12)
    state = run(folder, "noisy", "What is wrong with the suit?", services)
    evidence = state["executor_evidence"]
    assert evidence.error is None
    assert list(evidence.distortion_set) == ["Global"]
    assert "could not be located" in state["summarizer_result"].quality_reasoning


def test_a_box_that_is_too_small_for_detection_is_scored_and_says_so(folder):
    services, _ = seeing({"objects": [box("button", 500, 500, 560, 560)]})
    pristine = str(folder / "reference.png")
    evidence = run(folder, "noisy", "How good is the button?", services, reference_path=pristine)["executor_evidence"]
    assert list(evidence.regions) == ["button"]
    assert evidence.quality_scores
    assert any("distortions needs at least 32 x 32 pixels" in note for note in evidence.notes)


def test_what_nothing_can_locate_is_answered_for_the_whole_image_in_one_pass(tell):
    for query in ("Is the car sharp?", "Is the car noisy?"):
        state = tell("noisy", query)
        assert "nothing here can find the car in it" in state["summarizer_result"].final_answer
        assert (state["iteration_count"], list(state["executor_evidence"].distortion_set)) == (0, ["Global"])


PAIRS = [
    ("left half", "right half"), ("top half", "bottom half"), ("upper half", "lower half"),
    ("left third", "right third"), ("top left corner", "bottom right corner"),
    ("top left quarter", "bottom right quarter"), ("left side", "right side"), ("top third", "middle third"),
    ("centre", "left edge"),
]  # fmt: skip
FORMS = [
    "Compare the sharpness of the {0} and the {1}", "Compare the {0} with the {1}", "{0} vs. {1}",
    "The {0} versus the {1}: which is sharper?", "Which is noisier, the {0} or the {1}?",
    "Is the {0} sharper than the {1}?", "Is the {0} as sharp as the {1}?",
    "Is there more noise in the {0} than in the {1}?",
    "What is the difference in sharpness between the {0} and the {1}?",
    "How does the contrast of the {0} compare to the {1}?",
    "Compare the sharpness of the {0} of the image with the {1} of the image",
]  # fmt: skip


@pytest.mark.matrix(20)
@pytest.mark.parametrize(("form", "pair"), list(product(FORMS, PAIRS)))
def test_both_parts_of_a_comparison_are_measured(form, pair):
    assert list(map(fractions_of, read_query(form.format(*pair)).plan.query_scope)) == list(map(fractions_of, pair))


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Compare the sharpness of the left half and the right half", "The left half"),
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
    scopes = read_query(query).plan.query_scope
    assert set(state["executor_evidence"].regions) == set(scopes)
    assert all(f"in the {scope}" in said for scope in scopes), said


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("Is the centre sharper than the corners?", "Yes"), ("Are the corners sharper than the centre?", "No"),
        ("Are the corners as sharp as the centre?", "No"),
    ],
)  # fmt: skip
def test_all_corners_are_held_against_the_centre(photograph, ask, query, word):
    rgb = photograph("gravel")
    image = cv2.GaussianBlur(rgb, (0, 0), 3)
    image[171:341, 171:341] = rgb[171:341, 171:341]
    said = ask(query, image).final_answer
    assert said.split(":")[0] == word, said


def test_some_soft_corners_are_a_partly(photograph, ask):
    image = photograph("gravel").copy()
    image[:200, :200] = cv2.GaussianBlur(image[:200, :200], (0, 0), 3) // 2
    assert ask("Is the left half more colorful than the right?", photograph("coffee")).final_answer.startswith("Unable")
    assert ask("Are the corners softer than the centre?", image).final_answer.startswith("Partly: ")
    assert ask("Are the corners darker than the centre?", image).final_answer.startswith("Partly: the mean brightness")


@pytest.mark.parametrize("place", ["center left third", "left center third"])
def test_the_name_of_a_place_keeps_the_order_of_its_words(place: str) -> None:
    assert named_places(f"is the {place} sharp?") == [place]
