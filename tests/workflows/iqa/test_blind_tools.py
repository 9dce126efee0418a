"""The tools that need no reference: their features and what they refuse; 40 megapixels within bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy.optimize import brentq
from scipy.special import gamma
from scipy.stats import spearmanr
from serving_program import PROGRAM, serving

from loopwright.errors import ImageError
from loopwright.workflows.iqa.sources.images import RGB, LoadedImage, load_image
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.no_reference import blind_score, brisque, brisque_features, grey, niqe
from loopwright.workflows.iqa.tools.registry import get_tool

MOST = 1000
"""Megabytes."""

_ASSESS = """
import resource, subprocess, sys
command = [sys.executable, "-c", "from loopwright.cli import main; main()", "iqa", "assess", *sys.argv[1:]]
subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A process of its own in between, as a new process starts with the peak of the one that started it."""


def _scene(width: int, height: int) -> RGB:
    small = np.random.default_rng(3).integers(0, 256, (height // 32, width // 32, 3)).astype(np.uint8)
    scene = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.add(scene, cv2.randn(np.empty_like(scene), 0, 4)), np.uint8)


@pytest.fixture(scope="module")
def large() -> RGB:
    return _scene(7808, 5120)


@pytest.mark.slow
def test_forty_megapixels_take_less_than_a_gigabyte(large, tmp_path) -> None:
    path = tmp_path / "large.jpg"
    cv2.imwrite(str(path), large)
    done = subprocess.run(
        [sys.executable, "-c", _ASSESS, str(path), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # Kilobytes, but bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < MOST * 10**6


@pytest.mark.slow
@pytest.mark.timeout(900)  # of memory: how busy the machine is says nothing
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_gives_the_memory_of_large_images_back(large, tmp_path) -> None:
    path = tmp_path / "large.jpg"
    cv2.imwrite(str(path), large, [cv2.IMWRITE_JPEG_QUALITY, 60])
    # Beside no models, which a server in the folder of their files would load.
    with serving(PROGRAM, tmp_path, "--data", "data") as (server, client):
        before = _resident(server.pid)
        for _ in range(3):
            with path.open("rb") as photograph:
                asked = {"files": {"image": photograph}, "data": {"query": "Is it sharp?"}}
                assert client.post("/v1/workflows/iqa/run?wait=true", **asked).status_code == 200
        after = _resident(server.pid)
    assert after - before < 100 * 10**6, (before, after)  # less than one of them takes


def _resident(process: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.parametrize("tool", [brisque, niqe])
def test_a_large_image_is_judged_as_its_reduced_copy(large, tool) -> None:
    # 40 to 6.5 megapixels.
    assert tool(large) == pytest.approx(tool(cv2.resize(large, (3161, 2073), interpolation=cv2.INTER_AREA)), rel=0.02)


def test_up_to_six_and_a_half_megapixels_nothing_is_reduced() -> None:
    scene = _scene(2560, 2560)
    assert (grey(scene) == cv2.cvtColor(scene, cv2.COLOR_RGB2GRAY)).all()
    assert grey(np.vstack([scene, scene])).shape == (3620, 1810)


BIQ = Path(__file__).parents[4] / "shared" / "data" / "iqa" / "biq2021"


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


def loaded(pixels: np.ndarray, folder: Path) -> LoadedImage:
    Image.fromarray(pixels).save(folder / "it.png")
    return load_image(folder / "it.png")


@pytest.mark.parametrize("level", [0, 90, 255])
def test_a_flat_image_has_no_structure_to_measure_and_no_score(level, tmp_path):
    flat = np.full((128, 128, 3), level, np.uint8)
    for tool in (brisque, blind_score, niqe):
        with pytest.raises(ImageError, match="flat"):
            tool(flat)
    logs = run_tools([get_tool("BlindScore")], loaded(flat, tmp_path), None)
    assert [log.tool for log in logs] == ["BlindScore", "BRISQUE", "NIQE"]
    assert all("flat" in log.error for log in logs)


def test_what_is_too_small_for_it_says_so(photograph, tmp_path):
    image = loaded(np.ascontiguousarray(photograph("astronaut")[100:120, 100:180]), tmp_path)
    logs = run_tools([get_tool("BlindScore")], image, None)
    assert logs[0].error == ("BlindScore needs at least 32 x 32 pixels, not 80 x 20; give a larger image or region")


@pytest.mark.slow
@pytest.mark.skipif(not BIQ.exists(), reason="the data set is not beside the repository")
def test_it_agrees_with_people_on_photographs_it_has_not_seen():
    rows = [json.loads(line) for line in (BIQ / "manifest.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["group"] == "test"][::4]
    scores = [blind_score(load_image(BIQ / row["image_path"]).rgb) for row in rows]
    assert spearmanr(scores, [row["mos"] for row in rows])[0] > 0.5
