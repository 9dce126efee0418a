"""The curves from raw values to 1..5 are monotone, spread out, and agree with people on images that were scored."""

import csv
import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from skimage import data as samples

from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.calibration import calibrations
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool

NAMES = [tool.name for tool in all_tools()]
BLIND = [tool.name for tool in all_tools() if tool.reference is ReferenceMode.NONE]
TID = Path(__file__).resolve().parents[3].parent / "shared/data/iqa/tid_rebuilt"


def test_every_tool_has_a_calibration_with_its_provenance():
    assert set(calibrations()) == set(NAMES)
    for curve in calibrations().values():
        assert "TID2013" in curve.dataset
        assert curve.rows > 700
        assert date.fromisoformat(curve.fitted_on)
        assert 0 < curve.error < 0.8
    assert all(("BIQ2021" in calibrations()[name].dataset) == (name in BLIND) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_strictly_monotone_and_span_the_scale(name):
    curve = calibrations()[name]
    raws = np.linspace(curve.knots[0][0], curve.knots[-1][0], 2001)
    scores = np.array([curve.score(float(raw)) for raw in raws])
    steps = np.diff(scores)
    assert (steps > 0).all() or (steps < 0).all()
    assert scores.min() == pytest.approx(1)
    assert scores.max() == pytest.approx(5)
    assert len(set(np.round(scores, 3))) > 500


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BLIND])
def test_identical_images_score_five(name):
    reference = samples.chelsea()
    assert calibrations()[name].score(get_tool(name).compute(Pair(reference, reference))) == pytest.approx(5, abs=1e-3)


@given(st.sampled_from(NAMES), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_any_number_has_a_score_in_order(name, first, second):
    curve = calibrations()[name]
    low, high = sorted((first, second))
    at_low, at_high = curve.score(low), curve.score(high)
    assert 1 <= at_low <= 5
    assert 1 <= at_high <= 5
    assert at_low <= at_high if get_tool(name).higher_is_better else at_low >= at_high


@pytest.mark.skipif(not TID.exists(), reason="the TID2013 rebuild is not on this disk")
@pytest.mark.parametrize(("name", "worst"), [("MDSI", 0.45), ("SSIM", 0.65), ("PSNR", 0.65), ("GMSD", 0.55)])
def test_scores_are_near_peoples_on_jpeg_images(name, worst):
    """Sixty JPEG images, remade here, against the published opinions, mapped from 0..9 to 1..5."""
    from io import BytesIO

    tool, curve, errors = get_tool(name), calibrations()[name], []
    for row in csv.DictReader((TID / "labels.csv").open()):
        if row["type_name"] != "jpeg" or row["usable"] != "True":
            continue
        with Image.open(TID / "refs" / f"{row['ref']}.png") as file:
            reference = file.convert("RGB")
        buffer = BytesIO()
        reference.save(buffer, "JPEG", quality=(80, 60, 23, 8, 4)[int(row["level"]) - 1], subsampling=2)
        raw = tool.compute(Pair(np.array(Image.open(buffer)), np.array(reference)))
        errors.append(curve.score(raw) - (1 + 4 * float(row["mos"]) / 9))
    assert len(errors) > 40
    assert math.sqrt(np.mean(np.square(errors))) < worst
