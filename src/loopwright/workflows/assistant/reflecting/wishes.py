"""Whether another search would help, judged by what the last one brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.workflows.assistant.answering.wording import NOUNS
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.loosening import can_be_loosened
from loopwright.workflows.assistant.schemas import Found, RetryWish, SearchOutcome, Table, Understanding

WEAK_MARGIN = 0.2
"""Share of the way from the threshold to a perfect score: results that are all below it are weak."""
SURE_MARGIN = 0.6
"""The same for one result that is enough on its own, however few there are."""


def wish_after(
    understanding: Understanding,
    outcomes: Sequence[SearchOutcome],
    query_results: Mapping[str, Sequence[Found]],
    config: AssistantSection,
) -> RetryWish | None:
    """Say why another search would help; pure, and blind to how many are left.

    Args:
        understanding: What the question asks for.
        outcomes: What the queries of the last plan brought; empty if nothing was left to search.
        query_results: Table -> all results so far, over all plans, best first.
        config: How many results are enough.

    Returns:
        The wish, or None: nothing was asked, what was found is good, or no other search could find more.
    """
    if understanding.smalltalk or not outcomes:
        return None
    found = {table: list(query_results.get(table, ())) for table in _asked(outcomes)}
    empty = tuple(table for table, results in found.items() if not results)
    if not any(outcome.query.query_text for outcome in outcomes):
        return _wish_of_filters(outcomes, empty, everything_empty=len(empty) == len(found))
    if empty:
        return RetryWish(reason=f"no {_listed(empty)} found", kind="no_results", tables=empty)
    return _wish_of_few(understanding, found, config)


def bar(margin: float, threshold: float) -> float:
    """The score that lies a share of the way from the threshold to a perfect score.

    Args:
        margin: The share, from 0 to 1.
        threshold: The score below which a hit is only a near miss.
    """
    return threshold + margin * (1 - threshold)


def _asked(outcomes: Sequence[SearchOutcome]) -> list[Table]:
    return list(dict.fromkeys(outcome.query.table for outcome in outcomes))


def _wish_of_filters(
    outcomes: Sequence[SearchOutcome], empty: tuple[Table, ...], *, everything_empty: bool
) -> RetryWish | None:
    """A question about no topic lists whatever is there: few are all that there are."""
    if not everything_empty or not any(can_be_loosened(outcome.query.filters) for outcome in outcomes):
        return None
    return RetryWish(reason="nothing at that time and place", kind="no_results", tables=empty)


def _wish_of_few(
    understanding: Understanding, found: Mapping[Table, Sequence[Found]], config: AssistantSection
) -> RetryWish | None:
    # What a person gives is few by nature, and a title that was meant is found alone.
    first = next((table for table in understanding.tables if table in found), next(iter(found)))
    results, threshold = found[first], config.search.score_threshold
    best = max(each.score for each in results)
    if best < bar(WEAK_MARGIN, threshold):
        return RetryWish(reason=f"the {first.value} found fit only loosely", kind="weak", tables=(first,))
    few = len(results) < config.search.enough and not understanding.filters.speakers
    if few and best < bar(SURE_MARGIN, threshold):
        noun = NOUNS[first][len(results) != 1]
        return RetryWish(reason=f"only {len(results)} {noun} found", kind="too_few", tables=(first,))
    return None


def _listed(tables: Sequence[Table]) -> str:
    return " or ".join(table.value for table in tables)
