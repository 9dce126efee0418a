"""Severities rise with the level; the same pixels give the same score, in any format and by any number of threads."""

import math
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from batch_images import recoded
from chances import examples
from distort import LEVELS, distort
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.measuring.severity import assess

SAMPLE = ("astronaut", "chelsea", "coffee", "rocket")
USUAL = ("gaussian blur", "gaussian noise", "jpeg", "jpeg2000", "underexposure")
"""The distortions that CI looks at; all of them are looked at on demand."""


@pytest.mark.matrix
@pytest.mark.parametrize(
    "kind", [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.slow) for kind in LEVELS]
)
def test_severity_with_a_reference_never_falls_with_the_level(photograph, kind):
    ranks = []
    for level in range(1, 6):
        findings = []
        for name in SAMPLE[::2]:
            rgb = np.ascontiguousarray(photograph(name)[:384, :384])
            made = distort(rgb, kind, level, seed=3)
            findings.append(assess(kind, measure(made), measure_pair(made, rgb)).severity.rank)
        ranks.append(sum(findings) / len(findings))
    assert ranks == sorted(ranks)
    assert ranks[0] <= 2
    assert ranks[4] > (Severity.MODERATE.rank + Severity.SEVERE.rank) / 2


def test_every_name_can_be_assessed_and_absence_is_none(photograph):
    rgb = photograph("astronaut")
    features, pair = measure(rgb), measure_pair(rgb, rgb)
    for name in (*Distortion, *SUBTYPES):
        finding = assess(name, features, pair)
        assert finding.severity is Severity.NONE, finding.explanation
        assert re.search(r"\d", finding.explanation)
    blind = assess("mean shift", features)
    assert blind.severity is Severity.NONE
    assert "only beside a reference" in blind.explanation
    with pytest.raises(UnknownNameError, match="fog"):
        assess("fog", features)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("kind", ["gaussian blur", "gaussian noise", "impulse noise", "jpeg", "banding"])
def test_severity_without_a_reference_never_falls_with_the_level(photograph, kind):
    rgb = np.ascontiguousarray(photograph("astronaut")[:384, :384])
    findings = [assess(kind, measure(distort(rgb, kind, level, seed=3))) for level in range(1, 6)]
    ranks = [finding.severity.rank for finding in findings]
    assert ranks == sorted(ranks)
    assert ranks[4] > ranks[0]


FORMATS = {"a.png": "PNG", "b.bmp": "BMP", "c.tif": "TIFF", "d.webp": "WEBP"}


def _numbers(path: Path) -> dict[str, float | None]:
    """Each tool's raw value, unrounded, and the answer's score; measured anew."""
    state = run_pipeline("What is the quality of this image?", path)
    answered = state["summarizer_result"].quality_score
    return {log.tool: log.raw for log in state["executor_evidence"].tool_logs} | {"answer": answered}


def test_other_formats_and_other_threads(photograph, tmp_path: Path) -> None:
    for name, kind in FORMATS.items():
        one = Image.fromarray(photograph("coffee")[:300, :400])
        one.save(tmp_path / name, kind, **({"lossless": True} if kind == "WEBP" else {}))
    before = cv2.getNumThreads()
    try:
        seen = []
        for threads in (1, 2):
            cv2.setNumThreads(threads)
            seen += [_numbers(tmp_path / name) for name in (FORMATS if threads == 1 else ["a.png"])]
    finally:
        cv2.setNumThreads(before)
    assert seen[0]["answer"] is not None
    assert seen == [seen[0]] * len(seen)


FLAT = np.full((256, 320, 3), 128, np.uint8)


@pytest.mark.parametrize("sigma", [4.0, 10.0, 25.0])
def test_noise_on_a_flat_field_is_measured(sigma):
    noisy = np.clip(FLAT + np.random.default_rng(1).normal(0, sigma, FLAT.shape), 0, 255).round().astype(np.uint8)
    features = measure(noisy)
    assert features.grain.sigma == pytest.approx(sigma, rel=0.06)
    assert features.grain.whiteness == pytest.approx(1.8, rel=0.15)


@pytest.mark.matrix(3)
@pytest.mark.parametrize("quality", [5, 10, 20, 35, 50, 65])
def test_jpeg_quality_is_read_from_the_pixels(photographs, quality):
    for rgb in photographs.values():
        assert measure(recoded(rgb, quality)).jpeg_quality == pytest.approx(quality, abs=2)


def test_point_operations_are_measured_exactly(photograph):
    rgb = photograph("chelsea")
    pair = measure_pair((rgb.astype(int) + 20).clip(0, 255).astype(np.uint8), rgb)
    assert pair.mean_shift == pytest.approx(20, abs=0.2)
    assert pair.point_share > 0.99
    assert measure_pair(distort(rgb, "low contrast", 3), rgb).contrast_gain == pytest.approx(0.46, abs=0.01)
    pair = measure_pair(distort(rgb, "saturation change", 2), rgb)
    assert pair.saturation_ratio == pytest.approx(0.5, abs=0.02)
    assert pair.color_shift_rms < 1


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(32, 150), st.integers(32, 150), st.integers(0, 3))
def test_any_size_and_content_is_measured(height, width, content):
    rng = np.random.default_rng(height * 1000 + width)
    rgb = (
        rng.integers(0, 256, (height, width, 3), np.uint8),
        np.zeros((height, width, 3), np.uint8),
        np.full((height, width, 3), 255, np.uint8),
        np.linspace(0, 255, height * width * 3).reshape(height, width, 3).astype(np.uint8),
    )[content]
    assert math.isfinite(measure(rgb).grain.sigma)
    assert measure_pair(rgb, rgb).rms_error == 0
    assert measure_pair(255 - rgb, rgb).rms_error > 0
