from __future__ import annotations

import numpy as np
import pytest

from loopwright.retrieval.links import TITLE_WEIGHT, PassageLinks


def test_links_are_the_weightiest_shared_entity_and_more_for_a_title() -> None:
    # d stands alone.
    named = [("a", "", ["x"]), ("b", "y", ["x"]), ("c", "", ["y"]), ("d", "", []), ("e", "", ["z"])]
    links_of = PassageLinks(named).links_among([1, 0, 2, 3])
    weight = float(np.log(5 / 3))
    assert links_of(0) == pytest.approx([0, weight, weight * TITLE_WEIGHT, 0])
    assert links_of(3) == pytest.approx([0, 0, 0, 0])
