"""The report's maps: where an image differs from its reference, and what the colours mean."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distort import distort
from PIL import Image
from report_pages import Element, make, make_row, thumbnail

from loopwright.workflows.iqa.report import ReportRow
from loopwright.workflows.iqa.report.pictures import THUMBNAIL_BYTES
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.sources.sample import sample_path

HARBOUR = sample_path("harbour")


def finding(kind: str) -> DistortionFinding:
    return DistortionFinding(type=kind, severity="severe", confidence=0.9, explanation="x")


def row(
    path: Path, reference: Path | None = None, regions: dict | None = None, **scopes: list[DistortionFinding]
) -> ReportRow:
    evidence = ExecutorOutput(distortion_analysis=scopes, regions=regions or {})
    return replace(make_row(image=path, executor_evidence=evidence), reference_path=reference)


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
    page = make(tmp_path / "report.html", [row(noisy, HARBOUR, Global=[finding("gaussian noise")])])
    figure = page.one("figure.map")
    colour = colourful(figure)
    half = colour.shape[1] // 2
    assert colour[:, : half - 12].mean() > 4 * colour[:, half + 12 :].mean()
    assert "1: a difference of" in figure.one("figcaption").words
    assert figure.all("img")[0].attributes["alt"] == "Map: Local difference in edges and colours"


def test_an_image_that_is_its_reference_has_an_empty_map(tmp_path: Path):
    assert colourful(make(tmp_path / "report.html", [row(HARBOUR, HARBOUR)]).one("figure.map")).max() < 12


def test_regions_are_outlined_and_named(noisy: Path, tmp_path: Path):
    page = make(tmp_path / "report.html", [row(noisy, HARBOUR, {"boat": (40, 80, 60, 100)})])
    assert "boat 40, 80, 60, 100 (left, top, width, height), outlined" in page.one(".facts").words


@pytest.mark.parametrize("gone", [False, True])
def test_without_a_reference_there_is_no_map(gone: bool, noisy: Path, tmp_path: Path):
    made = row(noisy.with_name("gone.png") if gone else noisy, HARBOUR if gone else None, Global=[finding("noise")])
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
