"""Whether another search would help, and plans without what was searched before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.answer.listing import SURE
from loopwright.workflows.assistant.answer.wording import NOUNS
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.reflecting.steps import fewer_conditions
from loopwright.workflows.assistant.schemas import Found, PlannedQuery, Question, SearchOutcome

ENOUGH_ALONE = 0.75
"""One result with so much evidence is enough, however few there are."""
MAX_QUERIES = 4
"""Queries of one new plan; a person waits for each."""


def wish_after(
    question: Question,
    outcomes: Sequence[SearchOutcome],
    query_results: Mapping[str, Sequence[Found]],
    config: AssistantSection,
) -> str | None:
    """Say why another search would help; pure, and blind to how many are left.

    Args:
        question: What is asked for.
        outcomes: What the queries of the last plan brought; empty if nothing was left to search.
        query_results: Table -> all results so far, over all plans, best first.
        config: How many results are enough.

    Returns:
        The reason, in a few words, or None: nothing was asked, what was found is good, or nothing could find more.
    """
    if not question.searches or not outcomes or question.operation in ("count", "most"):
        return None
    asked = list(dict.fromkeys(outcome.query.table for outcome in outcomes))
    found = {table: list(query_results.get(table, ())) for table in asked}
    empty = [table for table, results in found.items() if not results]
    if not any(outcome.query.query_text for outcome in outcomes):
        # A question about no topic lists whatever is there: few are all that there are.
        if len(empty) < len(found) or not fewer_conditions(outcomes[0].query.filters, keep_kind=True):
            return None
        return "nothing at that time and place"
    if empty:
        return f"no {' or '.join(empty)} found"
    first = next((table for table in question.tables if table in found), asked[0])
    best = max(each.score for each in found[first])
    if best < SURE:
        return f"the {first.value} found fit only loosely"
    # What a person gives is few by nature, and a title that was meant is found alone.
    few = len(found[first]) < config.search.enough and not question.filters.values("person")
    if few and best < ENOUGH_ALONE and question.operation == "find" and not question.parts:
        return f"only {len(found[first])} {NOUNS[first][len(found[first]) != 1]} found"
    return None


def untried(queries: Iterable[PlannedQuery], attempts: Sequence[Sequence[PlannedQuery]]) -> tuple[PlannedQuery, ...]:
    """The first of some queries that equal none that was searched in every parameter, each once.

    Args:
        queries: The queries, the most promising first; texts are compared without case, accents and repeated spaces.
        attempts: Every plan so far.
    """
    tried = {_form(query) for query in chain.from_iterable(attempts)}
    new = {form: query for query in queries if (form := _form(query)) not in tried}
    return tuple(new.values())[:MAX_QUERIES]


def _form(query: PlannedQuery) -> str:
    return query.model_copy(update={"query_text": " ".join(fold(query.query_text).split())}).model_dump_json()
