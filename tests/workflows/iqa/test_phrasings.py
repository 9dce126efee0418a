"""Questions as people put them: a photographer, the keeper of a data set, somebody who compares codecs."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage import data

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.answer.answers import answer
from loopwright.workflows.iqa.answer.verdicts import UNABLE
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.planning.plans import make_plan
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerInput


def measured(*found: tuple[str, str], score: float = 3.6, tool: str = "NIQE", confidence: float = 0.8):
    """The evidence of an executor that looked for everything."""
    findings = [
        DistortionFinding(
            type=parse_distortion(name), severity=severity, confidence=confidence, explanation="Measured."
        )
        for name, severity in found
    ]
    return ExecutorOutput(
        distortion_set={"Global": [item.type for item in findings]},
        distortion_analysis={"Global": findings},
        selected_tools=[tool],
        quality_scores={tool: score},
        primary_tool=tool,
    )


TINTED = measured(("color cast", "severe"))
BLURRED = measured(("gaussian blur", "severe"))


def said(query: str, evidence: ExecutorOutput, reference: str | None = None):
    """The rules' own plan, with everything looked for, and the answer from it."""
    plan = make_plan(PlannerInput(query=query, image_path="photo.png", reference_path=reference))
    plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"distortion_detection": True})})
    return answer(query, plan, evidence)


def test_a_level_does_not_hide_what_was_found_nor_what_its_tool_cannot_see():
    result = said("Is this a good photo?", TINTED)
    assert "severe color cast" in result.final_answer
    assert "NIQE is weak at color distortions, so the score may be too good." in result.quality_reasoning
    assert "is weak" not in said("Is this a good photo?", BLURRED).quality_reasoning
    by_mdsi = measured(("color cast", "severe"), tool="MDSI")
    assert "is weak" not in said("Rate it", by_mdsi, "original.png").quality_reasoning


@pytest.mark.parametrize("query", ["Is it sharp?", "Is it blurry?"])
@pytest.mark.parametrize("image", ["one colour", "sky", "tiny"])
def test_where_sharpness_cannot_be_measured_nothing_is_said_of_it(tmp_path, image, query):
    pixels = {
        "one colour": np.full((300, 400, 3), 128, np.uint8),
        "sky": np.linspace((70, 110, 190), (180, 200, 230), 300, axis=0)
        .round()[:, None]
        .repeat(400, 1)
        .astype(np.uint8),
        "tiny": data.astronaut()[:24, :24],
    }[image]
    Image.fromarray(pixels).save(tmp_path / "image.png")
    result = run_pipeline(query, tmp_path / "image.png")["summarizer_result"]
    assert result.final_answer.startswith(UNABLE)
    assert "cannot be judged" in result.quality_reasoning or "needs at least" in result.quality_reasoning
