"""What several plans found, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from loopwright.workflows.assistant.schemas import Found, SearchOutcome


def merge(results: Mapping[str, Sequence[Found]], outcomes: Iterable[SearchOutcome]) -> dict[str, list[Found]]:
    """Add what was found to what was found before: no record twice, each with its best score.

    Args:
        results: Table -> what was found so far.
        outcomes: What the queries of another plan brought; only their hits count.

    Returns:
        Table -> what was found, best first; equal scores in the order in which they came. `results` stays as it is.
    """
    best: dict[str, dict[str, Found]] = {
        table: {each.record.id: each for each in found} for table, found in results.items()
    }
    for outcome in outcomes:
        found = best.setdefault(outcome.query.table.value, {})
        for hit in outcome.hits:
            known = found.get(hit.record.id)
            if known is None or hit.score > known.score:
                found[hit.record.id] = hit
    return {table: sorted(found.values(), key=lambda each: -each.score) for table, found in best.items()}
