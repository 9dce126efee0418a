"""What `run_pipeline` and its relatives refuse or remark, in words, before anything runs."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image

from loopwright.errors import InputError
from loopwright.workflows.iqa import IQAConfig, run_pipeline, stream_pipeline, trace_pipeline

COFFEE = Path(skimage.__file__).parent / "data" / "coffee.png"


@pytest.mark.parametrize("replans", [-1, 1.5, "two"])
def test_a_number_of_replans_that_is_none(replans):
    with pytest.raises(InputError, match="max_replan_iterations: "):
        run_pipeline("Rate it", COFFEE, max_replan_iterations=replans)


@pytest.mark.parametrize("region", [(1, 2, 3), (0, 0, 50.5, 60), "0,0,50,60", (0, 0, 50, 60, 70)])
def test_a_region_that_is_none(region):
    with pytest.raises(InputError, match="region"):
        run_pipeline("Rate it", COFFEE, region=region)


def test_numbers_of_numpy_make_a_region():
    region = tuple(np.array([0, 0, 200, 200]))
    assert (
        "region 0,0,200,200" in run_pipeline("Is it sharp?", COFFEE, region=region)["executor_evidence"].distortion_set
    )


@pytest.mark.parametrize("run", [trace_pipeline, lambda *given, **options: list(stream_pipeline(*given, **options))])
def test_an_option_that_nobody_knows(run):
    with pytest.raises(TypeError, match=r"unknown option 'refrence_path'\. Did you mean 'reference_path'"):
        run("Rate it", COFFEE, refrence_path=COFFEE)


def test_a_limit_above_the_ceiling_is_told_in_the_log_and_the_state(caplog):
    state = run_pipeline("Rate it", COFFEE, max_replan_iterations=99)
    assert state["max_replan_iterations"] == 10
    assert "max_replan_iterations=99 is above langgraph.max_iterations=10, which counts" in caplog.text


@pytest.mark.parametrize("enable", [True, False])
def test_a_resume_without_a_checkpoint_says_how_checkpoints_are_kept(photograph, tmp_path, caplog, enable):
    Image.fromarray(photograph("coffee")).resize((300, 200)).save(small := tmp_path / "small.png")
    config = IQAConfig.model_validate(
        {"pipeline": {"checkpoint": {"enable": enable, "save_dir": str(tmp_path / "kept")}}}
    )
    with caplog.at_level(logging.WARNING, "loopwright.iqa"):
        state = run_pipeline("Is it sharp?", small, config=config, sample_id="street", resume=True)
    said = caplog.text
    assert state["summarizer_result"]
    assert f"nothing to resume: there is no checkpoint of run 'street' in '{tmp_path / 'kept'}'" in said
    assert "starts anew and keeps one" in said
    assert ("Checkpoints are enabled" in said) is enable
    assert ("Checkpoints are disabled" in said and "set pipeline.checkpoint.enable to true" in said) is not enable
    caplog.clear()
    run_pipeline("Is it sharp?", small, config=config, sample_id="street", resume=True)
    assert "nothing to resume" not in caplog.text
