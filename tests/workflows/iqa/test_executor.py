"""The executor on real photographs that are distorted on the spot."""

import pytest
from distort import distort
from PIL import Image
from skimage import data

from loopwright.workflows.iqa import passes
from loopwright.workflows.iqa.answer.facts import level_of
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.nodes.executor import executor_node
from loopwright.workflows.iqa.schemas import PlannerOutput
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
    return place


@pytest.fixture
def run(folder):
    def go(name, *, reference=None, **fields):
        state = {
            "query": "?", "image_path": str(folder / f"{name}.png"),
            "reference_path": str(folder / f"{reference}.png") if reference else None,
            "plan": PlannerOutput(**{"reference_mode": FULL if reference else NONE, **fields}),
        }  # fmt: skip
        update = executor_node(state)
        assert set(update) == {"executor_evidence", "error"}
        assert update["error"] == update["executor_evidence"].error
        return update["executor_evidence"]

    return go


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


@pytest.mark.parametrize(
    ("on", "present"),
    [
        ({}, set()), ({"distortion_detection": True}, {"distortion_set"}), ({"tool_selection": True}, {"selected_tools"}),
        ({"tool_selection": True, "tool_execution": True}, {"selected_tools", "tool_logs", "quality_scores"}),
        ({"distortion_detection": True, "distortion_analysis": True}, {"distortion_set", "distortion_analysis"}),
    ],
)  # fmt: skip
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


def test_required_tools_run_and_come_first(run):
    found = run("jpeg", reference="reference", required_tools=["PSNR"])
    assert found.selected_tools[:2] == ["PSNR", "MDSI"]
    assert found.primary_tool == "PSNR"
    assert found.quality_scores["PSNR"]


@pytest.mark.parametrize(
    ("function", "subtask", "lost"),
    [
        ("detect_in_parts", "detection", "distortion_analysis"), ("analyse", "analysis", "distortion_analysis"),
        ("select_tools", "tool selection", "selected_tools"), ("run_tools", "tool execution", "tool_logs"),
    ],
)  # fmt: skip
def test_each_subtask_fails_alone(run, monkeypatch, function, subtask, lost):
    def broken(*args, **kwargs):
        raise RuntimeError("broken on purpose")

    whole = run("jpeg")
    monkeypatch.setattr(passes, function, broken)
    found = run("jpeg")
    assert f"The {subtask} failed: RuntimeError: broken on purpose" in found.notes
    assert found.error is None
    assert not getattr(found, lost) or getattr(found, lost) == {"Global": []}
    if subtask.startswith("tool"):
        assert found.distortion_analysis == whole.distortion_analysis
    else:
        assert found.quality_scores == whole.quality_scores


def test_a_failed_primary_tool_is_replaced_and_a_note_says_so(run, monkeypatch):
    broken = get_tool("MDSI")

    def fails(pair):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(
        passes, "select_tools", lambda *args, **kwargs: [passes.Tool(**{**vars(broken), "compute": fails})]
    )
    found = run("jpeg", reference="reference")
    stand_in = found.tool_logs[1]
    assert found.tool_logs[0].error == "RuntimeError: broken on purpose"
    assert (stand_in.fallback_for, stand_in.error) == ("MDSI", None)
    assert found.primary_tool == stand_in.tool
    assert f"MDSI gave no score, so {stand_in.tool}'s is the answer" in found.notes
