"""Messages that name what was given, what is known and the fix: sizes, regions, checkpoints."""

from __future__ import annotations

import logging

import pytest
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa import IQAConfig, run_pipeline


@pytest.fixture
def pictures(photograph, tmp_path):
    """One photograph in two sizes."""
    large = Image.fromarray(photograph("coffee"))
    small = large.resize((300, 200))
    large.save(tmp_path / "large.png")
    small.save(tmp_path / "small.png")
    return tmp_path


@pytest.mark.parametrize(
    ("region", "said", "example"),
    [
        (
            (590, 0, 100, 100),
            "leaves the image, which is 600 x 400 pixels: only 10 x 100 pixels of it",
            "500,0,100,100",
        ),
        ((700, 50, 100, 100), "lies outside of the image, which is 600 x 400 pixels.", "500,50,100,100"),
        ((-50, -50, 60, 60), "leaves the image, which is 600 x 400 pixels: only 10 x 10 pixels", "0,0,60,60"),
        ((20, 30, 5, 5), "is too small to judge in the image, which is 600 x 400 pixels.", "20,30,16,16"),
        ((0, 399, 900, 900), "only 600 x 1 pixels of it lie inside", "0,0,600,400"),
    ],
)
def test_an_unusable_region_is_named_as_it_was_given(pictures, region, said, example):
    given = ",".join(map(str, region))
    with pytest.raises(Exception) as caught:
        run_pipeline("Is it sharp?", pictures / "large.png", region=region)
    cause = caught.value.__cause__ or caught.value
    message = str(cause)
    assert isinstance(cause, ImageError)
    assert message.startswith(f"region {given} (left, top, width, height)")
    assert said in message
    assert message.endswith(f"Give at least 16 pixels a side inside the image, for example {example}")
    # The example works.
    good = tuple(map(int, example.split(",")))
    if min(good[2:]) >= 32:
        assert run_pipeline("Is it sharp?", pictures / "large.png", region=good)["summarizer_result"]


@pytest.mark.parametrize("enable", [True, False])
def test_a_resume_without_a_checkpoint_says_how_checkpoints_are_kept(pictures, caplog, enable):
    config = IQAConfig.model_validate(
        {"pipeline": {"checkpoint": {"enable": enable, "save_dir": str(pictures / "kept")}}}
    )
    with caplog.at_level(logging.WARNING, "loopwright.iqa"):
        state = run_pipeline("Is it sharp?", pictures / "small.png", config=config, sample_id="street", resume=True)
    said = caplog.text
    assert state["summarizer_result"]
    assert f"nothing to resume: there is no checkpoint of run 'street' in '{pictures / 'kept'}'" in said
    assert "starts anew and keeps one" in said
    assert ("Checkpoints are enabled" in said) is enable
    assert ("Checkpoints are disabled" in said and "set pipeline.checkpoint.enable to true" in said) is not enable
    caplog.clear()
    run_pipeline("Is it sharp?", pictures / "small.png", config=config, sample_id="street", resume=True)
    assert "nothing to resume" not in caplog.text
