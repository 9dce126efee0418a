"""Image quality under a host: uploads and samples, reasons of replans, no paths told, and runs that are apart."""

import json
import shutil

import pytest
from hosted_runs import drive
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.errors import InputError
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.workflow import IQAWorkflow, sample_path

QUALITY = "How is the quality of this image?"


@pytest.fixture
def hosted():
    return IQAWorkflow(Services.of(IQAConfig()))


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "secret-folder" / "uploads"
    folder.mkdir(parents=True)
    found = {"u1": folder / "u1.png", "u2": folder / "u2.png"}
    shutil.copy(sample_path("harbour-blurred"), found["u1"])
    shutil.copy(sample_path("harbour"), found["u2"])
    return found


async def test_an_uploaded_picture_with_its_reference(hosted, uploads):
    given = {"query": "Rate the quality of this image.", "image": "u1", "reference": "u2", "max_replan_iterations": 0}
    done = await drive(hosted, given, uploads=uploads, saver=InMemorySaver())
    outcome = done.outcome
    assert outcome.scores["quality_score"] == done.state["summarizer_result"].quality_score
    assert outcome.quality is None, "a good picture makes no good answer"
    assert outcome.answer.startswith(f"**{done.state['summarizer_result'].final_answer}**\n\nMeasured")
    assert {"MDSI", "SSIM"} & set(outcome.scores)
    assert outcome.details["executor_evidence"]["distortion_set"]
    assert [told.kind for told in done.told] == ["progress"] * 3
    seen = json.dumps([outcome.model_dump(mode="json"), done.saved(), [told.message for told in done.told]])
    assert "u1.png" in seen
    assert "secret-folder" not in seen
    assert done.saved()[-1]["image_path"] == "u1.png"


async def test_what_went_wrong_with_a_picture_does_not_say_where_it_lies(hosted, uploads):
    uploads["u1"].write_bytes(b"no picture")
    done = await drive(hosted, {"query": QUALITY, "image": "u1"}, uploads=uploads)
    assert "secret-folder" in str(done.error)
    assert "secret-folder" not in done.run.plain("error", str(done.error))
    graceful = IQAWorkflow(Services.of(IQAConfig.load(None, {"langgraph": {"graceful_errors": True}}, {})))
    done = await drive(graceful, {"query": QUALITY, "image": "u1"}, uploads=uploads)
    assert done.outcome.status == "failed"
    assert "u1.png" in done.outcome.error
    assert "secret-folder" not in done.outcome.model_dump_json()


async def test_a_region_is_asked_about(hosted):
    done = await drive(hosted, {"query": QUALITY, "image": "sample:harbour", "region": [10, 20, 100, 80]})
    assert "region 10,20,100,80" in json.dumps(done.outcome.details)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"query": QUALITY}, {"query": " ", "image": "sample:harbour"}, {"query": QUALITY, "image": "/etc/passwd"},
        {"query": QUALITY, "image": "sample:../../calibration.json"}, {"query": QUALITY, "image": "sample:harbour", "region": [1, 2]},
        {"query": QUALITY, "image": "sample:harbour", "reference": "nobody"}, {"query": "x" * 10_001, "image": "sample:harbour"},
        {"query": QUALITY, "image": "sample:harbour", "max_replan_iterations": -1},
        {"query": QUALITY, "image": "sample:harbour", "image_path": "/etc/passwd"},
    ],
)  # fmt: skip
def test_unusable_input_is_refused_before_anything_runs(hosted, given):
    with pytest.raises(InputError):
        hosted.run(given, {}, "r")


async def test_the_examples_run_offline(hosted):
    found = [await drive(hosted, example.input) for example in hosted.examples]
    assert all(done.error is None and done.outcome.answer for done in found)
    assert found[-1].outcome.answer.startswith("**C**")
    shown = {node.name: node for node in hosted.shown().nodes}
    assert shown["executor"].label == "Measure"
    assert [shown[node].has_llm for node in ("planner", "executor", "summarizer")] == [True, False, True]
    assert {info.prompt for info in hosted.nodes.values() if info.prompt} <= set(hosted.prompts.ids())
