"""Whether another search would help, judged by what the last one brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.workflows.assistant.answer.listing import SURE
from loopwright.workflows.assistant.answer.wording import NOUNS
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.steps import fewer_conditions
from loopwright.workflows.assistant.schemas import Found, Question, RetryWish, SearchOutcome

ENOUGH_ALONE = 0.75
"""One result with so much evidence is enough, however few there are."""


def wish_after(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    query_results: Mapping[str, Sequence[Found]],
    config: AssistantSection,
) -> RetryWish | None:
    """Say why another search would help; pure, and blind to how many are left.

    Args:
        question: What is asked for.
        outcomes: What the queries of the last plan brought; empty if nothing was left to search.
        query_results: Table -> all results so far, over all plans, best first.
        config: How many results are enough.

    Returns:
        The wish, or None: nothing was asked, what was found is good, or no other search could find more.
    """
    if not question.searches or not outcomes or question.operation in ("count", "most"):
        return None
    asked = list(dict.fromkeys(outcome.query.table for outcome in outcomes))
    found = {table: list(query_results.get(table, ())) for table in asked}
    empty = tuple(table for table, results in found.items() if not results)
    if not any(outcome.query.query_text for outcome in outcomes):
        # A question about no topic lists whatever is there: few are all that there are.
        if len(empty) < len(found) or not fewer_conditions(outcomes[0].query.filters, keep_kind=True):
            return None
        return RetryWish(reason="nothing at that time and place", kind="no_results", tables=empty)
    if empty:
        return RetryWish(reason=f"no {' or '.join(empty)} found", kind="no_results", tables=empty)
    first = next((table for table in question.tables if table in found), asked[0])
    best = max(each.score for each in found[first])
    if best < SURE:
        return RetryWish(reason=f"the {first.value} found fit only loosely", kind="weak", tables=(first,))
    # What a person gives is few by nature, and a title that was meant is found alone.
    few = len(found[first]) < config.search.enough and not question.filters.values("person")
    if few and best < ENOUGH_ALONE and question.operation == "find" and not question.parts:
        noun = NOUNS[first][len(found[first]) != 1]
        return RetryWish(reason=f"only {len(found[first])} {noun} found", kind="too_few", tables=(first,))
    return None
