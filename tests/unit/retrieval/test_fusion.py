from __future__ import annotations

import pytest

from loopwright.retrieval.fusion import reciprocal_rank_fusion


def test_the_score_is_the_sum_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion({"one": ["a", "b"], "two": ["b", "c"]})
    assert list(fused) == ["b", "a", "c"]
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert fused["a"] == pytest.approx(1 / 61)
