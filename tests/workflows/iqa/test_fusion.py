"""One score out of several, and where an opinion comes in."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import InputError
from loopwright.workflows.iqa.answer.fusion import LEVEL_NAMES, level_name, level_of, quality_score, weigh_opinion
from loopwright.workflows.iqa.schemas import ExecutorOutput

PUBLISHED = dict(zip(range(1, 6), (0.1, 0.1, 0.1, 0.1, 0.6), strict=True))

scores = st.floats(1, 5)
opinions = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda p: sum(p) > 1e-6)


def test_the_published_check_value():
    assert weigh_opinion(2.0, PUBLISHED) == pytest.approx(2.02, abs=0.005)


def test_the_rule_is_the_formula_written_out():
    a = [math.exp(-0.7 * (3.3 - c) ** 2) for c in range(1, 6)]
    p = [0.05, 0.15, 0.5, 0.2, 0.1]
    by_hand = sum(x * y * c for x, y, c in zip(a, p, range(1, 6), strict=True)) / sum(
        x * y for x, y in zip(a, p, strict=True)
    )
    assert weigh_opinion(3.3, dict(zip(range(1, 6), p, strict=True)), eta=0.7) == pytest.approx(by_hand, rel=1e-12)


@given(scores, opinions, st.floats(1e-3, 1e6))
def test_it_is_a_mean_of_the_levels_held_possible(tools, p, eta):
    opinion = dict(zip(range(1, 6), p, strict=True))
    held = [c for c, value in opinion.items() if value > 0]
    assert min(held) <= weigh_opinion(tools, opinion, eta=eta) <= max(held)


@given(scores, opinions, st.floats(0.01, 100))
def test_only_ratios_of_the_probabilities_matter(tools, p, factor):
    plain = weigh_opinion(tools, dict(zip(range(1, 6), p, strict=True)))
    scaled = weigh_opinion(tools, {c: value * factor for c, value in zip(range(1, 6), p, strict=True)})
    assert scaled == pytest.approx(plain, abs=1e-9)


def test_a_large_eta_trusts_the_tools_and_a_small_one_the_opinion():
    assert weigh_opinion(2.0, PUBLISHED, eta=50) == pytest.approx(2.0, abs=1e-6)
    assert weigh_opinion(2.0, PUBLISHED, eta=1e-9) == pytest.approx(sum(c * p for c, p in PUBLISHED.items()), abs=1e-6)


@pytest.mark.parametrize(
    "opinion",
    [
        {4: 1.0},
        {0: 0.2, **PUBLISHED},
        dict.fromkeys(range(1, 6), 0.0),
        {**PUBLISHED, 1: -0.1},
        {**PUBLISHED, 1: math.nan},
    ],
)
def test_one_rounded_level_or_nonsense_is_no_opinion(opinion):
    with pytest.raises(InputError):
        weigh_opinion(3.0, opinion)


def test_eta_and_the_tools_score_are_checked():
    with pytest.raises(InputError, match="eta"):
        weigh_opinion(3.0, PUBLISHED, eta=0)
    with pytest.raises(InputError, match="1 \\(bad\\)"):
        weigh_opinion(5.5, PUBLISHED)


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (1, "Bad"),
        (1.49, "Bad"),
        (1.5, "Poor"),
        (2.499, "Poor"),
        (2.5, "Fair"),
        (3.5, "Good"),
        (4.5, "Excellent"),
        (5, "Excellent"),
    ],
)
def test_a_level_is_the_nearest_one(score, name):
    assert level_name(score) == name


@given(scores)
def test_no_other_level_is_nearer(score):
    level = level_of(score)
    assert all(abs(score - level) <= abs(score - other) for other in LEVEL_NAMES)


@pytest.mark.parametrize("score", [0.99, 5.01, math.nan, math.inf])
def test_a_score_outside_of_the_scale_has_no_level(score):
    with pytest.raises(InputError, match="1 \\(bad\\) to 5"):
        level_of(score)


def test_the_primary_tool_answers_and_the_others_stay_beside_it():
    evidence = ExecutorOutput(
        quality_scores={"GMSD": 4.4, "MDSI": 2.2}, selected_tools=["MDSI", "GMSD"], primary_tool="MDSI"
    )
    result = quality_score(evidence)
    assert result is not None
    assert (result.value, result.tool, result.level) == (2.2, "MDSI", "Poor")
    assert result.baselines == {"GMSD": 4.4, "MDSI": 2.2}
    assert result.opinion is None


def test_where_the_primary_tool_failed_the_next_selected_one_answers():
    evidence = ExecutorOutput(
        quality_scores={"SSIM": 3.0, "GMSD": 4.0}, selected_tools=["MDSI", "GMSD", "SSIM"], primary_tool="MDSI"
    )
    result = quality_score(evidence)
    assert result is not None
    assert result.tool == "GMSD"


def test_an_opinion_moves_the_score_and_never_makes_one():
    evidence = ExecutorOutput(quality_scores={"MDSI": 2.0}, primary_tool="MDSI")
    weighed = quality_score(evidence, PUBLISHED)
    assert weighed is not None
    assert weighed.value == pytest.approx(2.02, abs=0.005)
    assert weighed.tool_score == 2.0
    assert weighed.opinion == PUBLISHED
    assert quality_score(ExecutorOutput(), PUBLISHED) is None
