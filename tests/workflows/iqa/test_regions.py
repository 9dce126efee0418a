"""Positions, boxes and located objects: each is measured for itself, and the answer speaks about each."""

from __future__ import annotations

import dataclasses

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
from loopwright.workflows.iqa.question.places import box_of
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
def ask(folder):
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
        ("left half", (0, 0, 300, 300)),
        ("the upper third of the image", (0, 0, 600, 100)),
        ("upper left quarter", (0, 0, 300, 150)),
        ("center", (150, 75, 300, 150)),
        ("region 10,20,100,80", (10, 20, 100, 80)),
        ("sky", None),
        ("left shoe", None),
    ],
)
def test_the_box_of_a_name(name, expected):
    assert box_of(name, 600, 300) == expected


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Which half is noisier? A) top B) bottom C) the same", "B"),
        ("Is the bottom half less noisy than the top half? A) yes B) no", "B"),
        ("Are the top and bottom halves equally noisy? A) yes B) no", "B"),
        ("Is the lower half noisy?", "Yes: severe gaussian noise"),
        ("Is the top half noisy?", "No: no noise found in the top half"),
    ],
)
def test_questions_about_parts(ask, query, answer):
    assert ask("noisy", query)["summarizer_result"].final_answer.startswith(answer)


def test_each_part_has_its_own_answer(ask):
    said = ask("noisy", "Is the top half sharp and the bottom half noisy?")["summarizer_result"].final_answer
    assert said.startswith("The top half: Yes: not blurred as a whole: its sharpest parts are sharp")
    assert " The bottom half: Yes: severe" in said
    scored = ask("noisy", "How good are the top half and the bottom half?", reference="reference")["summarizer_result"]
    assert scored.final_answer.startswith("The top half: Excellent (5.0 of 5). The bottom half: Poor")
    assert scored.quality_score == 5.0
    assert "By part: the top half 5.00 (MDSI)" in scored.quality_reasoning
    better = ask("noisy", "Is the top half better than the bottom half?", reference="reference")["summarizer_result"]
    assert better.final_answer.startswith("Yes: by MDSI, 5.00 of 5 in the top half")


def test_a_region_partly_outside_is_clipped_and_one_outside_is_refused(ask, folder):
    state = ask("noisy", "Is it noisy?", region=(200, 200, 300, 300))
    evidence = state["executor_evidence"]
    assert evidence.regions == {"region 200,200,120,120": (200, 200, 120, 120)}
    assert "leaves the image of 320 x 320 pixels; region 200,200,120,120 of it was measured" in evidence.notes[0]
    plan = {"plan": PlannerOutput(), "query": "?", "image_path": str(folder / "noisy.png")}
    with pytest.raises(InputError, match="outside of the image, which is 320 x 320 pixels"):
        executor_node({**plan, "region": (320, 0, 50, 50)})


def run(folder, name, query, services, **more):
    graph = build_graph(services=services)
    return graph.invoke({"query": query, "image_path": str(folder / f"{name}.png"), "max_replan_iterations": 2, **more})


def test_located_objects_are_measured_each_for_itself(folder):
    boxes = {"objects": [box("suit", 500, 0, 1000, 1000), box("flag", 0, 0, 500, 1000)]}
    services, model = seeing(boxes)
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


def test_what_nothing_can_locate_is_answered_for_the_whole_image_in_one_pass(ask):
    for query in ("Is the car sharp?", "Is the car noisy?"):
        state = ask("noisy", query)
        assert "nothing here can find the car in it" in state["summarizer_result"].final_answer
        assert (state["iteration_count"], list(state["executor_evidence"].distortion_set)) == (0, ["Global"])
