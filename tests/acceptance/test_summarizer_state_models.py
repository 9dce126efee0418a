"""One test for every scenario of ``summarizer-state-models.md``; the first line of a docstring is the scenario's
title."""

import logging
from typing import Any, get_type_hints

import pytest
from pydantic import ValidationError
from stages import START, Stages, configured

from loopwright.workflows.iqa import AgenticIQAState, ExecutorOutput, PlannerOutput, SummarizerOutput, summarizer_node

DOCUMENT = "summarizer-state-models.md"


def made(**changes):
    return SummarizerOutput(**{"final_answer": "Good", "quality_reasoning": "The scores are high.", **changes})


def test_create_summarizer_output_model_with_required_fields():
    """Create SummarizerOutput model with required fields"""
    result = made()
    assert (result.need_replan, result.replan_reason, result.used_evidence) == (False, None, None)
    with pytest.raises(ValidationError):
        SummarizerOutput(quality_reasoning="no answer")
    with pytest.raises(ValidationError):
        SummarizerOutput(final_answer="no reasoning")
    assert made(used_evidence={"mdsi": 0.4}).used_evidence == {"mdsi": 0.4}


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_validate_quality_reasoning_is_non_empty(text):
    """Validate quality_reasoning is non-empty"""
    with pytest.raises(ValidationError):
        made(quality_reasoning=text)
    assert made(quality_reasoning="  blurred \n").quality_reasoning == "blurred"


def test_serialize_and_deserialize_summarizer_output():
    """Serialize and deserialize SummarizerOutput"""
    result = made(
        need_replan=True, replan_reason="more", used_evidence={"scores": {"mdsi": 2.5}, "n": [1]}, quality_score=2.5
    )
    assert SummarizerOutput.model_validate_json(result.model_dump_json()) == result


def test_add_summarizer_result_field_to_state():
    """Add summarizer_result field to state"""
    assert get_type_hints(AgenticIQAState)["summarizer_result"] is SummarizerOutput
    assert "summarizer_result" in AgenticIQAState.__optional_keys__


def test_add_iteration_tracking_fields():
    """Add iteration tracking fields"""
    hints = get_type_hints(AgenticIQAState)
    assert (hints["iteration_count"], hints["max_replan_iterations"], hints["replan_history"]) == (int, int, list[str])
    assert {"iteration_count", "max_replan_iterations", "replan_history"} <= AgenticIQAState.__optional_keys__


def test_state_merging_with_summarizer_result():
    """State merging with summarizer_result"""
    final = Stages(asks=1).graph().invoke(START)
    assert isinstance(final["summarizer_result"], SummarizerOutput)
    assert isinstance(final["plan"], PlannerOutput)
    assert isinstance(final["executor_evidence"], ExecutorOutput)
    assert final["iteration_count"] == 1


def test_validate_final_answer_format():
    """Validate final_answer format"""
    with pytest.raises(ValidationError):
        made(final_answer=" ")
    assert made(final_answer=" A\n").final_answer == "A"


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_validate_replan_reason_presence(reason, caplog):
    """Validate replan_reason presence"""
    assert made(need_replan=True, replan_reason=reason).replan_reason == "No reason provided"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    caplog.clear()
    assert made(need_replan=True, replan_reason="more").replan_reason == "more"
    assert made().replan_reason is None
    assert not caplog.records


def test_validate_quality_reasoning_content():
    """Validate quality_reasoning content"""
    assert made(quality_reasoning=".").quality_reasoning == "."
    with pytest.raises(ValidationError):
        made(quality_reasoning=" ")


def test_execute_pipeline_without_summarizer():
    """Execute pipeline without Summarizer"""
    stages = Stages()
    final = stages.graph(stages=("planner", "executor")).invoke(START)
    assert "plan" in final
    assert "executor_evidence" in final
    assert final.get("summarizer_result") is None
    assert final.get("stop_reason") is None


def test_execute_pipeline_without_executor():
    """Execute pipeline without Executor"""
    stages = Stages()
    final = stages.graph(stages=("planner",)).invoke(START)
    assert stages.order == ["planner"]
    assert "plan" in final
    assert final.get("executor_evidence") is None
    answer = summarizer_node({**START, "plan": final["plan"]})["summarizer_result"]
    assert answer.final_answer == "Unable to determine", "called all the same, it says that nothing was measured"


def examples() -> list[dict[str, Any]]:
    return SummarizerOutput.model_json_schema()["examples"]


def test_provide_example_for_explanation_qa_mode():
    """Provide example for explanation/QA mode"""
    assert {
        "final_answer": "B",
        "quality_reasoning": "The image shows moderate blur affecting sharpness, consistent with tool score of 2.6.",
        "need_replan": False,
    } in examples()
    assert all(SummarizerOutput.model_validate(example) for example in examples())


def test_provide_example_for_replanning_scenario():
    """Provide example for replanning scenario"""
    assert {
        "final_answer": "Unable to determine",
        "quality_reasoning": "Insufficient evidence for vehicle region.",
        "need_replan": True,
        "replan_reason": "Missing tool scores for vehicle region",
    } in examples()


def test_append_replan_reasons_to_history():
    """Append replan reasons to history"""
    final = Stages(asks=1, reason="look closer").graph().invoke(START)
    assert final["replan_history"] == ["[Iteration 1] look closer"]
    silent = Stages(asks=1, reason=None).graph().invoke(START)
    assert silent["replan_history"] == ["[Iteration 1] No reason provided"]


def test_limit_history_size(caplog):
    """Limit history size"""
    config = configured(langgraph__max_iterations=20)
    final = Stages().graph(config).invoke({**START, "max_replan_iterations": 12})
    assert [entry.split("]")[0] for entry in final["replan_history"]] == [f"[Iteration {i}" for i in range(3, 13)]
    evictions = [record for record in caplog.records if "oldest entry was dropped" in record.getMessage()]
    assert len(evictions) == 2
    assert all("excessive" in record.getMessage() for record in evictions)
