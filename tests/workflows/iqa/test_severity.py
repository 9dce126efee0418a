from __future__ import annotations

import re

import numpy as np
import pytest
from distort import LEVELS, distort

from loopwright.errors import UnknownNameError
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
