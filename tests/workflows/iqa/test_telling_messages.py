"""A resume without a checkpoint names what was given and the fix."""

from __future__ import annotations

import logging

import pytest
from PIL import Image

from loopwright.workflows.iqa import IQAConfig, run_pipeline


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
