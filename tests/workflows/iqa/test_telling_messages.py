"""Messages that name what was given, what is known and the fix: sizes, regions, checkpoints."""

from __future__ import annotations

import json
import logging

import pytest
from PIL import Image
from typer.testing import CliRunner

from loopwright.cli import app
from loopwright.errors import ImageError
from loopwright.workflows.iqa import IQAConfig, run_pipeline
from loopwright.workflows.iqa.comparing import compare_folders, compare_images
from loopwright.workflows.iqa.comparing.report import write_comparison_report


@pytest.fixture
def pictures(photograph, tmp_path):
    """One photograph in two sizes, the large one a second time, and both in folders of their own."""
    large = Image.fromarray(photograph("coffee"))
    small = large.resize((300, 200))
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    large.save(tmp_path / "large.png")
    large.save(tmp_path / "same.jpg", quality=40)
    small.save(tmp_path / "small.png")
    for name, image in {"one/a": large, "one/b": large, "two/a": small, "two/b": large}.items():
        image.save(tmp_path / f"{name}.jpg", quality=90 if name[0] == "o" else 50)
    return tmp_path


def test_a_comparison_of_different_sizes_without_a_reference_warns(pictures):
    found = compare_images(pictures / "large.png", pictures / "small.png")
    assert found.warning.startswith("the sizes differ: A has 600 x 400 pixels and B 300 x 200, 4 times as many.")
    assert "depend on the scale" in found.warning
    assert "one size, or give the pristine image with --reference" in found.warning
    assert compare_images(pictures / "large.png", pictures / "same.jpg").warning is None
    assert compare_images(pictures / "same.jpg", pictures / "one" / "a.jpg", pictures / "large.png").warning is None


def test_pairs_of_folders_that_differ_in_size_are_counted(pictures):
    found = compare_folders(pictures / "one", pictures / "two", workers=1)
    assert found.warning.startswith(
        "1 of 2 pairs differ in size; in the first, a.jpg, A has 600 x 400 pixels and B 300"
    )


@pytest.mark.slow
def test_the_warning_stands_on_the_screen_in_the_json_and_in_the_page(pictures):
    given = ["iqa", "compare", str(pictures / "large.png"), str(pictures / "small.png")]
    page = pictures / "page.html"
    shown = CliRunner().invoke(app, [*given, "--report", str(page)])
    assert "warning: the sizes differ: A has 600 x 400" in shown.output
    assert "the sizes differ: A has 600 x 400 pixels" in page.read_text("utf-8")
    as_json = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    assert as_json["warning"].startswith("the sizes differ")
    same = compare_images(pictures / "large.png", pictures / "same.jpg")
    assert "Warning" not in write_comparison_report(same, page).read_text("utf-8")


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
