"""Two folders: pairs, curves, what is left out, the verdict, and the page."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from report_pages import Element, Tree

from loopwright.errors import InputError
from loopwright.workflows.iqa.comparing import FolderComparison, compare_folders, compare_images
from loopwright.workflows.iqa.comparing.report import write_comparison_report
from loopwright.workflows.iqa.comparing.results import Interval, Rates, RateSummary, ToolSummary
from loopwright.workflows.iqa.comparing.winners import codecs_verdict, pairs_verdict

NAMES = ("astronaut", "camera", "chelsea", "coffee", "rocket", "coins")
SIDE = 128

Save = Callable[[Image.Image, Path, str], None]


def save_as(suffix: str, *qualities: int) -> Save:
    """Encode in one quality under the picture's own name, or in several under names that tell the quality."""

    def save(image: Image.Image, folder: Path, name: str) -> None:
        for quality in qualities:
            stem = name if len(qualities) == 1 else f"{name}_q{quality}"
            image.save(folder / f"{stem}{suffix}", quality=quality)

    return save


def save_pristine(image: Image.Image, folder: Path, name: str) -> None:
    image.save(folder / f"{name}.png")


@pytest.fixture
def encode(photograph, tmp_path: Path) -> Callable[..., Path]:
    def make(folder: str, save: Save, names: Sequence[str] = NAMES) -> Path:
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in names:
            rgb = photograph(name)
            top, left = (rgb.shape[0] - SIDE) // 2, (rgb.shape[1] - SIDE) // 2
            save(Image.fromarray(rgb[top : top + SIDE, left : left + SIDE]), tmp_path / folder, name)
        return tmp_path / folder

    return make


def by_tool(found: FolderComparison) -> dict[str, ToolSummary]:
    return {item.tool: item for item in found.tools}


def test_strong_against_weak_compression(encode):
    a, b = encode("a", save_as(".jpg", 10)), encode("b", save_as(".jpg", 80))
    references = encode("r", save_pristine)
    found = compare_folders(a, b, references, workers=1)
    assert found.verdict.better == "B" and not found.left_out
    first = found.tools[0]
    assert (first.tool, first.primary, first.pairs, first.groups) == ("MDSI", True, 6, 6)
    assert first.interval is not None and 0 < first.interval.low < first.difference < first.interval.high
    assert (first.share_a, first.share_b) == (0, 1)
    assert (first.sign_p, first.wilcoxon_p) == pytest.approx((2 / 64, 2 / 64))
    said = f"B is better by {first.difference:.2f} [+{first.interval.low:.2f}, +{first.interval.high:.2f}] of 5 points"
    assert found.verdict.text.startswith(said)
    assert found.rates is not None
    sizes = [sum((folder / f"{name}.jpg").stat().st_size for name in NAMES) for folder in (a, b)]
    assert found.rates.bits_per_pixel_a == pytest.approx(8 * sizes[0] / (6 * SIDE * SIDE))
    assert found.rates.change == pytest.approx(sizes[1] / sizes[0] - 1)
    assert f"{found.rates.change:.1%} more bytes" in found.verdict.text
    # Each image gets what it gets alone.
    pair = compare_images(a / "coffee.jpg", b / "coffee.jpg", references / "coffee.png")
    coffee = next(item for item in found.pairs if item.name == "coffee")
    alone = {tool.tool: tool.difference for tool in pair.tools}
    assert alone.pop("MS-SSIM") is None  # five scales need a larger image
    assert coffee.differences == alone
    (failure,) = found.failures
    assert (failure.tool, failure.images) == ("MS-SSIM", 12) and "128 x 128" in failure.example


def test_a_folder_against_its_copy(encode, tmp_path: Path):
    a = encode("a", save_as(".jpg", 30))
    shutil.copytree(a, tmp_path / "copy")
    found = compare_folders(a, tmp_path / "copy", encode("r", save_pristine), workers=1)
    assert found.verdict.better is None
    assert found.verdict.text == "All 6 pairs are identical, pixel for pixel: no difference."
    for item in found.tools:
        assert item.interval is not None and item.interval.low <= 0 <= item.interval.high
        assert (item.difference, item.share_a, item.share_b, item.wilcoxon_p) == (0, 0, 0, None)


def test_over_processes_as_in_one_and_again(encode):
    names = NAMES[:3]
    saves = save_as(".jpg", 20), save_as(".webp", 20), save_pristine
    folders = [encode(folder, save, names) for folder, save in zip("abr", saves, strict=True)]
    seen: list[tuple[int, int]] = []
    found = compare_folders(
        *folders, workers=2, seed=3, on_progress=lambda now: seen.append((now.done, now.total))
    )  # fmt: skip
    assert seen == [(done, 6) for done in range(1, 7)]
    assert found == compare_folders(*folders, workers=1, seed=3)


def test_one_pair_has_no_interval(encode):
    names = ("coffee",)
    a, b = encode("a", save_as(".jpg", 5), names), encode("b", save_as(".jpg", 90), names)
    found = compare_folders(a, b, encode("r", save_pristine, names), workers=1)
    assert found.tools[0].interval is None
    assert found.verdict.better == "B" and "a single pair gives no interval" in found.verdict.text


def test_without_references(encode):
    found = compare_folders(encode("a", save_as(".jpg", 5)), encode("b", save_as(".jpg", 90)), workers=1)
    assert found.reference_mode.value == "No-Reference" and found.references is None
    assert "6 pairs without a reference" in found.verdict.text
    assert all(pair.reference is None for pair in found.pairs)


def test_bad_and_unmatched_files_are_left_out_and_told(encode):
    a, b, references = encode("a", save_as(".jpg", 10)), encode("b", save_as(".jpg", 80)), encode("r", save_pristine)
    (a / "coffee.jpg").write_bytes((a / "coffee.jpg").read_bytes()[:300])
    Image.new("RGB", (64, 64)).save(b / "rocket.jpg")  # not of its reference's size
    (b / "coins.jpg").unlink()
    Image.new("RGB", (64, 64)).save(a / "stranger.jpg")
    found = compare_folders(a, b, references, workers=1)
    assert [pair.name for pair in found.pairs] == ["astronaut", "camera", "chelsea"]
    told = {(item.side, item.path): item for item in found.left_out}
    assert told["A", "coffee.jpg"].bad and "coffee.jpg" in told["A", "coffee.jpg"].why
    assert told["B", "rocket.jpg"].bad and "give two images of one size" in told["B", "rocket.jpg"].why
    assert not told["A", "coins.jpg"].bad and "no image of B has its name" in told["A", "coins.jpg"].why
    assert told["A", "stranger.jpg"].why == "no reference has its name or begins it"
    assert len(told) == 4
    assert "3 are few" in found.verdict.text


@cache
def _codecs(folder: Path) -> FolderComparison:
    return compare_folders(folder / "jpeg", folder / "webp", folder / "r", workers=1)


@pytest.fixture
def codecs(encode, tmp_path: Path) -> FolderComparison:
    names = NAMES[:3]
    encode("jpeg", save_as(".jpg", 10, 25, 45, 70), names)
    encode("webp", save_as(".webp", 5, 20, 40, 60, 80), names)
    encode("r", save_pristine, names)
    return _codecs(tmp_path)


def test_two_codecs_at_several_rates(codecs):
    assert codecs.by_curves and not codecs.pairs and codecs.rates is None
    psnr = next(item for item in codecs.codecs if item.tool == "PSNR")
    assert (psnr.references, psnr.left_out) == (3, 0)
    assert psnr.bd_rate is not None and psnr.bd_quality is not None and psnr.bd_rate_interval is not None
    # WebP is known to need less than JPEG with fixed Huffman tables by PSNR; tiny images only favour it more.
    assert -0.8 < psnr.bd_rate < -0.1 and psnr.bd_quality > 0 and psnr.bd_rate_interval.high < 0
    curves = [curve for curve in codecs.curves if curve.tool == "PSNR"]
    logs = [np.log1p(curve.bd_rate) for curve in curves]
    assert psnr.bd_rate == pytest.approx(np.expm1(np.mean(logs)))
    assert [len(curve.a) for curve in curves] == [4, 4, 4] and [len(curve.b) for curve in curves] == [5, 5, 5]
    back = compare_folders(codecs.b, codecs.a, codecs.references, workers=1)
    for one, other in zip(codecs.codecs, back.codecs, strict=True):
        if one.bd_rate is not None and other.bd_rate is not None:
            assert 1 + other.bd_rate == pytest.approx(1 / (1 + one.bd_rate))


def test_curves_that_do_not_rise_are_told_and_the_pairs_decide(encode, photograph):
    # Four levels of noise in both folders: no rates, though there are four images of each reference.
    def noise(strength: float) -> Save:
        def save(image: Image.Image, folder: Path, name: str) -> None:
            pixels, chance = np.asarray(image, float), np.random.default_rng(len(name))
            for level in (1, 2, 3, 4):
                noisy = pixels + chance.normal(0, strength * level, pixels.shape)
                Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(folder / f"{name}_{level}.png")

        return save

    a, b = encode("a", noise(12), NAMES[:2]), encode("b", noise(4), NAMES[:2])
    found = compare_folders(a, b, encode("r", save_pristine, NAMES[:2]), workers=1)
    assert not found.by_curves and found.verdict.better == "B"
    assert "8 pairs of 2 references" in found.verdict.text
    problems = [curve.problem or "" for curve in found.curves if curve.tool == "MDSI"]
    assert len(problems) == 2 and all("the curve of A does not rise" in problem for problem in problems)
    assert found.tools[0].groups == 2


def test_what_cannot_be_compared(encode, tmp_path: Path):
    a, b = encode("a", save_as(".jpg", 30), NAMES[:1]), encode("b", save_as(".jpg", 60), NAMES[1:2])
    (tmp_path / "empty").mkdir()
    for given, said in (
        ((a, a), "A and B are the same"),
        ((a, b), "no image of A matches one of B: A has 'astronaut.jpg', B has 'camera.jpg'"),
        ((a, tmp_path / "empty"), "there is no image in"),
        ((a, b / "camera.jpg"), "is no folder; give folders for A, B and --reference"),
        ((a, b, b), "no image of A has a reference, for example 'astronaut.jpg'"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            compare_folders(*given, workers=1)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "astronaut.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InputError, match=r"nothing is left to compare: 'astronaut\.jpg' of B"):
        compare_folders(a, tmp_path / "c", workers=1)


def summary(tool: str, difference: float, half: float | None, groups: int = 40) -> ToolSummary:
    interval = None if half is None else Interval(low=difference - half, high=difference + half)
    return ToolSummary(
        tool=tool, primary=tool == "MDSI", pairs=groups, groups=groups, mean_a=3.0, mean_b=3 + difference,
        difference=difference, interval=interval, share_a=0.2, share_b=0.8, sign_p=None, wilcoxon_p=None, error=0.25,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tools", "better", "said"),
    [
        ([summary("MDSI", 0.31, 0.1)], "B", "B is better by 0.31 [+0.21, +0.41] of 5 points on MDSI at 8.0% fewer bytes"),
        ([summary("MDSI", -0.31, 0.1)], "A", "A is better by 0.31 [+0.21, +0.41] of 5 points on MDSI at 8.7% more bytes"),
        ([summary("MDSI", 0.11, 0.1)], "B", "so small a difference would be lost"),
        ([summary("MDSI", 0.09, 0.1)], None, "No difference that MDSI can tell: B - A is +0.09 [-0.01, +0.19]"),
        ([summary("MDSI", 0.3, 0.1), summary("PSNR", -0.2, 0.1)], None, "but -0.20 [-0.30, -0.10] on PSNR"),
        ([summary("MDSI", 0.3, 0.1), summary("PSNR", -0.2, 0.3)], "B", "B is better"),
        ([summary("MDSI", 0.2, 0.1, groups=3)], None, "3 are few"),
        ([summary("MDSI", 0.3, 0.1, groups=3)], "B", "3 are few"),
        ([summary("MDSI", 0.2, None, groups=1)], None, "a single pair gives no interval"),
        ([summary("MDSI", 0.4, None, 1), summary("PSNR", -0.4, None, 1)], None, "but -0.40 on PSNR"),
        ([summary("MDSI", 0.4, None, 1), summary("PSNR", -0.2, None, 1)], "B", "a single pair gives no interval"),
        ([], None, "nothing can be said"),
    ],
)  # fmt: skip
def test_verdicts_on_pairs(tools, better, said):
    rates = Rates(bits_per_pixel_a=1.0, bits_per_pixel_b=0.92, change=-0.08)
    found = pairs_verdict(tools, rates, identical=0, pairs=40, blind=False)
    assert found.better == better and said in found.text


def codec(tool: str, rate: float | None, interval: tuple[float, float] | None, references: int = 8) -> RateSummary:
    return RateSummary(
        tool=tool, primary=tool == "MDSI", references=references, left_out=1, bd_rate=rate,
        bd_rate_interval=None if interval is None else Interval(low=interval[0], high=interval[1]),
        bd_quality=None, bd_quality_interval=None, bd_rate_raw=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tools", "better", "said"),
    [
        ([codec("MDSI", -0.2, (-0.3, -0.1))], "B", "B is better: B needs 20.0% fewer bits than A for the same MDSI score"),
        ([codec("MDSI", 0.2, (0.1, 0.3))], "A", "A is better: B needs 20.0% more bits"),
        ([codec("MDSI", -0.2, (-0.3, 0.1))], None, "No difference that MDSI can tell: -20.0% [-30.0%, +10.0%]"),
        ([codec("MDSI", -0.2, (-0.3, -0.1)), codec("SSIM", 0.1, (0.05, 0.2))], None, "but +10.0% [+5.0%, +20.0%] on SSIM"),
        ([codec("MDSI", -0.2, None, references=1)], "B", "1 reference, 1 left out; so there is no interval"),
        ([codec("MDSI", -0.2, None, references=1), codec("SSIM", 0.1, None, references=1)], None, "but +10.0% on SSIM"),
        ([codec("MDSI", -0.2, (-0.3, -0.1), references=2)], "B", "so few make a rough interval"),
        ([codec("MDSI", None, None), codec("SSIM", 0.1, (0.05, 0.2))], "A", "on SSIM"),
        ([codec("MDSI", None, None)], None, "nothing can be said"),
    ],
)  # fmt: skip
def test_verdicts_on_curves(tools, better, said):
    found = codecs_verdict(tools)
    assert found.better == better and said in found.text


def page_of(found: FolderComparison, path: Path) -> Element:
    return Tree(write_comparison_report(found, path).read_text("utf-8")).root


def test_the_page_of_curves(codecs, tmp_path: Path):
    page = page_of(codecs, tmp_path / "new" / "page.html")
    assert page.one(".verdict").text == codecs.verdict.text
    assert len(page.all("svg")) == 3 and len(page.all("polyline")) == 6 and len(page.all("circle")) == 27
    assert len(page.all("img")) == 9 or not codecs.codecs[0].references


def test_the_page_needs_nothing_but_itself(encode, tmp_path: Path):
    found = compare_folders(
        encode("a", save_as(".jpg", 10)), encode("b", save_as(".jpg", 80)), encode("r", save_pristine), workers=1
    )
    page = page_of(found, tmp_path / "page.html")
    everything = page.all("")
    assert {element.tag for element in everything}.isdisjoint({"script", "link", "iframe", "object", "form", "a"})
    names = {name for element in everything for name in element.attributes}
    assert names.isdisjoint({"href", "srcset", "style", "action", "background"})
    pictures = [element.attributes["src"] or "" for element in everything if "src" in element.attributes]
    assert len(pictures) == 18
    assert all(re.fullmatch(r"data:image/webp;base64,[\w+/=]+", source) for source in pictures)
    style = page.one("style").text
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme: dark" in style
    policy = next(meta.attributes["content"] for meta in page.all("meta") if "http-equiv" in meta.attributes)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert len(page.all("circle")) == 6


def test_no_file_name_becomes_markup(encode, tmp_path: Path):
    shapes = []
    for name in ("plain", '<b onclick="x">{{ 7 * 7 }}&lt;'):
        folders = []
        for folder, save in (("a", save_as(".jpg", 10)), ("b", save_as(".jpg", 80)), ("r", save_pristine)):
            made = encode(f"{folder}-{name}", save, ("coffee",))
            (source,) = made.iterdir()
            source.rename(source.with_stem(name))
            (made / f"{name}-left.jpg").write_bytes(b"x")
            folders.append(made)
        page = page_of(compare_folders(*folders, workers=1), tmp_path / "page.html")
        assert page.one("h3").text == name
        shapes.append(page.shape())
    assert shapes[0] == shapes[1]


def test_the_page_of_two_images(encode, tmp_path: Path):
    a, b = encode("a", save_as(".jpg", 10), ("coffee",)), encode("b", save_as(".jpg", 80), ("coffee",))
    references = encode("r", save_pristine, ("coffee",))
    found = compare_images(a / "coffee.jpg", b / "coffee.jpg", references / "coffee.png")
    (a / "coffee.jpg").unlink()
    page = Tree(write_comparison_report(found, tmp_path / "page.html").read_text("utf-8")).root
    assert page.one(".verdict").text == found.verdict.text
    assert len(page.all("img")) == 2 and "there is no file" in page.one(".missing").text
    assert len(page.one("tbody").all("tr")) == len(found.tools)
