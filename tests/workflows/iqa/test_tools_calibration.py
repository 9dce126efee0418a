"""Which tools are chosen, and that their curves to 1..5 are monotone and spread out; how well they agree, the fit records."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage import data as samples

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.distortions import known_distortions
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.tools.calibration import calibrations
from loopwright.workflows.iqa.tools.registry import all_tools, get_tool, select_tools

NAMES = [tool.name for tool in all_tools()]
BLIND = [tool.name for tool in all_tools() if tool.reference is ReferenceMode.NONE]


def test_an_unknown_tool_is_named_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="NIQA") as caught:
        get_tool("NIQA")
    assert set(caught.value.known) == set(NAMES)
    assert "Did you mean 'NIQE'?" in str(caught.value)


@given(st.lists(st.sampled_from(known_distortions())), st.sampled_from(ReferenceMode), st.integers(0, 9))
def test_selection_keeps_its_promises(distortions, mode, limit):
    chosen = select_tools(distortions, mode, limit=limit)
    assert len(chosen) <= limit
    assert len({tool.name for tool in chosen}) == len(chosen)
    assert all(tool.reference is mode for tool in chosen)
    assert not any(tool.primary for tool in chosen[1:])


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
