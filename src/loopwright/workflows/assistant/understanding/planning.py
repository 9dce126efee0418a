"""The first plan: which searches answer what was asked."""

from __future__ import annotations

from math import ceil

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import (
    Filters,
    PlannedQuery,
    Profile,
    SearchMode,
    Table,
    Understanding,
)
from loopwright.workflows.assistant.understanding.compounds import BETWEEN_TOPICS, alternatives

ONE_ALONE = "only "
"""Before a title between quotation marks, what a question for one known record begins with."""
MAX_WISHES = 3
"""The most searches for a profile's wishes in one plan, shared by its tables; the newest wishes go first."""


def plan(understanding: Understanding, config: AssistantSection, profile: Profile | None = None) -> list[PlannedQuery]:
    """Plan the searches for what was understood.

    Each table gets a query of its own, and so does each part of a question that asks for several things.
    What suits a person is searched aspect by aspect: one query for each of the newest wishes.

    Args:
        understanding: What is asked for.
        config: The limit and the threshold of a query.
        profile: What is known of the person, if anything.

    Returns:
        The queries, the most important first; none for smalltalk.
    """
    if understanding.smalltalk:
        return []
    mode: SearchMode = "master" if understanding.query_mode == "specific" else "faceted"
    texts, filters = understanding.topic.split(BETWEEN_TOPICS), alternatives(understanding.filters)
    if understanding.query_mode == "profile" and profile is not None:
        texts = _wishes(profile)[: max(1, MAX_WISHES // len(understanding.tables))] or texts
        pairs = [(text, understanding.filters) for text in texts]
    elif len(texts) == len(filters):
        pairs = list(zip(texts, filters, strict=True))
    else:
        pairs = [(text, part) for text in texts for part in filters]
    # Each part of a question gets its share of the answer.
    parts = 1 if understanding.query_mode == "profile" else len(pairs)
    alone = understanding.standalone.startswith(f'{ONE_ALONE}"')
    queries = [
        PlannedQuery(
            table=table,
            search_mode=mode,
            query_text=text or _persons_asked(table, part),
            filters=_filters_for(table, part),
            limit=1 if alone else ceil(config.search.limit / parts),
            score_threshold=config.search.score_threshold,
        )
        for table in understanding.tables
        for text, part in pairs
    ]
    return list(dict.fromkeys(queries))


def _wishes(profile: Profile) -> list[str]:
    newest = [*reversed(profile.interests), *reversed(profile.seeking), *reversed(profile.offering)]
    return list(dict.fromkeys(newest))


def _persons_asked(table: Table, filters: Filters) -> str:
    """The persons as words where they are no filter: "does Ada have a stand?"."""
    return " ".join(filters.speakers) if table in (Table.EXHIBITORS, Table.ATTENDEES) else ""


def _filters_for(table: Table, filters: Filters) -> Filters:
    """The filters as far as they mean something in a table."""
    if table in (Table.EXHIBITORS, Table.ATTENDEES):
        # They are there all day, in no track and no language.
        return Filters(days=filters.days, rooms=filters.rooms)
    return filters
