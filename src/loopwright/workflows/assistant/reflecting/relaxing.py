"""The mechanical retry: the same words, with wider limits."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import PlannedQuery, SearchOutcome

THRESHOLD_FACTOR = 0.5
"""What the threshold is multiplied with at each relaxation."""
LIMIT_FACTOR = 2
"""What the limit is multiplied with."""
MAX_LIMIT = 200
"""The largest limit that a query may have."""


def relaxed(
    planned: Sequence[PlannedQuery], outcomes: Sequence[SearchOutcome], config: AssistantSection
) -> list[PlannedQuery]:
    """Ask the same with a lower threshold and a wider limit; the second time also of the record as a whole.

    Args:
        planned: The last plan.
        outcomes: What its queries brought, in the same order.
        config: How many results are enough.

    Returns:
        The queries that brought too few, relaxed; all of them if each brought enough, since then they were too weak.
    """
    poor = [
        query
        for query, outcome in zip(planned, outcomes, strict=False)
        if len(outcome.hits) < max(1, config.search.enough)
    ]
    return [_wider(query, again=query.score_threshold < config.search.score_threshold) for query in poor or planned]


def _wider(query: PlannedQuery, *, again: bool) -> PlannedQuery:
    return query.model_copy(
        update={
            "score_threshold": round(query.score_threshold * THRESHOLD_FACTOR, 4),
            "limit": min(MAX_LIMIT, query.limit * LIMIT_FACTOR),
            "search_mode": "master" if again else query.search_mode,
        }
    )
