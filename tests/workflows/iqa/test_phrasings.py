"""Questions as people put them: a photographer, the keeper of a data set, somebody who compares codecs."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage import data

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.answering.answers import answer
from loopwright.workflows.iqa.answering.choices import UNABLE
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.planning.plans import make_plan
from loopwright.workflows.iqa.query.reading import read_query
from loopwright.workflows.iqa.schemas import AnswerMode, DistortionFinding, ExecutorOutput, PlannerInput, QueryType


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


DARK = measured(("underexposure", "severe"))
TINTED = measured(("color cast", "severe"))
NOISY = measured(("gaussian noise", "severe"))
GRAINY = measured(("gaussian noise", "slight"))
BLURRED = measured(("gaussian blur", "severe"))
SHAKEN = measured(("motion blur", "severe"))
CODED = measured(("jpeg", "extreme"))
CLEAN = measured()


def said(query: str, evidence: ExecutorOutput, reference: str | None = None):
    """The rules' own plan, with everything looked for, and the answer from it."""
    plan = make_plan(PlannerInput(query=query, image_path="photo.png", reference_path=reference))
    plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"distortion_detection": True})})
    return answer(query, plan, evidence)


@pytest.mark.parametrize(
    ("query", "evidence", "start"),
    [
        ("Is the exposure correct?", DARK, "No: severe underexposure"),
        ("Is the exposure correct?", CLEAN, "Yes: no"),
        ("Are the colours natural?", TINTED, "No: severe color cast"),
        ("Are the colours natural?", CLEAN, "Yes: no"),
        ("Is the white balance okay?", TINTED, "No: severe color cast"),
        ("Is the noise acceptable?", NOISY, "No: severe gaussian noise"),
        ("Is the noise acceptable for print?", GRAINY, "Yes: slight gaussian noise"),
        ("Is the noise not acceptable?", NOISY, "Yes: severe gaussian noise"),
        ("Is the noise unacceptable?", NOISY, "Yes: severe gaussian noise"),
        ("Is the noise negligible?", GRAINY, "No: slight gaussian noise"),
        ("Is the compression transparent?", CODED, "No: extreme JPEG"),
        ("Is this good photo noisy?", NOISY, "Yes: severe gaussian noise"),
        ("Is the image clean?", CODED, "No: extreme JPEG"),
        ("Is the image clean?", CLEAN, "Yes: no distortion"),
        ("Did I miss focus?", SHAKEN, "Yes: severe motion blur"),
        ("Is it in focus?", SHAKEN, "No: severe motion blur"),
        ("Is the image soft?", BLURRED, "Yes: severe gaussian blur"),
        ("Could this be sharper?", BLURRED, "Yes: severe gaussian blur"),
        ("Does it need sharpening?", BLURRED, "Yes: severe gaussian blur"),
        ("Does it need sharpening?", CLEAN, "No: no blur"),
        ("Are the highlights blown out?", CLEAN, "No: no overexposure"),
        ("Is it less noisy than before?", NOISY, "No: severe"),
    ],
)
def test_yes_and_no_are_not_turned_round(query, evidence, start):
    assert said(query, evidence).final_answer.startswith(start)


@pytest.mark.parametrize(
    ("query", "evidence", "start"),
    [
        ("How sharp is it?", BLURRED, "Severe gaussian blur"),
        ("How sharp is it?", CLEAN, "No blur in"),
        ("How dark is it?", DARK, "Severe underexposure"),
        ("What JPEG quality was used?", CODED, "Found in the whole image, strongest first: extreme JPEG"),
    ],
)
def test_how_much(query, evidence, start):
    assert said(query, evidence).final_answer.startswith(start)


@pytest.mark.parametrize("query", ["Is there a watermark?", "Can I print this at A3?", "Are the shadows crushed?"])
def test_what_is_not_measured_is_said_to_be_so_before_what_was(query):
    final = said(query, BLURRED).final_answer
    assert final.startswith(UNABLE)
    assert "severe gaussian blur" in final


@pytest.mark.parametrize("query", ["Can you tell me what is wrong?", "Could you describe its problems?"])
def test_a_polite_request_is_no_yes_or_no_question(query):
    assert said(query, BLURRED).final_answer.startswith("Found")


@pytest.mark.parametrize(
    ("query", "evidence", "start"),
    [
        ("Is it blurrier than the original?", BLURRED, "Yes: severe gaussian blur"),
        ("Is it blurrier than the original?", CODED, "No: no blur"),
        ("Is it sharper than the reference?", BLURRED, "No: no oversharpening"),
        ("Is it sharper than the reference?", measured(("oversharpening", "severe")), "Yes: severe oversharpening"),
        ("Is there any visible difference?", CODED, "Yes: the reference is better"),
        ("Is the image degraded compared with the reference?", CODED, "Yes: the reference is better"),
        ("Is it indistinguishable from the reference?", CODED, "No: the reference is better"),
    ],
)
def test_comparisons_with_a_reference(query, evidence, start):
    assert said(query, evidence, "original.png").final_answer.startswith(start)


@pytest.mark.parametrize("query", ["Is it blurrier than the original?", "Is there any visible difference?"])
def test_a_comparison_without_a_reference_is_not_answered_from_the_image_alone(query):
    assert said(query, BLURRED).final_answer == f"{UNABLE}: there is no reference image to compare with."


@pytest.mark.parametrize(
    ("query", "evidence", "letter"),
    [
        ("Which describes it best? A. Sharp and clean B. Blurry C. Noisy", CODED, UNABLE),
        ("Which describes it best? A. Sharp and clean B. Blurry C. Noisy", CLEAN, "A"),
        ("Which? A. sharp and well exposed B. blurry", DARK, UNABLE),
        ("Is the noise level A. low B. medium C. high", CLEAN, "A"),
        ("Is the noise level A. low B. medium C. high", NOISY, "C"),
        ("Is the noise level A. severe B. extreme", CLEAN, UNABLE),
    ],
)
def test_options(query, evidence, letter):
    assert said(query, evidence).final_answer == letter


@pytest.mark.parametrize(
    "query", ["Is it blurry?", "What is wrong with it?", "How blurry is it?", "Is this a good photo?"]
)
def test_without_a_reference_a_type_is_stated_with_its_confidence_alone(query):
    assert "80% sure" in said(query, BLURRED).final_answer
    assert "sure" not in said(query, BLURRED, "original.png").final_answer
    assert said(query, BLURRED).used_evidence["distortions"][0]["confidence"] == 0.8


def test_a_level_does_not_hide_what_was_found_nor_what_its_tool_cannot_see():
    result = said("Is this a good photo?", TINTED)
    assert "severe color cast" in result.final_answer
    assert "NIQE is weak at color distortions, so the score may be too good." in result.quality_reasoning
    assert "is weak" not in said("Is this a good photo?", BLURRED).quality_reasoning
    by_mdsi = measured(("color cast", "severe"), tool="MDSI")
    assert "is weak" not in said("Rate it", by_mdsi, "original.png").quality_reasoning


@pytest.mark.parametrize(
    "query", ["Is the exposure correct?", "Are the highlights blown out?", "Is the compression transparent?"]
)
def test_a_property_of_the_image_is_no_object_to_be_located(query):
    assert read_query(query).scope == "Global"


def test_mean_opinion_score_is_a_score():
    reading = read_query("What is the MOS?")
    assert (reading.query_type, reading.answer_mode, reading.scope) == (QueryType.IQA, AnswerMode.SCORING, "Global")


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
    assert "cannot be judged" in result.quality_reasoning or "too small" in result.quality_reasoning
