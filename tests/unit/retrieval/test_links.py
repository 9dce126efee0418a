from __future__ import annotations

import numpy as np
import pytest

from loopwright.retrieval.links import TITLE_WEIGHT, PassageLinks
from loopwright.retrieval.records import Links

# a names x; b names x and is about y; c names y; d stands alone; e names z.
LINKS = Links(
    passages=("a", "b", "c", "d", "e"),
    titles=("", "y", "", "", ""),
    entities=("x", "y", "z"),
    mentions=((0, 0), (1, 0), (2, 1), (4, 2)),
)


def test_links_are_the_weightiest_shared_entity_and_more_for_a_title() -> None:
    graph = PassageLinks(LINKS)
    neighbourhood = graph.neighbourhood([1, 0, 2, 3])
    weight = float(np.log(5 / 3))
    assert neighbourhood.links_of(0) == pytest.approx([0, weight, weight * TITLE_WEIGHT, 0])
    assert neighbourhood.links_of(3) == pytest.approx([0, 0, 0, 0])
