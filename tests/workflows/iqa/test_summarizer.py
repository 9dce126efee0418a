"""The summarizer, by rules and with a scripted chat model, from evidence written by hand; one score out of several."""

import pytest
from findings import evidence
from hypothesis import given
from hypothesis import strategies as st

from loopwright.models import ModelRegistry
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.iqa.answer.facts import level_name, quality_score, weigh_opinion
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput
from loopwright.workflows.iqa.services import Services

FULL = "Full-Reference"
OPTIONS = "What is the main distortion? A. Noise B. Blur C. JPEG compression D. Cannot tell"


def state(query=OPTIONS, mode="mcq", **fields):
    plan = PlannerOutput(answer_mode=mode, reference_mode=FULL)
    found = evidence(("gaussian blur", "severe"), score=2.0)
    return {"query": query, "image_path": "x.png", "plan": plan, "executor_evidence": found, **fields}


def with_model(*script):
    model = ScriptedChatModel(*script)
    return model, Services(IQAConfig(), ModelRegistry({"summarizer": model}))


def reply(answer, **fields):
    return {"final_answer": answer, "quality_reasoning": "Severe blur, 2.6 pixels.", **fields}


OPINION = {"bad": 0.1, "poor": 0.1, "fair": 0.1, "good": 0.1, "excellent": 0.6}


class TestWithoutAModel:
    def test_a_failed_executor_is_reported(self):
        update = summarizer_node(state(executor_evidence=ExecutorOutput(error="no result within its timeout of 300 s")))
        result = update["summarizer_result"]
        assert update["error"] == "no result within its timeout of 300 s"
        assert "no result within its timeout of 300 s" in result.quality_reasoning
        assert result.final_answer == "D"
        assert not result.need_replan


class TestWithAModel:
    def test_the_model_gets_the_evidence_and_the_options_in_words(self):
        model, services = with_model(reply("b."))
        result = summarizer_node(state(replan_history=["[Iteration 1] Missing x"]), services)["summarizer_result"]
        assert result.final_answer == "B"
        prompt = "\n".join(str(message.text) for message in model.calls[0].messages)
        for part in (
            OPTIONS, "gaussian blur is severe", "0.35", "2.00", "one letter of A, B, C, D", "[Iteration 1] Missing x",
            "No image is attached: there is no file 'x.png'", "the numbers\n  are right", "Nothing else is an answer",
        ):  # fmt: skip
            assert part in prompt

    def test_the_model_is_told_what_the_file_says_if_that_is_asked(self):
        model, services = with_model({"final_answer": "An X100.", "quality_reasoning": "EXIF."})
        asked = state("Which camera took this?", "explanation")
        asked["executor_evidence"].file = {"camera": "X100"}
        summarizer_node(asked, services)
        assert "By its EXIF data: camera X100." in str(model.calls[0].messages[-1].text)

    def test_declared_probabilities_are_weighed_with_the_tools(self):
        _, services = with_model(reply("Excellent", level_probabilities=OPINION))
        result = summarizer_node(state("Rate it", mode="scoring"), services)["summarizer_result"]
        assert result.quality_score == pytest.approx(2.02, abs=0.005)
        assert result.final_answer == "Poor"
        assert result.used_evidence["tool_scores"] == {"MDSI": 2.0, "GMSD": 3.0}
        assert result.used_evidence["opinion"]["5"] == 0.6
        assert result.used_evidence["model_answer"] == "Excellent"


CHOICE = "Which? A. sharp B. severely blurred C. slightly blurred"
BLUR = "severe gaussian blur"


@pytest.mark.parametrize(
    ("query", "reply", "mode", "measured"),
    [
        ("How is it?", "The image is perfectly sharp.", "explanation", BLUR),
        ("Is it sharp?", "Yes, very much so.", "explanation", f"No: {BLUR} in the whole image."),
        ("Rate it", "Excellent", "scoring", "Poor"), ("Rate it", "Poor", "scoring", None),
        (CHOICE, "A", "mcq", "B (severely blurred)"), (CHOICE, "B", "mcq", None),
        ("Is it sharp? A. Yes B. No", "A", "mcq", "B (No)"),
    ],
)  # fmt: skip
def test_what_the_measurements_say_stands_beside_the_answer(query, reply, mode, measured):
    _, services = with_model({"final_answer": reply, "quality_reasoning": "I think so", "need_replan": False})
    result = summarizer_node(state(query, mode), services)["summarizer_result"]
    assert result.used_evidence["model_answer"] == reply
    assert mode == "scoring" or result.final_answer == reply
    told = result.used_evidence["the measurements say"]
    assert told is None if measured is None else measured in told
    assert (f"I think so. The measurements say: {told}" in result.quality_reasoning) is (told is not None)


scores = st.floats(1, 5)
opinions = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda p: sum(p) > 1e-6)


@given(scores, opinions)
def test_it_is_a_mean_of_the_levels_held_possible(tools, p):
    opinion = dict(zip(range(1, 6), p, strict=True))
    held = [c for c, value in opinion.items() if value > 0]
    assert min(held) - 1e-9 <= weigh_opinion(tools, opinion) <= max(held) + 1e-9


@pytest.mark.parametrize(
    ("score", "name"), [(1.49, "Bad"), (1.5, "Poor"), (2.5, "Fair"), (4.5, "Excellent"), (5, "Excellent")]
)
def test_a_level_is_the_nearest_one(score, name):
    assert level_name(score) == name


def test_where_the_primary_tool_failed_the_next_selected_one_answers():
    evidence = ExecutorOutput(
        quality_scores={"SSIM": 3.0, "GMSD": 4.0}, selected_tools=["MDSI", "GMSD", "SSIM"], primary_tool="MDSI"
    )
    result = quality_score(evidence)
    assert result is not None and result.tool == "GMSD"
    assert quality_score(ExecutorOutput(), dict.fromkeys(range(1, 6), 0.2)) is None, "an opinion alone is no score"
