"""The measures of a ranking, on values that can be checked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.workflows.assistant.comparing.metrics import difference, ndcg_at, recall_at
from loopwright.workflows.figures import mean_figure

TWELVE = [f"sessions:{number}" for number in range(12)]


def test_recall_is_the_share_of_what_the_places_could_hold():
    assert recall_at(["a", "x", "b"], ["a", "b", "c", "d"], 10) == 0.5
    assert recall_at(TWELVE, TWELVE, 10) == 1.0, "twelve are relevant, and ten places can hold ten"
    assert recall_at(["x", "a"], ["a"], 1) == 0.0


def test_an_id_that_is_cited_twice_takes_one_place():
    assert recall_at(["a", "a", "b"], ["a", "b"], 2) == 1.0
    assert ndcg_at(["a", "a", "b"], ["a", "b"], 2) == pytest.approx(1.0)


def test_ndcg_discounts_by_the_logarithm_of_the_place():
    # Places 2 and 3 of three, against a perfect 1 and 2.
    expected = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert ndcg_at(["x", "a", "b"], ["a", "b"], 10) == pytest.approx(expected)
    assert ndcg_at(["x"], ["a"], 10) == 0.0


def test_without_anything_relevant_there_is_nothing_to_measure():
    assert recall_at(["a"], [], 10) is None
    assert ndcg_at(["a"], [], 10) is None


@given(st.lists(st.sampled_from("abcdefgh")), st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 10))
def test_both_measures_lie_between_0_and_1_and_are_1_for_a_perfect_ranking(ranked, relevant, k):
    for measure in (recall_at, ndcg_at):
        assert 0 <= measure(ranked, relevant, k) <= 1
        assert measure(sorted(relevant), relevant, k) == pytest.approx(1.0)


def test_a_mean_has_an_interval_that_narrows_with_more_questions_and_is_the_same_each_time():
    few, many = mean_figure([0.0, 1.0] * 10), mean_figure([0.0, 1.0] * 200)
    assert few == mean_figure([0.0, 1.0] * 10)
    assert few.value == many.value == 0.5 and few.low < many.low < 0.5 < many.high < few.high
    # The normal approximation of the standard error of a mean of 400 values of deviation 1/2 is 0.025.
    assert many.high - many.low == pytest.approx(4 * 0.025, abs=0.01)


def test_what_has_no_value_does_not_count():
    assert mean_figure([None, 1.0]).model_dump() == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert mean_figure([None]).model_dump() == {"value": None, "low": None, "high": None, "n": 0}
    assert difference(1.0, None) is difference(None, 1.0) is None
    assert difference(0.25, 1.0) == -0.75
