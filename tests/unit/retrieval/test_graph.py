from __future__ import annotations

import numpy as np
import pytest

from loopwright.retrieval.graph import TITLE_WEIGHT, KnowledgeGraph
from loopwright.retrieval.records import Links

# a names x; b names x and is about y; c names y; d stands alone; e names z.
LINKS = Links(
    passages=("a", "b", "c", "d", "e"),
    titles=("", "y", "", "", ""),
    entities=("x", "y", "z"),
    mentions=((0, 0, 1), (1, 0, 2), (2, 1, 1), (4, 2, 1)),
    facts=(),
)


def test_the_walk_reaches_near_passages_most_and_never_unlinked_ones() -> None:
    visits = KnowledgeGraph(LINKS).personalised_pagerank({0: 1.0}, {})
    assert visits.dtype == np.float32
    assert visits[0] > visits[1] > visits[2] > 0
    assert visits[3] == visits[4] == 0


def test_the_walk_solves_its_equation() -> None:
    graph = KnowledgeGraph(LINKS)
    # x weighs ln(5/3), as does y: two passages each. a - x - b - y - c is a chain of equal weights.
    walk = np.array(
        [  # a, b, c, x, y
            [0, 0, 0, 0.5, 0],
            [0, 0, 0, 0.5, 0.5],
            [0, 0, 0, 0, 0.5],
            [1, 0.5, 0, 0, 0],
            [0, 0.5, 1, 0, 0],
        ]
    )
    expected = np.linalg.solve(np.eye(5) - 0.5 * walk, 0.5 * np.array([1, 0, 0, 0, 0]))
    assert graph.personalised_pagerank({0: 3.0}, {}, tolerance=1e-6)[:3] == pytest.approx(expected[:3], abs=1e-5)


def test_entities_are_seeds_too() -> None:
    graph = KnowledgeGraph(LINKS)
    visits = graph.personalised_pagerank({}, {graph.entity_position["y"]: 1.0})
    assert visits[1] > 0
    assert visits[2] > 0
    assert visits[4] == 0


def test_a_fact_joins_its_entities() -> None:
    joined = KnowledgeGraph(
        Links(
            passages=LINKS.passages,
            titles=LINKS.titles,
            entities=LINKS.entities,
            mentions=LINKS.mentions,
            facts=((0, 2, 0, 1.0),),
        )
    )
    assert joined.personalised_pagerank({0: 1.0}, {})[4] > 0


def test_without_seeds_or_passages_there_is_nothing() -> None:
    assert not KnowledgeGraph(LINKS).personalised_pagerank({}, {}).any()
    empty = KnowledgeGraph(Links(passages=(), titles=(), entities=(), mentions=(), facts=()))
    assert empty.personalised_pagerank({}, {}).shape == (0,)


def test_links_are_the_weightiest_shared_entity_and_more_for_a_title() -> None:
    graph = KnowledgeGraph(LINKS)
    neighbourhood = graph.neighbourhood([1, 0, 2, 3])
    weight = float(np.log(5 / 3))
    assert neighbourhood.links_of(0) == pytest.approx([0, weight, weight * TITLE_WEIGHT, 0])
    assert neighbourhood.links_of(3) == pytest.approx([0, 0, 0, 0])


def test_an_entity_that_everything_names_links_nothing() -> None:
    graph = KnowledgeGraph(
        Links(passages=("a", "b"), titles=("", ""), entities=("x",), mentions=((0, 0, 1), (1, 0, 1)), facts=())
    )
    assert not graph.neighbourhood([0, 1]).links_of(0).any()
