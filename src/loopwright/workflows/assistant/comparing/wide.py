"""One wide search: as many queries as a reflection took, all planned before anything is searched.

It tells whether a reflection helps because it looks at what was found, or only because it searches more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest

from loopwright.workflows.assistant.schemas import PlannedQuery, SearchMode
from loopwright.workflows.assistant.searching import Vocabulary

_LOWER = 0.5
"""By this the threshold is multiplied."""
_WIDER = 2
"""By this the limit is multiplied."""
_MOST = 200
"""The widest limit that a query may have."""
_OTHER: dict[SearchMode, SearchMode] = {"master": "faceted", "faceted": "master"}


def wide_plan(first: Sequence[PlannedQuery], count: int, vocabulary: Vocabulary) -> list[PlannedQuery]:
    """A plan of as many queries as are allowed, from a first plan and nothing that was found.

    To the first plan come, for each of its queries in turn: the same with half the threshold and twice the limit, the
    same in the other words that the vocabulary offers, and the same in the other search mode. No query comes twice.
    Filters stay: dropped unseen, what they keep out would push what is asked for off the answer.

    Args:
        first: The first plan.
        count: How many queries there may be; the first plan is kept whole.
        vocabulary: What other words there are.

    Returns:
        The first plan and what follows it; fewer than `count` if there is no more to vary.
    """
    variants = [list(_variants(query, vocabulary)) for query in first if query.query_text]
    in_turn = (query for queries in zip_longest(*variants) for query in queries if query is not None)
    return list(islice(dict.fromkeys(chain(first, in_turn)), max(count, len(first))))


def _variants(query: PlannedQuery, vocabulary: Vocabulary) -> Iterator[PlannedQuery]:
    loose = query.model_copy(
        update={"score_threshold": query.score_threshold * _LOWER, "limit": min(query.limit * _WIDER, _MOST)}
    )
    yield loose
    for words in vocabulary.expand(query.query_text):
        yield query.model_copy(update={"query_text": words})
    yield loose.model_copy(update={"search_mode": _OTHER[query.search_mode]})
