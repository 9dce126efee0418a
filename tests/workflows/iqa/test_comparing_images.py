"""Two images: which is better, and when that cannot be said."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import ConfigError, ImageError, InputError
from loopwright.workflows.iqa.comparing import compare_images
from loopwright.workflows.iqa.comparing.results import ToolDifference
from loopwright.workflows.iqa.comparing.winners import images_verdict
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.tools.calibration import get_calibration


@pytest.fixture
def folder(tmp_path: Path, photograph) -> Path:
    cat = Image.fromarray(photograph("chelsea"))
    cat.save(tmp_path / "cat.png")
    for quality in (5, 30, 78, 80):
        cat.save(tmp_path / f"q{quality}.jpg", quality=quality)
    return tmp_path


def test_strong_against_weak_compression(folder: Path):
    found = compare_images(folder / "q5.jpg", folder / "q80.jpg", folder / "cat.png")
    assert found.verdict.better == "B" and found.identical is None
    primary = found.tools[0]
    assert (primary.tool, primary.primary) == ("MDSI", True)
    assert primary.score_a is not None and primary.score_b is not None and primary.difference is not None
    assert primary.difference == primary.score_b - primary.score_a > primary.error
    assert f"B is better by {primary.difference:.2f} points on MDSI" in found.verdict.text
    assert all(tool.difference is not None and tool.difference > 0 for tool in found.tools)
    assert found.a.distortions[0].type == "jpeg"
    assert found.a.bits_per_pixel < found.b.bits_per_pixel
    assert found.a.bits_per_pixel == 8 * (folder / "q5.jpg").stat().st_size / (451 * 300)


def test_exchanged_arguments_mirror_everything(folder: Path):
    forth = compare_images(folder / "q5.jpg", folder / "q80.jpg", folder / "cat.png")
    back = compare_images(folder / "q80.jpg", folder / "q5.jpg", folder / "cat.png")
    assert back.verdict.better == "A"
    assert (back.a, back.b) == (forth.b, forth.a)
    for one, other in zip(forth.tools, back.tools, strict=True):
        assert (one.raw_a, one.score_a) == (other.raw_b, other.score_b)
        assert one.difference == -other.difference


def test_a_difference_within_the_error_is_none(folder: Path):
    found = compare_images(folder / "q78.jpg", folder / "q80.jpg", folder / "cat.png")
    assert found.verdict.better is None
    assert found.verdict.text.startswith("No difference that MDSI can tell: A has ")
    assert f"its error is {get_calibration('MDSI').error:.2f} points" in found.verdict.text


def test_without_a_reference(folder: Path):
    with_one = compare_images(folder / "q5.jpg", folder / "q80.jpg", folder / "cat.png")
    found = compare_images(folder / "q5.jpg", folder / "q80.jpg")
    assert found.reference_mode.value == "No-Reference"
    assert {tool.tool for tool in found.tools}.isdisjoint(tool.tool for tool in with_one.tools)
    assert found.tools[0].primary and found.tools[0].error > with_one.tools[0].error
    assert "more than with a reference" in found.verdict.text
    assert found.verdict.better in ("B", None)


def test_what_is_identical_is_said(folder: Path):
    shutil.copy(folder / "q30.jpg", folder / "copy.jpg")
    found = compare_images(folder / "q30.jpg", folder / "copy.jpg", folder / "cat.png")
    assert (found.identical, found.verdict.better) == ("file", None)
    assert found.verdict.text == "A and B are the same file, byte for byte: no difference."
    Image.open(folder / "q30.jpg").save(folder / "decoded.png")
    found = compare_images(folder / "q30.jpg", folder / "decoded.png", folder / "cat.png")
    assert found.identical == "pixels" and "identical, pixel for pixel" in found.verdict.text
    assert all(tool.difference == 0 for tool in found.tools)


def test_without_a_reference_sizes_may_differ(folder: Path, photograph):
    Image.fromarray(photograph("chelsea")[:200, :200]).save(folder / "part.png")
    found = compare_images(folder / "cat.png", folder / "part.png")
    assert (found.a.image.width, found.b.image.width) == (451, 200)
    with pytest.raises(ImageError, match="give two images of one size"):
        compare_images(folder / "q30.jpg", folder / "part.png", folder / "cat.png")


def test_an_image_that_some_tools_cannot_measure(tmp_path: Path, photograph):
    # MS-SSIM needs five scales; the others do not.
    small = photograph("chelsea")[100:140, 100:140]
    Image.fromarray(small).save(tmp_path / "r.png")
    Image.fromarray(np.clip(small + 20.0, 0, 255).astype(np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(small[::-1]).save(tmp_path / "b.png")
    found = compare_images(tmp_path / "a.png", tmp_path / "b.png", tmp_path / "r.png")
    failed = [tool for tool in found.tools if tool.failed]
    assert failed and all(tool.difference is None for tool in failed)
    assert found.verdict.better == "A"


def difference(tool: str, value: float | None, error: float = 0.2) -> ToolDifference:
    score = None if value is None else 3.0
    return ToolDifference(
        tool=tool, primary=tool == "MDSI", raw_a=None, raw_b=None, score_a=score,
        score_b=None if value is None else 3.0 + value, difference=value, error=error,
        failed="broke" if value is None else None,
    )  # fmt: skip


def test_tools_that_contradict_each_other_give_no_verdict():
    tools = [difference("MDSI", 0.5), difference("VSI", -0.1), difference("PSNR", -0.6)]
    found = images_verdict(tools, None, blind=False)
    assert found.better is None and found.contradicted_by == ["PSNR"]
    assert "contradict each other: MDSI says that B is better by 0.50 of 5 points, PSNR that A is by 0.60" in found.text
    assert images_verdict(tools[:2], None, blind=False).better == "B"


def test_the_next_tool_stands_in_for_one_that_failed():
    found = images_verdict([difference("MDSI", None), difference("VSI", -0.5)], None, blind=False)
    assert found.better == "A" and "on VSI" in found.text
    assert "nothing can be said" in images_verdict([difference("MDSI", None)], None, blind=False).text


def test_what_cannot_be_compared(folder: Path):
    with pytest.raises(InputError, match="A and B are the same"):
        compare_images(folder / "cat.png", folder / "." / "cat.png")
    (folder / "cut.jpg").write_bytes((folder / "q80.jpg").read_bytes()[:500])
    with pytest.raises(ImageError, match=r"cut\.jpg"):
        compare_images(folder / "cut.jpg", folder / "q80.jpg")
    with pytest.raises(ImageError, match="there is no file"):
        compare_images(folder / "q80.jpg", folder / "none.png", folder / "cat.png")


def test_the_configuration_holds(folder: Path):
    small = IQAConfig.model_validate({"iqa": {"tools": {"max_pixels": 1000}}})
    with pytest.raises(ImageError, match="more than the limit of 1,000"):
        compare_images(folder / "q30.jpg", folder / "q80.jpg", config=small)
    missing = IQAConfig.model_validate({"iqa": {"tools": {"calibration": str(folder / "none.json")}}})
    with pytest.raises(ConfigError, match="cannot read the calibration"):
        compare_images(folder / "q30.jpg", folder / "q80.jpg", config=missing)
