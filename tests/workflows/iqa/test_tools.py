"""Which tools are chosen, their curves to 1..5 and the fit records; one that fails, hangs or is named twice spoils no other."""

import dataclasses
import logging
import math
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import skimage
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data as samples

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa import IQAConfig, run_pipeline, stream_pipeline, trace_pipeline
from loopwright.workflows.iqa.distortions import known_distortions
from loopwright.workflows.iqa.measuring.reference_planes import Pair
from loopwright.workflows.iqa.schemas import ReferenceMode
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.tools.execution import run_tools
from loopwright.workflows.iqa.tools.registry import all_tools, calibrations, get_tool, select_tools

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


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    reference = np.kron(np.random.default_rng(0).integers(0, 256, (50, 60, 3)), np.ones((4, 4, 1))).astype(np.uint8)
    noisy = np.clip(reference + np.random.default_rng(1).normal(0, 12, reference.shape), 0, 255).astype(np.uint8)
    Image.fromarray(reference).save(folder / "reference.png")
    Image.fromarray(noisy).save(folder / "image.png")
    return load_image(folder / "image.png"), load_image(folder / "reference.png")


def computing(name, compute):
    return dataclasses.replace(get_tool(name), compute=compute)


def test_every_tool_gives_its_value_and_score(pair):
    image, reference = pair
    logs = run_tools(all_tools(), image, reference, region="car")
    assert [log.tool for log in logs] == [tool.name for tool in all_tools()]
    for log, tool in zip(logs, all_tools(), strict=True):
        assert log.error is None
        assert log.raw == pytest.approx(tool.measure(image, Pair(image.rgb, reference.rgb)))
        assert 1 <= log.score <= 5
        assert log.region == "car"
        assert log.seconds > 0
        assert log.fallback_for is None


def test_a_hanging_tool_is_given_up_and_the_others_finish(pair):
    started = time.perf_counter()
    logs = run_tools([computing("MDSI", lambda *_: time.sleep(3)), get_tool("SSIM")], *pair, timeout_s=0.3)
    assert time.perf_counter() - started < 2
    assert "no result within 0.3 s" in logs[0].error
    assert 0.25 < logs[0].seconds < 1
    assert [(log.tool, log.fallback_for) for log in logs[1:]] == [("SSIM", None), ("VSI", "MDSI")]
    assert all(log.score for log in logs[1:])


def test_a_process_that_ends_while_a_tool_is_late_ends_as_it_would(pair):
    # The thread is inside OpenCV, where Python would abort.
    code = (
        "import sys; from loopwright.workflows.iqa.sources.images import load_image as load;"
        "from loopwright.workflows.iqa.tools.execution import run_tools;"
        "from loopwright.workflows.iqa.tools.registry import all_tools;"
        "a, b = map(load, sys.argv[1:]);"
        "logs = run_tools(all_tools()[:4], a, b, timeout_s=1e-4);"
        "print([log.error for log in logs])"
    )
    words = [sys.executable, "-c", code, *(each.path for each in pair)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "no result within" in done.stdout


def test_a_missing_reference_is_an_error_of_the_tools_that_need_it(pair):
    logs = run_tools([get_tool("MDSI"), get_tool("NIQE")], pair[0], None)
    assert [log.tool for log in logs] == ["MDSI", "NIQE"]
    assert "there is none" in logs[0].error
    assert logs[1].score is not None


def test_nan_is_an_error_and_infinity_a_score_that_json_can_hold(pair):
    logs = run_tools([computing("SSIM", lambda *_: math.nan), computing("PSNR", lambda *_: math.inf)], *pair)
    assert "NaN" in logs[0].error
    assert (logs[1].raw, logs[1].score, logs[1].error) == (None, 5.0, None)
    assert "NaN" not in logs[1].model_dump_json()


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.sampled_from([t.name for t in all_tools()]), st.booleans()), max_size=8))
def test_whatever_fails_there_is_one_log_per_tool_and_no_exception(pair, wanted):
    tools = [computing(name, lambda *_: 1 / 0) if fails else get_tool(name) for name, fails in wanted]
    logs = run_tools(tools, *pair)
    names = [log.tool for log in logs]
    assert len(names) == len(set(names))
    assert names[: len(dict(wanted))] == list(dict(wanted))
    for log in logs:
        assert (log.error is None) == (log.score is not None)
        assert log.fallback_for is None or log.fallback_for in dict(wanted)


COFFEE = Path(skimage.__file__).parent / "data" / "coffee.png"


def test_what_is_no_number_of_replans_and_no_region_is_refused():
    regions = ((1, 2, 3), (0, 0, 50.5, 60), "0,0,50,60", (0, 0, 50, 60, 70))
    for option, values in {"max_replan_iterations": (-1, 1.5, "two"), "region": regions}.items():
        for value in values:
            with pytest.raises(InputError, match=option):
                run_pipeline("Rate it", COFFEE, **{option: value})


@pytest.mark.parametrize("run", [trace_pipeline, lambda *given, **options: list(stream_pipeline(*given, **options))])
def test_an_option_that_nobody_knows(run):
    with pytest.raises(TypeError, match=r"unknown option 'refrence_path'\. Did you mean 'reference_path'"):
        run("Rate it", COFFEE, refrence_path=COFFEE)


def test_numpys_numbers_make_a_region_and_a_limit_above_the_ceiling_is_told(caplog):
    state = run_pipeline("Is it sharp?", COFFEE, max_replan_iterations=99, region=tuple(np.array([0, 0, 200, 200])))
    assert "region 0,0,200,200" in state["executor_evidence"].distortion_set
    assert state["max_replan_iterations"] == 10
    assert "max_replan_iterations=99 is above langgraph.max_iterations=10, which counts" in caplog.text


@pytest.mark.parametrize("enable", [True, False])
def test_a_resume_without_a_checkpoint_says_how_checkpoints_are_kept(photograph, tmp_path, caplog, enable):
    Image.fromarray(photograph("coffee")).resize((300, 200)).save(small := tmp_path / "small.png")
    checkpoint = {"enable": enable, "save_dir": str(tmp_path / "kept")}
    config = IQAConfig.model_validate({"pipeline": {"checkpoint": checkpoint}})
    with caplog.at_level(logging.WARNING, "loopwright.iqa"):
        state = run_pipeline("Is it sharp?", small, config=config, sample_id="street", resume=True)
    said = caplog.text
    assert state["summarizer_result"]
    assert f"nothing to resume: there is no checkpoint of run 'street' in '{tmp_path / 'kept'}'" in said
    assert "starts anew and keeps one" in said
    assert ("Checkpoints are enabled" in said) is enable
    assert ("Checkpoints are disabled" in said and "set pipeline.checkpoint.enable to true" in said) is not enable
    caplog.clear()
    run_pipeline("Is it sharp?", small, config=config, sample_id="street", resume=True)
    assert "nothing to resume" not in caplog.text
