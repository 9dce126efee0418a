"""The report: what it shows, in which order, that it can be read, and its maps of where an image differs from its reference."""

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skimage
from distort import distort
from findings import evidence
from PIL import Image
from report_pages import GONE, Element, make, make_row, rich_row, thumbnail

from loopwright.errors import ImageError
from loopwright.workflows.iqa import ExecutorOutput, IQAConfig, trace_pipeline
from loopwright.workflows.iqa.report import THUMBNAIL_BYTES, THUMBNAIL_SIDE, ReportRow
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.workflow import sample_path

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"
CAT = PHOTOGRAPHS / "chelsea.png"


@pytest.fixture(scope="module")
def blurred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("images") / "cat-blurred.png"
    Image.fromarray(distort(load_image(CAT).rgb, "gaussian blur", 4)).save(path)
    return path


@pytest.fixture(scope="module")
def real(blurred: Path) -> ReportRow:
    """A run of the whole pipeline, with a reference, that asks for an object and so replans."""
    query = "Is the cat blurry?"
    result = trace_pipeline(query, blurred, reference_path=CAT, config=IQAConfig())
    return ReportRow("cat", blurred, CAT, query, result.state, result.seconds)


def test_a_real_run_is_shown_whole(real: ReportRow, tmp_path: Path):
    article = make(tmp_path / "report.html", [real]).one("article")
    state = real.state
    answer, evidence = state["summarizer_result"], state["executor_evidence"]
    assert article.one("h2").words == "1 cat"
    assert article.one(".query").text == f"Question: {real.query}"
    assert article.one(".answer").text == f"Answer: {answer.final_answer}"
    assert article.one(".reasoning").text == answer.quality_reasoning
    assert evidence.tool_logs and evidence.distortion_analysis
    table = article.one("table")
    for log, line in zip(evidence.tool_logs, table.one("tbody").all("tr"), strict=True):
        assert log.score is not None and log.raw is not None
        assert line.one("th").words.startswith(log.tool)
        assert [cell.words for cell in line.all("td")][:2] == [f"{log.raw:.4g}", f"{log.score:.2f}"]
    findings = [item for items in evidence.distortion_analysis.values() for item in items]
    for item, shown in zip(findings, article.one(".findings").all("li"), strict=True):
        assert shown.one(".severity").text == item.severity.value
        assert item.type in shown.words and " ".join(item.explanation.split()) in shown.words
        assert [name.text for name in shown.all("dt")] == [name.replace("_", " ") for name in item.measured]


def test_worst_first_and_no_score_last(tmp_path: Path):
    measured = ExecutorOutput(quality_scores={"SSIM": 4.8, "MDSI": 1.4}, primary_tool="MDSI")
    rows = [
        make_row("none", score=None),
        make_row("good", score=4.4),
        ReportRow("failed", GONE, None, "q", {"query": "q", "image_path": "x", "error": "broke"}, 0.0),
        make_row("bad", score=1.2),
        make_row("also bad", score=1.2),
        make_row("by tool", score=None, executor_evidence=measured),
        make_row("own score counts", score=2.0, executor_evidence=measured),
    ]
    page = make(tmp_path / "report.html", rows)
    names = [article.one("h2").one("bdi").text for article in page.all("article")]
    assert names[:5] == ["bad", "also bad", "by tool", "own score counts", "good"]
    assert names[5:] == ["none", "failed"]
    scores = [line.words for line in page.all("p.score")]
    assert scores[2] == "1.4 of 5, bad by MDSI"
    assert scores[3] == "2.0 of 5, poor by MDSI + findings"
    assert scores[5:] == ["no score"] * 2


def test_the_page_is_sound(real: ReportRow, tmp_path: Path):
    page = make(tmp_path / "report.html", [real, rich_row(), make_row()])
    assert (tmp_path / "report.html").read_text("utf-8").lower().startswith("<!doctype html>")
    assert page.one("html").attributes == {"lang": "en"}
    for landmark in ("h1", "header", "main", "footer"):
        page.one(landmark)
    ids = [element.attributes["id"] for element in page.all("") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert all(article.attributes["aria-labelledby"] in ids for article in page.all("article"))
    assert all(image.attributes["alt"] for image in page.all("img"))
    assert all(cell.attributes.get("scope") in ("row", "col") for cell in page.all("th"))
    assert all(len(folded.all("summary")) == 1 for folded in page.all("details"))
    assert all(table.all("caption") for table in page.all("table"))


def test_thumbnails_look_like_their_images(blurred: Path, tmp_path: Path):
    figures = make(tmp_path / "report.html", [replace(make_row(image=blurred), reference_path=CAT)]).all("figure")
    assert [figure.one("b").text for figure in figures] == ["Image", "Map", "Reference"]
    del figures[1]
    assert figures[0].one("bdi").text == f"…/{blurred.parent.name}/{blurred.name}"
    shown = [thumbnail(figure) for figure in figures]
    for path, small in zip((blurred, CAT), shown, strict=True):
        whole = Image.open(path).convert("RGB")
        assert max(small.size) == THUMBNAIL_SIDE
        assert abs(small.width / small.height - whole.width / whole.height) < 0.01
        expected = np.asarray(whole.resize(small.size, Image.Resampling.LANCZOS), float)
        assert np.abs(np.asarray(small, float) - expected).mean() < 4
    detail = [np.abs(np.diff(np.asarray(small.convert("L"), float))).mean() for small in shown]
    assert detail[0] < 0.8 * detail[1]


def test_an_image_that_vanished_is_named(tmp_path: Path):
    row = replace(make_row(image=tmp_path / "was-here.png"), reference_path=tmp_path)
    figures = make(tmp_path / "report.html", [row]).all("figure")
    assert not any(figure.all("img") for figure in figures)
    with pytest.raises(ImageError) as caught:
        load_image(tmp_path / "was-here.png")
    assert figures[0].one(".missing").text == f"No thumbnail: {caught.value}"
    assert "is a folder" in figures[1].one(".missing").text
    (large,) = make(tmp_path / "report.html", [replace(make_row(image=CAT), max_pixels=1000)]).all("figure")
    assert "limit of 1,000" in large.one(".missing").text


HARBOUR = sample_path("harbour")


def row(path: Path, reference: Path | None = None, *found: tuple[str, str], **fields: object) -> ReportRow:
    made = make_row(image=path, executor_evidence=evidence(*found, score=None, **fields))
    return replace(made, reference_path=reference)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The harbour with noise in its left half alone."""
    pixels = load_image(HARBOUR).rgb.copy()
    half = pixels.shape[1] // 2
    pixels[:, :half] = distort(pixels, "gaussian noise", 5)[:, :half]
    path = tmp_path_factory.mktemp("maps") / "noisy.png"
    Image.fromarray(pixels).save(path)
    return path


def colourful(figure: Element) -> np.ndarray:
    pixels = np.asarray(thumbnail(figure), float)
    return pixels.max(axis=2) - pixels.min(axis=2)


def test_the_map_is_coloured_where_the_image_differs_from_its_reference(noisy: Path, tmp_path: Path):
    figure = make(tmp_path / "report.html", [row(noisy, HARBOUR, ("gaussian noise", "severe"))]).one("figure.map")
    colour = colourful(figure)
    half = colour.shape[1] // 2
    assert colour[:, : half - 12].mean() > 4 * colour[:, half + 12 :].mean()
    assert "1: a difference of" in figure.one("figcaption").words
    assert figure.all("img")[0].attributes["alt"] == "Map: Local difference in edges and colours"


def test_an_image_that_is_its_reference_has_an_empty_map(tmp_path: Path):
    assert colourful(make(tmp_path / "report.html", [row(HARBOUR, HARBOUR)]).one("figure.map")).max() < 12


def test_regions_are_outlined_and_named(noisy: Path, tmp_path: Path):
    page = make(tmp_path / "report.html", [row(noisy, HARBOUR, regions={"boat": (40, 80, 60, 100)})])
    assert "boat 40, 80, 60, 100 (left, top, width, height), outlined" in page.one(".facts").words


@pytest.mark.parametrize("gone", [False, True])
def test_without_a_reference_there_is_no_map(gone: bool, noisy: Path, tmp_path: Path):
    made = row(noisy.with_name("gone.png") if gone else noisy, HARBOUR if gone else None, ("noise", "severe"))
    assert not make(tmp_path / "report.html", [made]).all("figure.map")


def test_an_image_that_is_too_small_for_a_map_says_so(tmp_path: Path):
    path = tmp_path / "small.png"
    Image.new("RGB", (20, 20), "teal").save(path)
    figure = make(tmp_path / "report.html", [row(path, path)]).one("figure.map")
    assert not figure.all("img") and figure.one(".missing").text.startswith("No map: ")


def test_a_picture_has_a_bound(tmp_path: Path):
    path = tmp_path / "chance.png"
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (400, 400, 3), np.uint8)).save(path)
    figures = make(tmp_path / "report.html", [row(path, path)]).all("figure")
    sizes = [
        len(base64.b64decode((figure.all("img")[0].attributes["src"] or "").partition(",")[2])) for figure in figures
    ]
    assert len(sizes) == 3 and max(sizes) <= THUMBNAIL_BYTES
