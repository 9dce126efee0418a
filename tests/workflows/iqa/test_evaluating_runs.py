"""Evaluations and calibrations of real images: known agreement, bad rows, and the same figures from any number of
processes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from distort import distort
from PIL import Image

from loopwright.errors import ConfigError, InputError
from loopwright.workflows.iqa import IQAConfig, run_pipeline
from loopwright.workflows.iqa.batch.samples import configuration_digest
from loopwright.workflows.iqa.evaluating.agreement import agreement
from loopwright.workflows.iqa.evaluating.calibrating import calibrate, write_curves
from loopwright.workflows.iqa.evaluating.evaluation import Evaluation, evaluate, recognition, to_markdown
from loopwright.workflows.iqa.evaluating.manifest import Row, Scale
from loopwright.workflows.iqa.evaluating.measuring import ANSWER, Measured
from loopwright.workflows.iqa.tools.calibration import load_calibrations

TOOLS = ("MDSI", "PSNR", "NIQE", "PIQE")
NAMES = ("astronaut", "chelsea", "coffee", "rocket", "stereo_motorcycle")


@pytest.fixture(scope="module")
def rated(tmp_path_factory, photograph):
    """25 small images whose "people" agree with the level of distortion, one row that cannot be read, in a folder."""
    root = tmp_path_factory.mktemp("rated")
    rows = []
    for number, name in enumerate(NAMES):
        rgb = np.ascontiguousarray(photograph(name)[40:240, 60:330])
        Image.fromarray(rgb).save(root / f"{name}.png")
        for level in range(1, 6):
            kind = ("gaussian noise", "gaussian blur")[(number + level) % 2]
            Image.fromarray(distort(rgb, kind, level)).save(root / f"{name}{level}.png")
            rows.append({"image_path": f"{name}{level}.png", "reference_path": f"{name}.png", "mos": 10 - 2 * level,
                         "distortion": kind, "level": level})  # fmt: skip
    rows.insert(3, {"image_path": "gone.png", "mos": 5.0, "distortion": "jpeg"})
    path = root / "m.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def found(rated):
    return evaluate(rated, scale="0,10", tools=TOOLS, resamples=100, workers=1)


def test_the_figures_of_a_known_agreement(found):
    tools = {item.tool: item for item in found.parts[0].tools}
    assert found.parts[0].tools[0].tool == ANSWER
    assert set(tools) == {ANSWER, *TOOLS}
    assert tools["MDSI"].srcc.value > 0.75 and tools[ANSWER].srcc.value > 0.75
    for item in tools.values():
        for figure in (item.srcc, item.plcc, item.krcc, item.rmse):
            assert (figure.low <= figure.value + 1e-9 and figure.value <= figure.high + 1e-9) or item.tool in ("PIQE",)
    # The answer is MDSI's score, so that neither is ahead of the other; NIQE is behind.
    assert tools["MDSI"].behind.value == pytest.approx(0, abs=1e-9)
    assert tools["NIQE"].behind.value > 0
    assert {part.value for part in found.parts[1:]} == {"gaussian noise", "gaussian blur"}
    assert (found.unit, found.units) == ("reference", 6)  # the row without a reference stands for itself


def test_a_bad_row_is_listed_and_stops_nothing(found):
    assert (found.rows, found.failed) == (26, 1)
    assert [(line, name) for line, name, _ in found.problems] == [(4, "gone.png")]
    assert "gone.png" in found.problems[0][2]


def test_the_distortions_are_recognised(found):
    every = found.recognition[0]
    assert every.rows == 25
    assert every.right >= 23 and every.right + every.sibling + every.abstained + every.wrong == 25


@pytest.mark.slow
def test_the_figures_do_not_depend_on_the_number_of_processes(rated, found):
    assert evaluate(rated, scale="0,10", tools=TOOLS, resamples=100, workers=2).as_json() == found.as_json()


def test_reports_hold_the_figures(found):
    text = to_markdown(found)
    srcc = next(item for item in found.parts[0].tools if item.tool == "MDSI").srcc
    assert f"| MDSI | 25 | {srcc.value:.3f} [{srcc.low:.3f}, {srcc.high:.3f}]" in text
    assert "whole references (6" in text and "line 4, gone.png" in text


def invented(values: list[float], *, found: str | None = None, true: str | None = None) -> list[Measured]:
    return [
        Measured(Row(line, str(line), "a.png", mos=line % 5, distortion=true), {"MDSI": -value},
                 {"MDSI": value, ANSWER: value}, found)
        for line, value in enumerate(values, 1)
    ]  # fmt: skip


def test_another_answer_gives_another_figure():
    right = [1.0 + line % 5 for line in range(1, 21)]
    scale = Scale(0, 4)
    whole = agreement(invented(right), scale, resamples=20)[0].tools[0]
    assert whole.tool == ANSWER
    assert whole.srcc.value == pytest.approx(1) and whole.rmse.value == pytest.approx(0)
    swapped = agreement(invented([right[1], right[0], *right[2:]]), scale, resamples=20)[0].tools[0]
    assert swapped.srcc.value < 1 and swapped.rmse.value > 0
    assert agreement(invented([6 - value for value in right]), scale, resamples=20)[0].tools[0].srcc.value == -1


def test_types_are_judged():
    def verdicts(true, *stated):
        items = [item for name in stated for item in invented([3.0], found=name, true=true)]
        every = recognition(items)[0]
        return every.right, every.sibling, every.abstained, every.wrong

    assert verdicts("noise", "impulse noise", "jpeg", None) == (1, 0, 1, 1)
    assert verdicts("gaussian noise", "gaussian noise", "impulse noise") == (1, 1, 0, 0)
    assert verdicts("none", "jpeg") == (0, 0, 0, 1)


def test_curves_of_ones_own_change_assess(rated, tmp_path):
    found = calibrate(rated, scale="0,10", tools=("MDSI", "PSNR"), folds=3, resamples=20)
    out = tmp_path / "curves.json"
    write_curves(found, out, "m.jsonl")
    curves = load_calibrations(out)
    assert set(curves) == {"MDSI", "PSNR"}
    assert (curves["MDSI"].rows, curves["MDSI"].dataset) == (25, "m.jsonl")
    assert (found.folds, found.unit) == (3, "reference")
    # Fitted to these very scores, the curve is nearer to them than the shipped one.
    mdsi = next(item for item in found.tools if item.curve.tool == "MDSI")
    assert mdsi.curve.error < mdsi.agreement.rmse.value

    image, reference = rated.parent / "coffee3.png", rated.parent / "coffee.png"
    config = IQAConfig.model_validate({"iqa": {"tools": {"calibration": out}}})
    shipped = run_pipeline("Rate the quality.", image, reference)
    own = run_pipeline("Rate the quality.", image, reference, config=config)
    log = own["executor_evidence"].tool_logs[0]
    assert log.tool == "MDSI" and log.raw == shipped["executor_evidence"].tool_logs[0].raw
    assert own["summarizer_result"].quality_score == pytest.approx(curves["MDSI"].score(log.raw), abs=1e-4)
    assert own["summarizer_result"].quality_score != shipped["summarizer_result"].quality_score
    # The curves hold for that run alone.
    again = run_pipeline("Rate the quality.", image, reference)
    assert again["summarizer_result"].quality_score == shipped["summarizer_result"].quality_score

    before = configuration_digest(config)
    elsewhere = tmp_path / "copy.json"
    elsewhere.write_bytes(out.read_bytes())
    moved = IQAConfig.model_validate({"iqa": {"tools": {"calibration": elsewhere}}})
    assert configuration_digest(moved) == before != configuration_digest(IQAConfig())
    out.write_text(out.read_text().replace('"rows": 25', '"rows": 24'))
    assert configuration_digest(config) != before


@pytest.mark.parametrize("content", [None, "{", '{"calibrations": []}', '{"calibrations": [{"tool": "MDSI"}]}'])
def test_a_file_that_holds_no_curves_is_refused_before_anything_runs(tmp_path, content):
    path = tmp_path / "curves.json"
    if content is not None:
        path.write_text(content)
    config = IQAConfig.model_validate({"iqa": {"tools": {"calibration": path}}})
    with pytest.raises(ConfigError, match=r"curves\.json"):
        run_pipeline("Rate the quality.", tmp_path / "a.png", config=config)


def test_too_few_rows_for_a_curve(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"image_path": "gone.png", "mos": 1}\n')
    with pytest.raises(InputError, match="too few rows"):
        calibrate(path)


@pytest.mark.parametrize("measure", [evaluate, calibrate])
def test_images_of_which_none_is_there_are_told_before_anything_runs(tmp_path, measure):
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f'{{"image_path": "photos/{n}.png", "mos": {n}}}\n' for n in range(30)))
    heard = []
    with pytest.raises(InputError, match=r"none of the 30 images .* the first is 'photos/0\.png'"):
        measure(path, on_progress=heard.append)
    assert not heard


def test_a_tool_without_a_curve_is_judged_by_its_values():
    scale = Scale(0, 4)
    items = [replace(item, scores={ANSWER: item.scores[ANSWER]}) for item in invented([1.0 + n % 5 for n in range(20)])]
    answer, tool = agreement(items, scale, resamples=20)[0].tools
    assert (answer.tool, tool.tool) == (ANSWER, "MDSI")
    assert tool.srcc == answer.srcc and tool.krcc == answer.krcc
    assert tool.rmse.as_json() == {"value": None, "low": None, "high": None, "rows": 20}


def test_many_problems_are_counted_and_not_all_listed(found):
    many = replace(found, problems=[(line, f"{line}.png", "gone") for line in range(1, 1001)])
    text = to_markdown(many)
    assert text.count("gone") == 50 and "- and 950 more, which --json lists" in text
    assert len(many.as_json()["problems"]) == 1000


def test_where_people_agree_on_one_score_there_is_no_correlation_and_it_says_so():
    items = [
        replace(item, row=replace(item.row, mos=3.0, group="g")) for item in invented([1.0 + n % 5 for n in range(9)])
    ]
    parts = agreement(items, Scale(1, 5), by=("group",), resamples=20)
    empty = Evaluation("m.jsonl", 9, [], 0, Scale(1, 5), "row", 9, 20, parts)
    text = to_markdown(empty)
    assert "| MDSI | 9 | - | - | - | " in text and "| g | 9 | - | - |" in text
    assert "nan" not in text
