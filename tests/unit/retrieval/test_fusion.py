from __future__ import annotations

import pytest

from loopwright.retrieval.fusion import reciprocal_rank_fusion


def test_the_score_is_the_sum_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion({"one": ["a", "b"], "two": ["b", "c"]})
    assert list(fused) == ["b", "a", "c"]
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert fused["a"] == pytest.approx(1 / 61)


def test_weights_and_smoothing_count() -> None:
    orders = {"one": ["a", "b"], "two": ["b", "a"]}
    assert list(reciprocal_rank_fusion(orders)) == ["a", "b"]
    assert list(reciprocal_rank_fusion(orders, weights={"two": 2.0})) == ["b", "a"]
    assert reciprocal_rank_fusion({"one": ["a"]}, smoothing=0)["a"] == 1.0
