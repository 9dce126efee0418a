"""Merging the keys of one entity."""

from __future__ import annotations

from itertools import permutations

import pytest

from loopwright.retrieval.stores.resolution import Resolution


@pytest.mark.parametrize(
    ("aliases", "canonical"),
    [
        ([("us", "united states"), ("usa", "united states")], "united states"),
        ([("a", "b"), ("b", "c")], "c"),
        ([("a", "b"), ("b", "a")], "a"),
        ([("x", "y"), ("y", "z"), ("z", "x")], "x"),
        (
            [
                ("us", "united states"),
                ("us", "united states of america"),
                ("united states", "united states of america"),
            ],
            "united states of america",
        ),
    ],
)
def test_the_order_of_aliases_changes_nothing(aliases: list[tuple[str, str]], canonical: str) -> None:
    keys = {key for pair in aliases for key in pair}
    for order in permutations(aliases):
        resolution = Resolution(order)
        assert {resolution.canonical(key) for key in keys} == {canonical}
        assert {resolution.members(key) for key in keys} == {tuple(sorted(keys))}


def test_an_alias_of_two_entities_merges_nothing() -> None:
    aliases = [("ai", "artificial intelligence"), ("ai", "amnesty international"), ("amnesty", "amnesty international")]
    for order in permutations(aliases):
        resolution = Resolution(order)
        assert resolution.members("amnesty international") == ("amnesty", "amnesty international")
        assert resolution.members("artificial intelligence") == ("artificial intelligence",)
        assert resolution.canonical("ai") == "ai"


def test_a_long_chain() -> None:
    chain = [(f"{number:05}", f"{number + 1:05}") for number in range(5000)]
    assert Resolution(reversed(chain)).canonical("00000") == "05000"
