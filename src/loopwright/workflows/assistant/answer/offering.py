"""Which of the hits are put before the writer of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.workflows.assistant.constants import DEFAULT_LIMIT
from loopwright.workflows.assistant.schemas import Found, Table


def offered(
    query_results: Mapping[str, Sequence[Found]], limit: int = DEFAULT_LIMIT, *, tables: Sequence[Table] = ()
) -> list[Found]:
    """The hits that an answer may cite, the best first.

    The scores of all tables are on one scale, but the table that the question is about keeps at least half of the
    places where it has as many hits, and every other table with hits some, so that none is crowded out.

    Args:
        query_results: Table -> its hits, best first.
        limit: At most so many.
        tables: The tables that were asked, the most important first; by default in the order of the results.
    """
    order = [table.value for table in tables] + [table for table in query_results if table not in tables]
    queues = [list(hits) for table in dict.fromkeys(order) if (hits := query_results.get(table))]
    if not queues or limit < 1:
        return []
    others = len(queues) - 1
    share = max(1, min(limit // 3, limit // 2 // others)) if others else 0
    main = max(1, limit - others * share)
    chosen = queues[0][:main] + [found for queue in queues[1:] for found in queue[:share]]
    rest = queues[0][main:] + [found for queue in queues[1:] for found in queue[share:]]
    # Both sorts are stable: equal scores stay in the order in which they came, for example that of time.
    spare = max(0, limit - len(chosen))
    chosen = chosen[:limit] + sorted(rest, key=lambda found: -found.score)[:spare]
    return sorted(chosen, key=lambda found: -found.score)
