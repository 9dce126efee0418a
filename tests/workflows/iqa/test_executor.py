"""The executor on real photographs that are distorted on the spot."""

from __future__ import annotations

from dataclasses import replace
from time import sleep

import pytest
from distort import distort
from PIL import Image
from skimage import data

from loopwright.errors import ImageError, InputError
from loopwright.workflows.iqa.answer.fusion import level_of
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import Detection, analyse, detect
from loopwright.workflows.iqa.measuring.features import measure
from loopwright.workflows.iqa.nodes.executing import pass_over
from loopwright.workflows.iqa.nodes.executor import executor_node
from loopwright.workflows.iqa.schemas import DistortionFinding, PlannerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.tools.registry import get_tool

FULL, NONE = "Full-Reference", "No-Reference"
SIDE = 320
"""Enough for every measurement, and quick."""
OFF = {"distortion_detection": False, "distortion_analysis": False, "tool_selection": False, "tool_execution": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One photograph and three severely distorted copies of it."""
    place = tmp_path_factory.mktemp("photographs")
    photograph = data.astronaut()[:SIDE, :SIDE]
    Image.fromarray(photograph).save(place / "reference.png")
    for kind in ("gaussian blur", "gaussian noise", "jpeg"):
        Image.fromarray(distort(photograph, kind, 4)).save(place / f"{kind}.png")
    Image.fromarray(photograph[:200, :300]).save(place / "smaller.png")
    return place


@pytest.fixture
def run(folder):
    def go(name, *, services=None, region=None, reference=None, **fields):
        mode = FULL if reference else NONE
        state = {
            "query": "?", "image_path": str(folder / f"{name}.png"), "region": region,
            "reference_path": str(folder / f"{reference}.png") if reference else None,
            "plan": PlannerOutput(**{"reference_mode": mode, **fields}),
        }  # fmt: skip
        update = executor_node(state, services)
        assert set(update) == {"executor_evidence", "error"}
        assert update["error"] == update["executor_evidence"].error
        return update["executor_evidence"]

    return go


def configured(**tools):
    return Services(IQAConfig.model_validate({"iqa": {"tools": tools}}))


@pytest.mark.parametrize("reference", [None, "reference"])
@pytest.mark.parametrize("kind", ["gaussian blur", "gaussian noise", "jpeg"])
def test_a_gross_distortion_is_found_measured_and_scored(run, kind, reference):
    found = run(kind, reference=reference)
    assert found.error is None
    assert kind_of(found.distortion_set["Global"][0]) is kind_of(kind)
    first = found.distortion_analysis["Global"][0]
    assert first.severity >= Severity.MODERATE
    assert f"{first.measured['value']:.3g}" in first.explanation
    assert found.primary_tool == ("MDSI" if reference else "BlindScore")
    assert found.selected_tools[0] == found.primary_tool
    assert level_of(found.quality_scores[found.primary_tool]) <= 3


def test_the_reference_itself_is_clean_and_excellent(run):
    found = run("reference", reference="reference")
    assert found.distortion_set == {"Global": []}
    assert found.distortion_analysis == {"Global": []}
    assert found.quality_scores["MDSI"] == 5.0


@pytest.mark.parametrize(
    ("on", "present"),
    [
        ({"distortion_detection": True}, {"distortion_set"}),
        ({"tool_selection": True}, {"selected_tools"}),
        ({"tool_selection": True, "tool_execution": True}, {"selected_tools", "tool_logs", "quality_scores"}),
        ({"distortion_detection": True, "distortion_analysis": True}, {"distortion_set", "distortion_analysis"}),
        ({}, set()),
    ],
)
def test_each_flag_gates_its_own_subtask(run, on, present):
    found = run("jpeg", plan={**OFF, **on}).model_dump()
    fields = ("distortion_set", "distortion_analysis", "selected_tools", "tool_logs", "quality_scores")
    assert {name for name in fields if found[name]} == present


def test_named_distortions_are_analysed_without_detection(run):
    found = run("gaussian noise", distortions={"Global": ["noise", "blurs"]}, distortion_source="Explicit")
    assert found.distortion_set == {"Global": ["noise", "blurs"]}
    noise, blur = found.distortion_analysis["Global"]
    assert kind_of(noise.type) is Distortion.NOISE
    assert noise.severity >= Severity.MODERATE
    assert kind_of(blur.type) is Distortion.BLURS
    assert blur.severity is Severity.NONE


def test_what_shows_only_beside_a_reference_is_a_note(run):
    found = run("jpeg", distortions={"Global": ["mean shift"]}, distortion_source="Explicit")
    assert found.distortion_analysis == {"Global": []}
    assert any(note.startswith("Mean shift cannot be measured") for note in found.notes)


def test_required_tools_run_and_come_first(run):
    found = run("jpeg", reference="reference", required_tools=["PSNR"])
    assert found.selected_tools[:2] == ["PSNR", "MDSI"]
    assert found.primary_tool == "PSNR"
    assert found.quality_scores["PSNR"]


def test_required_tools_alone_are_the_selection_if_selection_is_off(run):
    flags = {**OFF, "tool_execution": True}
    found = run("jpeg", reference="reference", required_tools=["SSIM", "PSNR", "SSIM"], plan=flags)
    assert found.selected_tools == ["SSIM", "PSNR"]
    assert [log.tool for log in found.tool_logs] == ["SSIM", "PSNR"]
    assert set(found.quality_scores) == {"SSIM", "PSNR"}


def test_a_named_tool_runs_although_the_plan_switched_execution_off(run):
    assert set(run("jpeg", required_tools=["NIQE"], plan=OFF).quality_scores) == {"NIQE"}


def test_one_tool_counts_once(run):
    found = run("jpeg", reference="reference", required_tools=["mdsi", "MDSI", "GMSD"])
    assert [log.tool for log in found.tool_logs].count("MDSI") == 1
    assert len(found.selected_tools) == len(set(found.selected_tools))


def test_the_number_of_tools_is_configured(run):
    found = run("jpeg", reference="reference", services=configured(limit=1))
    assert found.selected_tools == ["MDSI"]


def test_the_time_budget_is_configured(run):
    found = run("jpeg", reference="reference", services=configured(budget_ms=1e-6))
    assert (found.selected_tools, found.tool_logs, found.primary_tool) == ([], [], None)
    assert "No quality tool ran: none is named and none was chosen" in found.notes


def test_the_timeout_is_configured_and_a_late_tool_is_replaced_or_reported(run, monkeypatch):
    late = replace(get_tool("NIQE"), compute=lambda *_images: sleep(5))
    monkeypatch.setattr(pass_over, "select_tools", lambda *_args, **_options: [late])
    found = run("reference", services=configured(timeout=0.1))
    first, *others = found.tool_logs
    assert (first.tool, first.score) == ("NIQE", None)
    assert "no result within 0.1 s" in first.error
    # The next tool stands in; on a slow machine that one may be late as well, and so on.
    assert others[0].tool == "BlindScore"
    assert all(log.fallback_for == "NIQE" for log in others)
    assert all(log.error is None or "no result within 0.1 s" in log.error for log in others)
    in_time = [log.tool for log in others if log.error is None]
    assert list(found.quality_scores) == in_time
    assert len(in_time) <= 1
    assert found.primary_tool == (in_time or ["NIQE"])[0]
    assert found.distortion_set == {"Global": []}


def test_a_region_is_cropped_in_both_images_and_names_the_scope(run, folder):
    photograph = data.astronaut()[:SIDE, :SIDE].copy()
    blurred = distort(photograph, "gaussian blur", 5)
    photograph[:, :150] = blurred[:, :150]
    Image.fromarray(photograph).save(folder / "half.png")
    left = run("half", reference="reference", region=(0, 0, 140, 320))
    right = run("half", reference="reference", region=[180, 0, 140, 320])
    assert list(left.distortion_set) == ["region 0,0,140,320"]
    assert left.tool_logs[0].region == "region 0,0,140,320"
    assert kind_of(left.distortion_set["region 0,0,140,320"][0]) is Distortion.BLURS
    assert right.distortion_set == {"region 180,0,140,320": []}
    assert left.quality_scores["MDSI"] < 2.5 < 4.9 < right.quality_scores["MDSI"]


def test_objects_are_measured_on_the_whole_image_and_a_note_says_so(run):
    found = run("jpeg", query_scope=["car", "tree"])
    assert list(found.distortion_set) == ["Global"]
    assert {log.region for log in found.tool_logs} == {"Global"}
    for name in ("car", "tree"):
        assert f"{name}: could not be located, so the whole image was measured" in found.notes


def test_a_region_is_taken_as_the_place_of_the_object(run):
    found = run("jpeg", query_scope=["car"], region=(0, 0, 200, 200))
    assert found.notes[0] == "car: taken to be what the region 0,0,200,200 shows"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nowhere", {}),
        ("reference", {"reference": "nowhere"}),
        ("reference", {"reference": "smaller"}),
        ("reference", {"region": (320, 0, 100, 100)}),
        ("reference", {"region": (310, 0, 100, 100)}),
        ("reference", {"services": configured(max_pixels=1000)}),
    ],
)
def test_a_bad_image_is_the_users_input(run, name, options):
    with pytest.raises(ImageError):
        run(name, **options)


def test_a_full_reference_plan_without_a_reference_is_an_input_error(run):
    with pytest.raises(InputError, match="reference"):
        run("jpeg", reference_mode=FULL)


def test_other_questions_do_not_open_the_image(run):
    found = run("nowhere", query_type="Other")
    assert (found.error, found.tool_logs, found.distortion_set) == (None, [], {})


def test_without_a_plan_the_executor_fails_in_words():
    update = executor_node({"query": "?", "image_path": "x.png"})
    assert "no plan" in update["executor_evidence"].error
    assert update["error"] == update["executor_evidence"].error


def test_a_small_image_loses_the_measurements_and_keeps_the_tools(run, folder):
    Image.fromarray(data.astronaut()[:20, :20]).save(folder / "tiny.png")
    Image.fromarray(data.astronaut()[:20, :20]).save(folder / "tiny_reference.png")
    found = run("tiny", reference="tiny_reference")
    assert any(note.startswith("The detection failed: ImageError") for note in found.notes)
    assert found.quality_scores["MDSI"] == 5.0
    assert found.error is None


@pytest.mark.parametrize(
    ("function", "subtask", "lost"),
    [
        ("detect_in_parts", "detection", "distortion_analysis"),
        ("analyse", "analysis", "distortion_analysis"),
        ("select_tools", "tool selection", "selected_tools"),
        ("run_tools", "tool execution", "tool_logs"),
    ],
)
def test_each_subtask_fails_alone(run, monkeypatch, function, subtask, lost):
    def broken(*args, **kwargs):
        raise RuntimeError("broken on purpose")

    whole = run("jpeg")
    monkeypatch.setattr(pass_over, function, broken)
    found = run("jpeg")
    assert f"The {subtask} failed: RuntimeError: broken on purpose" in found.notes
    assert found.error is None
    assert not getattr(found, lost) or getattr(found, lost) == {"Global": []}
    if subtask.startswith("tool"):
        assert found.distortion_analysis == whole.distortion_analysis
    else:
        assert found.quality_scores == whole.quality_scores


def test_a_failure_of_the_whole_is_told_to_the_summarizer(run, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(pass_over, "load_image", broken)
    assert run("jpeg").error == "RuntimeError: broken on purpose"


def test_a_failed_primary_tool_is_replaced_and_a_note_says_so(run, monkeypatch):
    broken = get_tool("MDSI")

    def fails(pair):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(
        pass_over,
        "select_tools",
        lambda *args, **kwargs: [pass_over.Tool(**{**vars(broken), "compute": fails})],
    )
    found = run("jpeg", reference="reference")
    stand_in = found.tool_logs[1]
    assert found.tool_logs[0].error == "RuntimeError: broken on purpose"
    assert (stand_in.fallback_for, stand_in.error) == ("MDSI", None)
    assert found.primary_tool == stand_in.tool
    assert f"MDSI gave no score, so {stand_in.tool}'s is the answer" in found.notes


@pytest.mark.parametrize("picture", ["astronaut", "chelsea", "coffee"])
@pytest.mark.parametrize("kind", ["noise", "blurs", "compression"])
def test_numbers_alone_do_not_call_a_good_photograph_bad(picture, kind):
    features = measure(getattr(data, picture)())
    findings, _ = analyse([kind], detect(features), features)
    assert [item.severity for item in findings] == [Severity.NONE]


def test_a_guess_at_another_type_does_not_explain_away_what_was_asked_about():
    """A blurred cat whose blur the detector half took for JPEG 2000 was answered with a flat "No"."""
    detection = Detection(
        findings=[
            DistortionFinding(
                type="jpeg2000", severity="extreme", confidence=0.46, explanation="guessed", measured={"value": 3.2}
            )
        ],
        abstained="jpeg2000 is only a guess",
    )
    blurred = distort(data.chelsea(), "gaussian blur", 4)
    (finding,) = analyse(["blurs"], detection, measure(blurred)).findings
    assert finding.type == "blurs"
    assert finding.severity >= Severity.MODERATE
