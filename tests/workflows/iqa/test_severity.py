"""Severities rise with the level; the same pixels give the same score, in any format and by any number of threads."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from distort import LEVELS, distort
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


QUERY = "What is the quality of this image?"
FORMATS = {"a.png": "PNG", "b.bmp": "BMP", "c.tif": "TIFF", "d.webp": "WEBP"}


def _numbers(path: Path) -> dict[str, float | None]:
    """Each tool's raw value, unrounded, and the answer's score; measured anew."""
    state = run_pipeline(QUERY, path)
    answered = state["summarizer_result"].quality_score
    return {log.tool: log.raw for log in state["executor_evidence"].tool_logs} | {"answer": answered}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, photograph) -> Path:
    """One photograph in four formats."""
    folder = tmp_path_factory.mktemp("pictures")
    one = Image.fromarray(np.asarray(photograph("coffee"))[:300, :400])
    for name, kind in FORMATS.items():
        one.save(folder / name, kind, **({"lossless": True} if kind == "WEBP" else {}))
    return folder


def test_other_formats_and_other_threads(pictures: Path) -> None:
    before = cv2.getNumThreads()
    try:
        seen = []
        for threads in (1, 2):
            cv2.setNumThreads(threads)
            seen += [_numbers(pictures / name) for name in (FORMATS if threads == 1 else ["a.png"])]
    finally:
        cv2.setNumThreads(before)
    assert seen[0]["answer"] is not None
    assert seen == [seen[0]] * len(seen)
