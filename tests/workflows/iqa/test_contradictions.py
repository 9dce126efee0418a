"""A chat model's answer beside the measurements: it stays, and the reader is told where they differ."""

from __future__ import annotations

import pytest

from loopwright.models import ModelRegistry
from loopwright.testing import always
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.services import Services

CHOICE = "Which? A. sharp B. severely blurred C. slightly blurred"
BLUR = "severe gaussian blur (90% sure)"
SCORE = "MDSI gives 2.00 of 5, Poor"


def told(query, reply, mode="explanation", confidence=0.9, severity="severe"):
    finding = DistortionFinding(
        type="gaussian blur", severity=severity, confidence=confidence, explanation="Measured 2.6 pixels."
    )
    evidence = ExecutorOutput(
        distortion_set={"Global": ["gaussian blur"]},
        distortion_analysis={"Global": [finding]},
        selected_tools=["MDSI"],
        quality_scores={"MDSI": 2.0},
        tool_logs=[ToolLog(tool="MDSI", raw=0.44, score=2.0)],
        primary_tool="MDSI",
    )
    model = always({"final_answer": reply, "quality_reasoning": "I think so", "need_replan": False})
    plan = PlannerOutput(answer_mode=mode, reference_mode="Full-Reference")
    state = {"query": query, "image_path": "x.png", "plan": plan, "executor_evidence": evidence}
    services = Services(IQAConfig(), ModelRegistry({"summarizer": model}))
    return summarizer_node(state, services)["summarizer_result"]


@pytest.mark.parametrize(
    ("query", "reply", "mode", "against"),
    [
        ("How is it?", "The image is perfectly sharp.", "explanation", [BLUR]),
        ("How is it?", "No distortion is visible.", "explanation", [BLUR]),
        ("Is it sharp?", "Yes, very much so.", "explanation", ["severe gaussian blur in the whole image"]),
        ("How is it?", "It shows slight blur.", "explanation", [BLUR]),
        ("How is it?", "The photo has severe noise.", "explanation", ["no noise"]),
        ("How is it?", "An image of excellent quality.", "explanation", [SCORE]),
        ("Rate it", "Excellent", "scoring", [SCORE]),
        (CHOICE, "A", "mcq", ["B (severely blurred)"]),
        (CHOICE, "C", "mcq", ["B (severely blurred)"]),
        ("Is it sharp? A. Yes B. No", "A", "mcq", ["B (No)"]),
    ],
)
def test_what_contradicts_the_measurements_is_kept_and_told(query, reply, mode, against):
    result = told(query, reply, mode)
    assert result.used_evidence["model_answer"] == reply
    assert mode == "scoring" or result.final_answer == reply
    assert result.used_evidence["the measurements say"] == against
    assert f"I think so. The measurements say: {against[0]}." in result.quality_reasoning


@pytest.mark.parametrize(
    ("query", "reply", "mode"),
    [
        ("How is it?", "It is severely blurred, not sharp.", "explanation"),
        ("How is it?", "There is clear blur; the noise is low.", "explanation"),
        ("How is it?", "There is no noise, but strong blur.", "explanation"),
        ("How is it?", "The quality is fair.", "explanation"),
        ("Is it sharp?", "No.", "explanation"),
        ("Rate it", "Fair", "scoring"),
        (CHOICE, "B", "mcq"),
        ("Is it sharp? A. Yes B. No", "B", "mcq"),
        (CHOICE, "Unable to determine", "mcq"),
    ],
)
def test_what_agrees_is_left_alone(query, reply, mode):
    result = told(query, reply, mode)
    assert result.used_evidence["the measurements say"] is None
    assert "The measurements say" not in result.quality_reasoning


@pytest.mark.parametrize(("confidence", "severity"), [(0.5, "severe"), (0.9, "slight")])
def test_a_guess_or_a_slight_distortion_contradicts_nobody(confidence, severity):
    result = told("How is it?", "The image is sharp.", confidence=confidence, severity=severity)
    assert result.used_evidence["the measurements say"] is None
