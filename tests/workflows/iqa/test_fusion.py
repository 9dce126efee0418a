"""One score out of several, and where an opinion comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.workflows.iqa.answer.fusion import level_name, quality_score, weigh_opinion
from loopwright.workflows.iqa.schemas import ExecutorOutput

PUBLISHED = dict(zip(range(1, 6), (0.1, 0.1, 0.1, 0.1, 0.6), strict=True))

scores = st.floats(1, 5)
opinions = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda p: sum(p) > 1e-6)


@given(scores, opinions)
def test_it_is_a_mean_of_the_levels_held_possible(tools, p):
    opinion = dict(zip(range(1, 6), p, strict=True))
    held = [c for c, value in opinion.items() if value > 0]
    assert min(held) - 1e-9 <= weigh_opinion(tools, opinion) <= max(held) + 1e-9


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (1.49, "Bad"),
        (1.5, "Poor"),
        (2.5, "Fair"),
        (4.5, "Excellent"),
        (5, "Excellent"),
    ],
)
def test_a_level_is_the_nearest_one(score, name):
    assert level_name(score) == name


def test_where_the_primary_tool_failed_the_next_selected_one_answers():
    evidence = ExecutorOutput(
        quality_scores={"SSIM": 3.0, "GMSD": 4.0}, selected_tools=["MDSI", "GMSD", "SSIM"], primary_tool="MDSI"
    )
    result = quality_score(evidence)
    assert result is not None
    assert result.tool == "GMSD"


def test_an_opinion_moves_the_score_to_the_published_value_and_never_makes_one():
    evidence = ExecutorOutput(quality_scores={"MDSI": 2.0}, primary_tool="MDSI")
    weighed = quality_score(evidence, PUBLISHED)
    assert weighed is not None
    assert weighed.value == pytest.approx(2.02, abs=0.005)
    assert weighed.tool_score == 2.0
    assert weighed.opinion == PUBLISHED
    assert quality_score(ExecutorOutput(), PUBLISHED) is None
