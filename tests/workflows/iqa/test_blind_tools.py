from __future__ import annotations

import io
import json
from importlib import resources
from pathlib import Path

import cv2
import numpy as np
import pytest
from distort import distort
from PIL import Image
from scipy.optimize import brentq
from scipy.special import gamma
from scipy.stats import spearmanr

from loopwright.errors import ImageError
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import LoadedImage, load_image
from loopwright.workflows.iqa.tools.blind.brisque import brisque, brisque_features
from loopwright.workflows.iqa.tools.blind.gaussian_model import blind_model, blind_score
from loopwright.workflows.iqa.tools.blind.piqe import piqe
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.niqe import niqe
from loopwright.workflows.iqa.tools.registry import primary_tool

BIQ = Path(__file__).parents[4] / "shared" / "data" / "iqa" / "biq2021"
TOOLS = (brisque, piqe, blind_score)
BLIND = ("BlindScore", "BRISQUE", "NIQE", "PIQE")

PYPIQE = {
    "astronaut": (33.66154221836559, 87.3116806193157, 50.35087918152996),
    "chelsea": (34.016980728125205, 76.57169191736362, 60.59296062468753),
    "coffee": (27.910756165836048, 78.7344085566741, 60.33147152826888),
    "rocket": (38.77125409454688, 85.2909066697867, 66.23673035500978),
}
"""What pypiqe 1.2 (MIT), a port of MATLAB's function, gives for the photograph, blurred by 2, and noisy by 20."""


def variants(rgb: np.ndarray) -> list[np.ndarray]:
    noise = np.random.default_rng(0).normal(0, 20, rgb.shape)
    return [rgb, cv2.GaussianBlur(rgb, (0, 0), 2), np.clip(rgb + noise, 0, 255).astype(np.uint8)]


@pytest.mark.parametrize("name", PYPIQE)
def test_piqe_is_that_of_matlab(photograph, name):
    assert [piqe(image) for image in variants(photograph(name))] == pytest.approx(PYPIQE[name], abs=1e-3)


def fitted(values: np.ndarray) -> tuple[float, float, float, float]:
    """Asymmetric generalised Gaussian in double precision, its equation solved instead of looked up."""
    left, right = (np.sqrt((values[side] ** 2).mean()) for side in (values < 0, values > 0))
    g = left / right
    wanted = np.abs(values).mean() ** 2 / (values**2).mean() * (g**3 + 1) * (g + 1) / (g**2 + 1) ** 2
    shape = brentq(lambda a: gamma(2 / a) ** 2 / (gamma(1 / a) * gamma(3 / a)) - wanted, 0.2, 10)
    mean = (right - left) * np.sqrt(gamma(1 / shape) / gamma(3 / shape)) * gamma(2 / shape) / gamma(1 / shape)
    return shape, mean, left**2, right**2


def test_brisque_features_are_those_of_the_paper(photograph):
    rgb = photograph("chelsea")
    luma = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float64)
    mean = cv2.GaussianBlur(luma, (7, 7), 7 / 6, borderType=cv2.BORDER_REPLICATE)
    square = cv2.GaussianBlur(luma * luma, (7, 7), 7 / 6, borderType=cv2.BORDER_REPLICATE)
    m = (luma - mean) / (np.sqrt(np.abs(square - mean * mean)) + 1)
    shape, _, left, right = fitted(m)
    expected = [shape, (left + right) / 2]
    for product in (m[:, :-1] * m[:, 1:], m[:-1] * m[1:], m[:-1, :-1] * m[1:, 1:], m[:-1, 1:] * m[1:, :-1]):
        expected += fitted(product)
    assert brisque_features(rgb)[:18] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_pixels_give_the_same_bits_wherever_they_lie(photograph, tool):
    rgb = np.ascontiguousarray(photograph("coffee")[:201, :299])
    first = tool(rgb)
    for offset in (1, 7, 16, 33):
        memory = np.empty(rgb.size + offset, np.uint8)
        moved = memory[offset:].reshape(rgb.shape)
        moved[:] = rgb
        kept = [np.empty(n, np.float32) for n in range(17, 4000, 397 + offset)]
        tool(np.ascontiguousarray(photograph("rocket")[:150, : 160 + offset]))
        assert tool(moved) == first
        assert len(kept) > 5
    assert tool(np.asfortranarray(rgb)) == first


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_too_small_is_refused_and_odd_sizes_are_measured(photograph, tool):
    with pytest.raises(ImageError, match="at least"):
        tool(np.zeros((15, 400, 3), np.uint8))
    with pytest.raises(ImageError, match="uint8"):
        tool(np.zeros((64, 64), np.uint8))
    rgb = photograph("astronaut")
    for height, width in ((32, 33), (47, 301), (300, 65)):
        assert np.isfinite(tool(np.ascontiguousarray(rgb[100 : 100 + height, 100 : 100 + width])))


def loaded(pixels: np.ndarray, folder: Path) -> LoadedImage:
    Image.fromarray(pixels).save(folder / "it.png")
    return load_image(folder / "it.png")


@pytest.mark.parametrize("level", [0, 90, 255])
def test_a_flat_image_has_no_structure_to_measure_and_the_worst_piqe_stands_in(level, tmp_path):
    flat = np.full((128, 128, 3), level, np.uint8)
    for tool in (brisque, blind_score, niqe):
        with pytest.raises(ImageError, match="flat"):
            tool(flat)
    assert piqe(flat) == 100
    logs = run_tools([primary_tool(ReferenceMode.NONE)], loaded(flat, tmp_path), None)
    assert [log.tool for log in logs] == ["BlindScore", "BRISQUE", "NIQE", "PIQE"]
    assert all("flat" in log.error for log in logs[:3])
    assert (logs[3].score, logs[3].fallback_for) == (1.0, "BlindScore")


def test_what_is_too_small_for_it_is_scored_by_the_tool_that_can(photograph, tmp_path):
    image = loaded(np.ascontiguousarray(photograph("astronaut")[100:120, 100:180]), tmp_path)
    logs = run_tools([primary_tool(ReferenceMode.NONE)], image, None)
    assert logs[0].error == ("BlindScore needs at least 32 x 32 pixels, not 80 x 20; give a larger image or region")
    assert [log.tool for log in logs if log.score is not None] == ["PIQE"]
    assert logs[-1].fallback_for == "BlindScore"


@pytest.mark.slow
def test_the_score_falls_with_the_level_of_a_distortion(photograph):
    fallen = total = 0
    for name in ("astronaut", "chelsea", "coffee", "rocket"):
        rgb = photograph(name)
        for kind in ("gaussian blur", "gaussian noise", "jpeg", "jpeg2000", "impulse noise"):
            scores = [blind_score(distort(rgb, kind, level)) for level in (1, 3, 5)]
            assert all(1 <= score <= 5 for score in scores)
            assert scores[2] < blind_score(rgb), (name, kind)
            fallen += (scores[0] > scores[1]) + (scores[1] > scores[2])
            total += 2
    assert fallen >= 0.9 * total


def test_the_model_says_where_it_comes_from_and_is_small():
    folder = resources.files("loopwright.workflows.iqa") / "data"
    told = json.loads((folder / "blind_score.json").read_text())
    model = blind_model()
    assert sum(told["features"].values()) == len(model.mean) == model.points.shape[1]
    assert len(model.points) == len(model.weights)
    assert len((folder / "blind_score.npz").read_bytes()) < 320_000
    assert (model.emphasis**2).sum() == pytest.approx(1)
    agreement = told["agreement"]
    assert agreement["BIQ2021 test"]["srcc"] >= 0.66
    assert agreement["TID2013, references left out"]["srcc"] >= 0.65


@pytest.mark.slow
@pytest.mark.skipif(not BIQ.exists(), reason="the data set is not beside the repository")
def test_it_agrees_with_people_on_photographs_it_has_not_seen():
    rows = [json.loads(line) for line in (BIQ / "manifest.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["group"] == "test"][::4]
    scores = [blind_score(load_image(BIQ / row["image_path"]).rgb) for row in rows]
    assert spearmanr(scores, [row["mos"] for row in rows])[0] > 0.5


def test_a_jpeg_and_its_pixels_have_one_score(photograph, tmp_path):
    buffer = io.BytesIO()
    Image.fromarray(photograph("coffee")).save(buffer, "JPEG", quality=40)
    (tmp_path / "a.jpg").write_bytes(buffer.getvalue())
    pixels = np.asarray(Image.open(io.BytesIO(buffer.getvalue())).convert("RGB"))
    assert blind_score(load_image(tmp_path / "a.jpg").rgb) == blind_score(pixels)
