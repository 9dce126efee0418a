"""Which of two images is better, and when that must not be said."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from loopwright.errors import ImageError
from loopwright.workflows.iqa.comparing import ToolDifference, compare, verdict

SIDE = 128

Encode = Callable[..., Path]


@pytest.fixture
def encode(photograph, tmp_path: Path) -> Encode:
    """Write the middle of a photograph to a file."""

    def make(file: str, name: str = "chelsea", side: int = SIDE, **options: int) -> Path:
        rgb = photograph(name)
        top, left = (rgb.shape[0] - SIDE) // 2, (rgb.shape[1] - SIDE) // 2
        Image.fromarray(rgb[top : top + SIDE, left : left + SIDE]).resize((side, side)).save(tmp_path / file, **options)
        return tmp_path / file

    return make


def test_two_images_with_what_is_wrong_with_each(encode):
    a, b, reference = encode("a.jpg", quality=5), encode("b.jpg", quality=80), encode("r.png")
    found = compare(a, b, reference)
    assert found.better == "B" and found.verdict.startswith("B is better by ") and "more bytes" in found.verdict
    assert (found.tools[0].tool, found.tools[0].primary) == ("MDSI", True)
    assert found.a.evidence.distortion_set["Global"] and found.a.wrong.startswith("Found in the whole image")
    assert found.bytes_change > 0
    back = compare(b, a, reference)
    assert back.better == "A"
    assert [(tool.tool, tool.b, tool.a) for tool in back.tools] == [
        (tool.tool, pytest.approx(tool.a), pytest.approx(tool.b)) for tool in found.tools
    ]
    assert "without a reference" in compare(a, b).verdict


def test_no_verdict_where_nothing_differs(encode):
    a, reference = encode("a.jpg", quality=30), encode("r.png")
    same = compare(a, shutil.copy(a, a.with_name("copy.jpg")), reference)
    assert same.identical
    assert (same.better, same.verdict) == (None, "A and B are identical, pixel for pixel: no difference.")
    assert all(tool.difference == 0 for tool in same.tools)
    close = compare(a, encode("b.jpg", quality=32), reference)
    assert close.better is None and close.verdict.startswith("No difference that MDSI can tell")


def test_no_verdict_on_what_does_not_lie_on_its_reference(encode, tmp_path):
    coded, reference = encode("a.jpg", quality=15), encode("r.png")
    with Image.open(reference) as image:
        ImageChops.offset(image, 3, 0).save(tmp_path / "b.png")
    found = compare(coded, tmp_path / "b.png", reference)
    assert (found.better, found.verdict[:33]) == (None, "No verdict: of B, the image is di")


def test_sizes_that_differ_without_a_reference_warn(encode):
    a, b = encode("a.jpg", quality=90), encode("b.jpg", quality=90, side=64)
    found = compare(a, b)
    assert found.warning is not None and "A has 128 x 128 pixels and B 64 x 64" in found.warning
    assert "--reference" in found.warning
    with pytest.raises(ImageError, match="give two images of one size"):
        compare(a, b, encode("r.png"))


def scored(tool: str, difference: float) -> ToolDifference:
    return ToolDifference(tool=tool, primary=tool == "MDSI", a=3.0, b=3.0 + difference, error=0.25)


@pytest.mark.parametrize(
    ("tools", "better", "said"),
    [
        ([scored("MDSI", 0.1)], None, "No difference that MDSI can tell"),
        ([scored("MDSI", -0.4)], "A", "A is better by 0.40 points on MDSI at 4.8% fewer bytes"),
        ([scored("MDSI", 0.4), scored("SSIM", -0.1)], "B", "B - A is +0.40"),
        ([scored("MDSI", 0.4), scored("SSIM", -0.3)], None, "contradict each other: B - A is +0.40 on MDSI, -0.30 on"),
        ([], None, "No tool could score both images"),
    ],
)
def test_when_a_verdict_is_given(tools, better, said):
    found, text = verdict(tools, False, 0.05, blind=False)
    assert found == better and said in text
