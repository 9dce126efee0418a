"""Which of two images or folders is better, and when that must not be said."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from loopwright.errors import ImageError, InputError
from loopwright.workflows.iqa.comparing import Comparison, ToolSummary, compare, verdict

NAMES = ("astronaut", "camera", "chelsea", "coffee", "rocket", "coins")
SIDE = 128

Encode = Callable[..., Path]


@pytest.fixture
def encode(photograph, tmp_path: Path) -> Encode:
    """Make a folder of the photographs' middles, encoded; without a quality as PNG."""

    def make(folder: str, suffix: str = ".png", quality: int | None = None, side: int = SIDE) -> Path:
        (tmp_path / folder).mkdir()
        for name in NAMES:
            rgb = photograph(name)
            top, left = (rgb.shape[0] - SIDE) // 2, (rgb.shape[1] - SIDE) // 2
            image = Image.fromarray(rgb[top : top + SIDE, left : left + SIDE]).resize((side, side))
            image.save(tmp_path / folder / f"{name}{suffix}", **({} if quality is None else {"quality": quality}))
        return tmp_path / folder

    return make


def mirrored(found: Comparison) -> list[tuple[str, float, float, float]]:
    return [(tool.tool, tool.mean_b, tool.mean_a, -tool.difference) for tool in found.tools]


def test_two_folders_by_name(encode):
    a, b, references = encode("a", ".jpg", 10), encode("b", ".webp", 90), encode("r")
    (b / "new.webp").write_bytes((b / "coffee.webp").read_bytes())
    (a / "coins.png").write_bytes((references / "coins.png").read_bytes())
    (b / "rocket.webp").write_bytes(b"RIFF")
    found = compare(a, b, references, workers=1)
    assert found.better == "B" and found.verdict.startswith("B is better by ") and "4 pairs" in found.verdict
    assert [pair.name for pair in found.pairs] == ["astronaut", "camera", "chelsea", "coffee"]
    why = {item.path: (item.side, item.why, item.bad) for item in found.left_out}
    assert set(why) == {"new.webp", "coins.png", "coins.jpg", "coins.webp", "rocket"}
    assert why["coins.png"][1].startswith("2 files are called 'coins'") and why["new.webp"][1].startswith(
        "no image of A"
    )
    assert why["rocket"][0] == "pair" and why["rocket"][2] and "rocket.webp" in why["rocket"][1]
    first = found.tools[0]
    assert (first.tool, first.primary, first.pairs, first.share_b) == ("MDSI", True, 4, 1)
    assert first.interval is not None and 0 < first.interval[0] < first.difference < first.interval[1]
    assert found.bytes_change > 0 and not found.pairs[0].a.distortions
    back = compare(b, a, references, workers=1)
    assert back.better == "A"
    assert [pytest.approx(each, abs=1e-9) for each in [m[1:] for m in mirrored(back)]] == [
        (tool.mean_a, tool.mean_b, tool.difference) for tool in found.tools
    ]


@pytest.mark.slow
def test_processes_find_the_same(encode):
    a, b, references = encode("a", ".jpg", 30), encode("b", ".jpg", 60), encode("r")
    assert compare(a, b, references, workers=2) == compare(a, b, references, workers=1)


def test_two_images_with_what_is_wrong_with_each(encode):
    a, b, references = encode("a", ".jpg", 5), encode("b", ".jpg", 80), encode("r")
    found = compare(a / "chelsea.jpg", b / "chelsea.jpg", references / "chelsea.png")
    assert found.better == "B" and found.tools[0].interval is None
    assert found.pairs[0].a.distortions
    near = compare(b / "chelsea.jpg", b / "chelsea.jpg".replace("chelsea", "coffee"))
    assert "without a reference" in near.verdict


def test_no_verdict_where_nothing_differs(encode):
    a, references = encode("a", ".jpg", 30), encode("r")
    shutil.copytree(a, a.with_name("copy"))
    found = compare(a, a.with_name("copy"), references, workers=1)
    assert (found.better, found.verdict) == (None, "All 6 pairs are identical, pixel for pixel: no difference.")
    assert all(tool.difference == 0 for tool in found.tools)
    close = compare(a / "coffee.jpg", encode("b", ".jpg", 32) / "coffee.jpg", references / "coffee.png")
    assert close.better is None and close.verdict.startswith("No difference that MDSI can tell")


def test_sizes_that_differ_without_a_reference_warn(encode):
    a, b = encode("a", ".jpg", 90), encode("b", ".jpg", 90, side=64)
    found = compare(a, b, workers=1)
    assert found.warning is not None and "A has 128 x 128 pixels and B 64 x 64" in found.warning
    assert "6 of 6 pairs" in found.warning and "--reference" in found.warning
    with pytest.raises(ImageError, match="give two images of one size"):
        compare(a / "coffee.jpg", b / "coffee.jpg", a / "camera.jpg")


def test_what_cannot_be_compared(encode, tmp_path):
    a = encode("a", ".jpg", 90)
    (tmp_path / "other").mkdir()
    shutil.copy(a / "coffee.jpg", tmp_path / "other" / "tea.jpg")
    with pytest.raises(InputError, match="A and B are the same"):
        compare(a, a)
    with pytest.raises(InputError, match="is a folder"):
        compare(a / "coffee.jpg", a)
    with pytest.raises(InputError, match="no image of A matches one of B"):
        compare(a, tmp_path / "other")
    with pytest.raises(InputError, match="there is no"):
        compare(a, tmp_path / "none")
    (tmp_path / "other" / "tea.jpg").rename(tmp_path / "other" / "coffee.jpg").write_bytes(b"x")
    with pytest.raises(InputError, match="nothing is left to compare: 'coffee'"):
        compare(a, tmp_path / "other", workers=1)


def summary(tool: str, difference: float, interval: tuple[float, float] | None, pairs: int = 9) -> ToolSummary:
    return ToolSummary(
        tool=tool, primary=tool == "MDSI", pairs=pairs, mean_a=3.0, mean_b=3.0 + difference, difference=difference,
        interval=interval, share_a=0, share_b=0, error=0.25,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tools", "better", "said"),
    [
        ([summary("MDSI", 0.1, (0.05, 0.15))], "B", "on one image so small a difference would be lost"),
        ([summary("MDSI", 0.1, (-0.05, 0.25))], None, "No difference that MDSI can tell"),
        ([summary("MDSI", 0.1, (0.05, 0.15), pairs=3)], None, "No difference that MDSI can tell"),
        ([summary("MDSI", -0.4, (-0.5, -0.3), pairs=3)], "A", "A is better by 0.40 points on MDSI at 4.8% fewer bytes"),
        ([summary("MDSI", 0.4, (0.3, 0.5)), summary("SSIM", -0.1, (-0.2, 0.1))], "B", "+0.40 [+0.30, +0.50]"),
        ([summary("MDSI", 0.4, (0.3, 0.5)), summary("SSIM", -0.1, (-0.2, -0.05))], None, "contradict each other"),
        ([summary("MDSI", 0.4, None, pairs=1), summary("SSIM", -0.1, None, pairs=1)], "B", "B is better by 0.40"),
        ([], None, "No tool could score both images"),
    ],
)
def test_when_a_verdict_is_given(tools, better, said, encode):
    a, b = encode("a", ".jpg", 30), encode("b", ".jpg", 60)
    pairs = compare(a / "coffee.jpg", b / "coffee.jpg").pairs
    found, text = verdict(tools, pairs, 0.05, blind=False)
    assert found == better and said in text
