"""When a fusion of tools may answer: only where it is ahead of every single tool on types that it has not seen."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import ConfigError
from loopwright.workflows.iqa import IQAConfig, run_pipeline
from loopwright.workflows.iqa.answering.fusion import quality_score
from loopwright.workflows.iqa.batch.rows import row_of
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.distortions import Distortion, Severity
from loopwright.workflows.iqa.evaluating.agreement import agreement
from loopwright.workflows.iqa.evaluating.calibrating import FittedCurves, FittedTool, calibrate, write_curves
from loopwright.workflows.iqa.evaluating.fusing import LEAST_WEIGHT, MOST_TOOLS, fit_weights, try_fusions
from loopwright.workflows.iqa.evaluating.manifest import Row
from loopwright.workflows.iqa.evaluating.measuring import Measured
from loopwright.workflows.iqa.evaluating.rendering import curves_to_markdown
from loopwright.workflows.iqa.evaluating.scale import Scale
from loopwright.workflows.iqa.measuring.distort import distort
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput
from loopwright.workflows.iqa.tools.calibration import (
    load_calibration_file,
    shipped_calibrations,
    using_calibrations,
)
from loopwright.workflows.iqa.tools.fusions import MINIMUM_GAIN, Fusion

SCALE = Scale(1, 5)
NOISES = ("gaussian noise", "impulse noise", "multiplicative noise")


def raw(tool, score):
    """The tool's own value for a score, by its shipped curve."""
    knots = sorted((level, value) for value, level in shipped_calibrations()[tool].knots)
    return float(np.interp(score, *zip(*knots, strict=True)))


def rows(types, found, second="SSIM", *, errors, seed=1):
    """Ten references with twelve strengths of each type; `errors` gives the two tools' errors for a type."""
    rng = np.random.default_rng(seed)
    made = []
    for reference in range(10):
        for kind in types:
            for quality in np.linspace(2.0, 4.0, 12):
                first, other = errors(kind, rng)
                made.append(Measured(
                    Row(len(made), str(len(made)), "a.png", reference=f"{reference}.png", mos=float(quality),
                        distortion=kind),
                    {"MDSI": raw("MDSI", quality + first), second: raw(second, quality + other)}, {}, found,
                ))  # fmt: skip
    return made


def tried(measured, **settings):
    curves = {name: shipped_calibrations()[name] for name in measured[0].raw}
    settings = {"folds": 5, "resamples": 200, "dataset": "made.jsonl", **settings}
    return {item.kind: item for item in try_fusions(measured, SCALE, curves, **settings)}


def independent(_, rng):
    return tuple(rng.normal(0, 0.4, 2))


@pytest.fixture(scope="module")
def noise():
    return rows(NOISES, "gaussian noise", errors=independent)


@pytest.fixture(scope="module")
def passed(noise):
    """Two tools that err independently on noise; on compression the second one only errs."""
    coding = rows(("jpeg", "jpeg2000"), "jpeg", errors=lambda _, rng: (rng.normal(0, 0.02), rng.normal(0, 1.0)))
    return tried(noise + coding)


@pytest.fixture(scope="module")
def curves_file(passed, noise, tmp_path_factory):
    scored = [replace(item, scores={tool: shipped_calibrations()[tool].score(value) for tool, value in item.raw.items()})
              for item in noise]  # fmt: skip
    figures = agreement(scored, SCALE, by=(), resamples=5)[0].tools
    fitted = [FittedTool(shipped_calibrations()[item.tool], item) for item in figures]
    out = tmp_path_factory.mktemp("curves") / "curves.json"
    write_curves(FittedCurves(fitted, {}, SCALE, 5, "reference", list(passed.values())), out, "made.jsonl")
    return out


def test_two_tools_that_complement_each_other_pass_for_their_kind_alone(passed):
    noise, coding = passed[Distortion.NOISE], passed[Distortion.COMPRESSION]
    assert noise.gain.value > 0.03 and noise.gain.low > 0
    assert (noise.rows, noise.types) == (360, 3)
    assert set(noise.fusion.weights) == {"MDSI", "SSIM"}
    assert all(weight == pytest.approx(0.5, abs=0.1) for weight in noise.fusion.weights.values())
    assert (noise.fusion.alone, noise.fusion.dataset) == ("MDSI", "made.jsonl")
    assert coding.fusion is None and "below 0.01" in coding.why


def of_one_type(kind, rng):
    """On Gaussian noise the second tool's error undoes the first one's; on impulse noise it trebles it."""
    error = rng.normal(0, 0.5)
    return error, (-error if kind == "gaussian noise" else 3 * error)


def test_a_gain_on_types_that_it_has_seen_does_not_count():
    made = rows(("gaussian noise",) * 4 + ("impulse noise",), "gaussian noise", errors=of_one_type)
    assert tried(made)[Distortion.NOISE].fusion is None
    assert tried(made)[Distortion.NOISE].gain.value < 0
    # The same rows, with labels that split no type from another: every type is seen, and it would pass.
    mixed = [
        Measured(Row(item.row.line, item.row.name, "a.png", reference=item.row.reference, mos=item.row.mos,
                     distortion=NOISES[item.row.line % 2]), item.raw, {}, item.found)
        for item in made
    ]  # fmt: skip
    assert tried(mixed)[Distortion.NOISE].fusion is not None


def test_without_types_or_references_enough_nothing_passes(noise):
    untyped = [Measured(Row(item.row.line, "r", "a.png", reference=item.row.reference, mos=item.row.mos), item.raw, {},
                        item.found) for item in noise]  # fmt: skip
    result = tried(untyped)[Distortion.NOISE]
    assert (result.fusion, result.gain) == (None, None)
    assert "no row gives a true type" in result.why
    few = [item for item in noise if item.row.reference < "4"]
    assert "5 references, and there are 4" in tried(few)[Distortion.NOISE].why
    one_type = [item for item in noise if item.row.distortion == "impulse noise"]
    assert "two true types" in tried(one_type)[Distortion.NOISE].why


def test_weights_are_few_none_negative_and_sum_to_one():
    rng = np.random.default_rng(0)
    people = rng.uniform(2, 4, 300)
    scores = np.stack([people + rng.normal(0, spread, 300) for spread in (0.4, 0.4, 0.4, 0.4, 3.0)], axis=1)
    weights = fit_weights(scores, people, 0)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert (weights > 0).sum() == MOST_TOOLS and weights[weights > 0].min() >= LEAST_WEIGHT
    assert weights[4] == 0
    # With hardly any row, the pull keeps the primary tool's weight above that of an equal one.
    assert fit_weights(scores[:1, :2] * 0 + 3, np.array([3.0]), 0)[0] == pytest.approx(1)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory, photograph):
    root = tmp_path_factory.mktemp("noisy")
    rgb = np.ascontiguousarray(photograph("coffee")[40:240, 60:330])
    Image.fromarray(rgb).save(root / "clean.png")
    for kind in ("gaussian noise", "gaussian blur"):
        Image.fromarray(distort(rgb, kind, 3)).save(root / f"{kind}.png")
    return root


def ask(path, noisy, kind, reference=True, query="Rate the quality.", **tools):
    config = IQAConfig.model_validate({"iqa": {"tools": {"calibration": path, **tools}}})
    state = run_pipeline(query, noisy / f"{kind}.png", noisy / "clean.png" if reference else None, config=config)
    return state["summarizer_result"], state["executor_evidence"]


def test_assess_answers_with_the_fusion_where_it_passed(curves_file, noisy):
    fusion = load_calibration_file(curves_file).fusions[0]
    answer, evidence = ask(curves_file, noisy, "gaussian noise")
    scores = evidence.quality_scores
    # SSIM is not among the three tools that suit noise: it ran because the fusion needs it.
    assert {"MDSI", "SSIM"} <= set(scores) and len(scores) == 3
    expected = fusion.weights["MDSI"] * scores["MDSI"] + fusion.weights["SSIM"] * scores["SSIM"]
    assert answer.quality_score == pytest.approx(expected, abs=1e-3)
    assert answer.quality_score != pytest.approx(scores["MDSI"], abs=1e-3)
    assert answer.used_evidence["tool"] == "fusion of MDSI and SSIM"
    assert answer.used_evidence["tool_scores"] == {name: round(score, 3) for name, score in scores.items()}
    assert f"than the best single tool by {fusion.gain:.3f}" in answer.quality_reasoning
    assert f"MDSI alone says {scores['MDSI']:.2f}." in answer.quality_reasoning
    # A batch writes its table when the curves are no longer in force.
    state = {"summarizer_result": answer.model_dump(mode="json"), "executor_evidence": evidence.model_dump(mode="json")}
    record = {"state": state, "seconds": 0.1, "error": None, "key": "k", "configuration": "c", "versions": "v"}
    row = row_of(Sample("a", "a.png", "Rate the quality."), record)
    assert (row["score_source"], row["quality_score"]) == ("fusion of MDSI and SSIM", answer.quality_score)


@pytest.mark.parametrize(
    ("kind", "settings", "tool"),
    [
        ("gaussian blur", {}, "MDSI"),
        ("gaussian noise", {"limit": 1}, "MDSI"),
        ("gaussian noise", {"reference": False}, "BlindScore"),
        ("gaussian noise", {"query": "Rate the quality with VSI."}, "VSI"),
    ],
)
def test_elsewhere_one_tool_answers(curves_file, noisy, kind, settings, tool):
    answer, evidence = ask(curves_file, noisy, kind, **settings)
    assert answer.used_evidence["tool"] == tool
    assert "fusion" not in answer.used_evidence
    assert answer.quality_score == pytest.approx(evidence.quality_scores[tool], abs=1e-3)


def seen(confidence=0.9, severity=Severity.MODERATE, **fields):
    finding = DistortionFinding(type="impulse noise", severity=severity, confidence=confidence, explanation="Grains.")
    given = {"quality_scores": {"MDSI": 2.0, "SSIM": 3.0}, "selected_tools": ["MDSI", "SSIM"], "primary_tool": "MDSI"}
    return ExecutorOutput.model_validate({**given, "distortion_analysis": {"Global": [finding]}, **fields})


def test_only_a_sure_recognition_counts(curves_file):
    held = load_calibration_file(curves_file)
    with using_calibrations(held.by_tool(), held.fusions):
        assert quality_score(seen()).fusion == held.fusions[0]
        assert 2.4 < quality_score(seen()).value < 2.6
        for other in (
            seen(confidence=0.5),
            seen(severity=Severity.NONE),
            seen(undecided=["noise"]),
            seen(quality_scores={"MDSI": 2.0}),
            seen(distortion_analysis={}),
        ):
            assert (quality_score(other).tool, quality_score(other).value) == ("MDSI", 2.0)
        weighed = quality_score(seen(), dict(zip(range(1, 6), (0, 0, 0, 0.5, 0.5), strict=True)))
        assert weighed.value > 4 and weighed.tool_score == quality_score(seen()).value
    # Other curves bring no fusion along, and the shipped ones hold none.
    with using_calibrations(held.by_tool()):
        assert quality_score(seen()).tool == "MDSI"
    assert quality_score(seen()).tool == "MDSI"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": {"MDSI": 0.5, "SSMI": 0.5}}, "'SSMI'"),
        ({"weights": {"MDSI": 0.5, "SSIM": 0.6}}, r"sum to 1\.1"),
        ({"weights": {"MDSI": 1.5, "SSIM": -0.5}}, "between 0 and 1"),
        ({"weights": {"MDSI": 1.0}}, "weights"),
        ({"gain": MINIMUM_GAIN / 2}, "gain"),
        ({"low": -0.001}, "low"),
        ({"kind": "gaussian noise"}, "kind"),
    ],
)
def test_a_file_with_a_wrong_fusion_is_refused(curves_file, tmp_path, change, said):
    held = json.loads(curves_file.read_text())
    held["fusions"][0] |= change
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(held))
    with pytest.raises(ConfigError, match=said):
        load_calibration_file(path)
    held["fusions"] = [json.loads(curves_file.read_text())["fusions"][0]] * 2
    path.write_text(json.dumps(held))
    with pytest.raises(ConfigError, match="2 fusions for noise"):
        load_calibration_file(path)


def test_a_fusion_is_a_mean_that_rises_with_each_tool():
    fusion = Fusion(kind=Distortion.NOISE, weights={"MDSI": 0.3, "VSI": 0.7}, alone="MDSI", gain=0.02, low=0.01,
                    high=0.03, rows=40, types=2, dataset="d", fitted_on="2026-01-01")  # fmt: skip
    assert fusion.score({"MDSI": 2.0, "VSI": 3.0, "SSIM": 5.0}) == pytest.approx(2.7)
    assert fusion.score({"MDSI": 5.0, "VSI": 5.0}) == 5.0 and fusion.score({"MDSI": 1.0, "VSI": 1.0}) == 1.0
    assert fusion.score({"MDSI": 2.0}) is None
    assert fusion.name == "fusion of MDSI and VSI"


def test_calibrate_recognises_the_distortions_and_prints_the_gate(tmp_path, photograph):
    made = []
    for name in ("astronaut", "chelsea", "coffee", "rocket", "stereo_motorcycle"):
        rgb = np.ascontiguousarray(photograph(name)[40:168, 60:220])
        Image.fromarray(rgb).save(tmp_path / f"{name}.png")
        for level in range(1, 6):
            Image.fromarray(distort(rgb, "gaussian noise", level)).save(tmp_path / f"{name}{level}.png")
            made.append({"image_path": f"{name}{level}.png", "reference_path": f"{name}.png", "mos": 6 - level,
                         "distortion": "gaussian noise"})  # fmt: skip
    manifest = tmp_path / "m.jsonl"
    manifest.write_text("\n".join(map(json.dumps, made)))
    found = calibrate(manifest, scale="1,5", tools=("MDSI", "PSNR"), folds=3, resamples=20)
    assert [item.kind for item in found.fusions] == [Distortion.NOISE]
    assert found.fusions[0].fusion is None
    assert "| noise | 25 | 1 | - | no: it takes 40 rows of two true types |" in curves_to_markdown(found)
    out = tmp_path / "curves.json"
    write_curves(found, out, "m.jsonl")
    assert load_calibration_file(out).fusions == []
