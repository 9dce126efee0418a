"""The summarizer: by rules from real measurements, and with a scripted chat model."""

from __future__ import annotations

import json

import pytest
from distort import distort
from PIL import Image
from skimage import data

from loopwright.errors import StructuredReplyError
from loopwright.models import ModelRegistry
from loopwright.testing import ScriptedChatModel, always
from loopwright.workflows.iqa.answer.verdicts import UNABLE
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.executor import executor_node
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.services import Services

FULL = "Full-Reference"
OPTIONS = "What is the main distortion? A. Noise B. Blur C. JPEG compression D. Cannot tell"


@pytest.fixture(scope="module")
def assess(tmp_path_factory):
    """Measure a distorted photograph once, and answer from it."""
    place = tmp_path_factory.mktemp("photographs")
    photograph = data.astronaut()[:384, :384]
    Image.fromarray(photograph).save(place / "none.png")
    for kind in ("gaussian blur", "gaussian noise", "jpeg"):
        Image.fromarray(distort(photograph, kind, 4)).save(place / f"{kind}.png")

    def go(query, kind, *, mode="explanation", reference=True, **fields):
        plan = PlannerOutput(**{"answer_mode": mode, "reference_mode": FULL if reference else "No-Reference", **fields})
        state = {"query": query, "image_path": str(place / f"{kind}.png"), "plan": plan}
        state["reference_path"] = str(place / "none.png") if reference else None
        state |= executor_node(state)
        update = summarizer_node(state)
        assert set(update) == {"summarizer_result", "error"}
        return update["summarizer_result"]

    return go


@pytest.mark.parametrize("reference", [True, False])
@pytest.mark.parametrize(
    ("kind", "letter"), [("gaussian noise", "A"), ("gaussian blur", "B"), ("jpeg", "C"), ("none", "D")]
)
def test_choices_from_pixels(assess, kind, letter, reference):
    assert assess(OPTIONS, kind, mode="mcq", reference=reference).final_answer == letter


def test_scores_from_pixels_fall_with_the_quality(assess):
    clean, bad = (assess("Rate it", kind, mode="scoring") for kind in ("none", "gaussian blur"))
    assert (clean.final_answer, clean.quality_score) == ("Excellent", 5.0)
    assert bad.quality_score < 3
    assert bad.final_answer in ("Bad", "Poor", "Fair")
    assert "MDSI" in bad.quality_reasoning
    assert not bad.need_replan


def test_scores_without_a_reference_are_not_one_constant(assess):
    results = [
        assess("Rate it", kind, mode="scoring", reference=False).quality_score
        for kind in ("none", "gaussian blur", "gaussian noise")
    ]
    assert results[0] > max(results[1:]) + 0.3
    assert len({round(value, 3) for value in results}) == 3


def test_explanations_from_pixels(assess):
    assert "gaussian blur" in assess("What is wrong with it?", "gaussian blur").final_answer
    assert assess("What is wrong with it?", "none").final_answer.startswith("No distortion found")
    assert assess("Is it sharp?", "gaussian blur", reference=False).final_answer.startswith("No")
    assert assess("Is it worse than the reference?", "jpeg").final_answer.startswith("Yes")


def test_an_object_that_nothing_can_locate_is_no_reason_to_plan_again(assess):
    first = assess("Is the car sharp?", "none", query_scope=["car"])
    assert (first.need_replan, first.replan_reason) == (False, None)
    assert "image as a whole" in first.final_answer


# What follows is written by hand, so that every number is known.


def finding(name, severity):
    return DistortionFinding(
        type=name, severity=severity, confidence=0.9, explanation=f"{name} is {severity}: 2.6 pixels."
    )


def state(query=OPTIONS, mode="mcq", score=2.0, **fields):
    evidence = ExecutorOutput(
        distortion_set={"Global": ["gaussian blur"]},
        distortion_analysis={"Global": [finding("gaussian blur", "severe")]},
        selected_tools=["MDSI"],
        quality_scores={"MDSI": score},
        tool_logs=[ToolLog(tool="MDSI", raw=0.44, score=score)],
        primary_tool="MDSI",
    )
    return {
        "query": query,
        "image_path": "x.png",
        "plan": PlannerOutput(answer_mode=mode, reference_mode=FULL),
        "executor_evidence": evidence,
        **fields,
    }


def with_model(*script, repairs=2, eta=1.0):
    model = ScriptedChatModel(*script)
    config = IQAConfig.model_validate({"iqa": {"repairs": repairs, "eta": eta}})
    return model, Services(config, ModelRegistry({"summarizer": model}))


def reply(answer, **fields):
    return {"final_answer": answer, "quality_reasoning": "Severe blur, 2.6 pixels.", **fields}


OPINION = {"bad": 0.1, "poor": 0.1, "fair": 0.1, "good": 0.1, "excellent": 0.6}


class TestWithoutAModel:
    def test_the_gates_keys_are_not_touched(self):
        update = summarizer_node(state(iteration_count=1, replan_history=["[Iteration 1] x"], error="old"))
        assert set(update) == {"summarizer_result", "error"}
        assert update["error"] is None

    def test_a_failed_executor_is_reported_and_asked_again(self):
        failed = state(executor_evidence=ExecutorOutput(error="no result within its timeout of 300 s"))
        update = summarizer_node(failed)
        result = update["summarizer_result"]
        assert update["error"] == "no result within its timeout of 300 s"
        assert "no result within its timeout of 300 s" in result.quality_reasoning
        assert result.final_answer == "D"
        assert result.replan_reason == "The executor failed: no result within its timeout of 300 s"

    def test_a_failed_executor_does_not_reach_the_chat_model(self):
        model, services = with_model()
        summarizer_node(state(executor_evidence=ExecutorOutput(error="boom")), services)
        assert model.calls == []

    def test_a_plan_without_evidence(self):
        lean = state()
        del lean["executor_evidence"]
        result = summarizer_node(lean)["summarizer_result"]
        assert (result.final_answer, result.need_replan) == (UNABLE, False)
        assert "the executor has not run" in result.quality_reasoning

    def test_no_plan_keeps_the_error(self):
        update = summarizer_node({"query": "?", "image_path": "x.png", "error": "planner: no"})
        assert update["error"] == "planner: no"
        assert "planner: no" in update["summarizer_result"].quality_reasoning

    def test_switched_off_tools_do_not_replan(self):
        off = state(mode="scoring")
        off["plan"] = PlannerOutput(answer_mode="scoring", plan={"tool_execution": False, "tool_selection": False})
        off["executor_evidence"] = ExecutorOutput(distortion_set={"Global": []}, distortion_analysis={"Global": []})
        result = summarizer_node(off)["summarizer_result"]
        assert (result.final_answer, result.need_replan, result.replan_reason) == (UNABLE, False, None)

    def test_after_the_scope_was_widened_the_reasons_still_name_the_object(self):
        history = ["[Iteration 1] The car could not be located, so there is no evidence for it alone"]
        result = summarizer_node(state("Is the car sharp?", mode="explanation", replan_history=history))[
            "summarizer_result"
        ]
        assert not result.need_replan
        assert result.quality_reasoning.endswith("The car could not be located, so there is no evidence for it alone.")

    def test_the_result_survives_json(self):
        result = summarizer_node(state(mode="scoring"))["summarizer_result"]
        assert type(result).model_validate_json(result.model_dump_json()) == result


class TestWithAModel:
    def test_the_model_gets_the_evidence_and_the_options_in_words(self):
        model, services = with_model(reply("b."))
        result = summarizer_node(state(replan_history=["[Iteration 1] Missing x"]), services)["summarizer_result"]
        assert result.final_answer == "B"
        prompt = "\n".join(str(message.text) for message in model.calls[0].messages)
        for part in (
            OPTIONS,
            "gaussian blur is severe",
            "0.44",
            "2.00",
            "one letter of A, B, C, D",
            "[Iteration 1] Missing x",
            "No image is attached: there is no file 'x.png'",
            "the numbers\n  are right",
            "Nothing else is an answer",
        ):
            assert part in prompt

    def test_a_letter_outside_of_the_options_is_repaired(self):
        model, services = with_model(reply("E"), reply("B"))
        assert summarizer_node(state(), services)["summarizer_result"].final_answer == "B"
        assert "unknown option 'E'" in str(model.calls[1].messages[-1].text)

    def test_a_letter_that_stays_outside_is_an_error_after_the_repairs(self):
        model, services = with_model(*[reply("E")] * 2, repairs=1)
        with pytest.raises(StructuredReplyError, match="unknown option 'E'"):
            summarizer_node(state(), services)
        assert len(model.calls) == 2

    def test_unable_to_determine_is_allowed(self):
        _, services = with_model(
            reply(UNABLE, need_replan=True, replan_reason="Missing tool scores for vehicle region")
        )
        result = summarizer_node(state(), services)["summarizer_result"]
        assert (result.final_answer, result.need_replan) == (UNABLE, True)
        assert result.replan_reason == "Missing tool scores for vehicle region"

    def test_a_wish_without_a_reason_gets_the_default_reason(self):
        _, services = with_model(reply("B", need_replan=True))
        assert summarizer_node(state(), services)["summarizer_result"].replan_reason == "No reason provided"

    def test_a_reason_without_a_wish_is_dropped(self):
        _, services = with_model(reply("B", replan_reason="perhaps"))
        assert summarizer_node(state(), services)["summarizer_result"].replan_reason is None

    def test_declared_probabilities_are_weighed_with_the_tools(self):
        _, services = with_model(reply("Excellent", level_probabilities=OPINION))
        result = summarizer_node(state("Rate it", mode="scoring"), services)["summarizer_result"]
        assert result.quality_score == pytest.approx(2.02, abs=0.005)
        assert result.final_answer == "Poor"
        assert result.used_evidence["tool_scores"] == {"MDSI": 2.0}
        assert result.used_evidence["opinion"]["5"] == 0.6
        assert result.used_evidence["model_answer"] == "Excellent"

    def test_eta_is_read_from_the_configuration(self):
        _, services = with_model(reply("Excellent", level_probabilities=OPINION), eta=0.0001)
        result = summarizer_node(state("Rate it", mode="scoring"), services)["summarizer_result"]
        assert result.quality_score == pytest.approx(4.0, abs=0.01)

    def test_a_level_without_probabilities_does_not_move_the_score(self):
        _, services = with_model(reply("Excellent"))
        result = summarizer_node(state("Rate it", mode="scoring"), services)["summarizer_result"]
        assert (result.quality_score, result.final_answer) == (2.0, "Poor")
        assert result.quality_reasoning.endswith("The score of 2.00 makes it Poor.")

    def test_an_opinion_without_a_tool_is_no_score(self):
        _, services = with_model(reply("Good", level_probabilities=OPINION))
        alone = state("Rate it", mode="scoring")
        alone["executor_evidence"] = alone["executor_evidence"].model_copy(update={"quality_scores": {}})
        result = summarizer_node(alone, services)["summarizer_result"]
        assert (result.final_answer, result.quality_score) == ("Good", None)

    @pytest.mark.parametrize("bad", [{**OPINION, "bad": 0.9}, {**OPINION, "bad": -0.1}, {"excellent": 1.0}])
    def test_probabilities_that_are_none_are_repaired(self, bad):
        model, services = with_model(reply("Good", level_probabilities=bad), reply("Good"))
        summarizer_node(state("Rate it", mode="scoring"), services)
        assert len(model.calls) == 2

    def test_a_word_that_is_no_level_is_repaired(self):
        model, services = with_model(reply("Brilliant"), reply("good"))
        result = summarizer_node(state("Rate it", mode="scoring"), services)["summarizer_result"]
        assert result.used_evidence["model_answer"] == "Good"
        assert "no quality level" in str(model.calls[1].messages[-1].text)

    def test_an_explanation_is_taken_as_it_is(self):
        _, services = with_model(json.dumps(reply("It is blurred.")))
        result = summarizer_node(state("Why?", mode="explanation"), services)["summarizer_result"]
        assert (result.final_answer, result.quality_score) == ("It is blurred.", None)

    def test_questions_about_something_else_do_not_reach_the_model(self):
        model, services = with_model()
        other = state("Who won?")
        other["plan"] = PlannerOutput(query_type="Other")
        assert "image quality only" in summarizer_node(other, services)["summarizer_result"].final_answer
        assert model.calls == []

    def test_a_model_that_cannot_be_reached_is_not_taken_for_an_answer(self):
        services = Services(IQAConfig(), ModelRegistry({"summarizer": always(ConnectionError("no network"))}))
        with pytest.raises(ConnectionError):
            summarizer_node(state(), services)

    def test_the_planners_model_is_not_used(self):
        model = always(reply("C"))
        services = Services(IQAConfig(), ModelRegistry({"planner": model}))
        assert summarizer_node(state(), services)["summarizer_result"].final_answer == "B"
        assert model.calls == []
