"""What `run_pipeline` and its relatives refuse, in words, before anything runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skimage

from loopwright.errors import InputError
from loopwright.workflows.iqa import run_pipeline, stream_pipeline, trace_pipeline

COFFEE = Path(skimage.__file__).parent / "data" / "coffee.png"


@pytest.mark.parametrize("replans", [-1, 1.5, 2.0, "3", "two"])
def test_a_number_of_replans_that_is_none(replans):
    with pytest.raises(InputError, match="max_replan_iterations: "):
        run_pipeline("Rate it", COFFEE, max_replan_iterations=replans)


@pytest.mark.parametrize("region", [(1, 2, 3), (0, 0, 50.5, 60), "0,0,50,60", (0, 0, 50, 60, 70)])
def test_a_region_that_is_none(region):
    with pytest.raises(InputError, match="region"):
        run_pipeline("Rate it", COFFEE, region=region)


def test_numbers_of_numpy_make_a_region():
    region = tuple(np.array([0, 0, 200, 200]))
    assert (
        "region 0,0,200,200" in run_pipeline("Is it sharp?", COFFEE, region=region)["executor_evidence"].distortion_set
    )


@pytest.mark.parametrize("run", [trace_pipeline, lambda *given, **options: list(stream_pipeline(*given, **options))])
def test_an_option_that_nobody_knows(run):
    with pytest.raises(TypeError, match=r"unknown option 'refrence_path'\. Did you mean 'reference_path'"):
        run("Rate it", COFFEE, refrence_path=COFFEE)


def test_a_limit_above_the_ceiling_is_told_in_the_log_and_the_state(caplog):
    state = run_pipeline("Rate it", COFFEE, max_replan_iterations=99)
    assert state["max_replan_iterations"] == 10
    assert "max_replan_iterations=99 is above langgraph.max_iterations=10, which counts" in caplog.text
