"""The first plan: which searches answer what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.schemas import (
    Filters,
    PlannedQuery,
    Profile,
    SearchMode,
    Table,
    Understanding,
)

MAX_WISHES = 3
"""The most searches for a profile's wishes in one plan, shared by its tables; the newest wishes go first."""


def plan(understanding: Understanding, config: AssistantSection, profile: Profile | None = None) -> list[PlannedQuery]:
    """Plan the searches for what was understood.

    Each table gets a query of its own; where a time of day holds on several days, the sessions get one for each day.
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
    texts = [understanding.topic]
    if understanding.query_mode == "profile" and profile is not None:
        texts = _wishes(profile)[: max(1, MAX_WISHES // len(understanding.tables))] or texts
    queries = [
        PlannedQuery(
            table=table,
            search_mode=mode,
            query_text=text,
            filters=filters,
            limit=config.search.limit,
            score_threshold=config.search.score_threshold,
        )
        for table in understanding.tables
        for text in texts
        for filters in _filters_for(table, understanding.filters)
    ]
    return list(dict.fromkeys(queries))


def _wishes(profile: Profile) -> list[str]:
    newest = [*reversed(profile.interests), *reversed(profile.seeking), *reversed(profile.offering)]
    return list(dict.fromkeys(newest))


def _filters_for(table: Table, filters: Filters) -> Iterator[Filters]:
    """The filters as far as they mean something in a table, once for each day that a time of day holds on."""
    if table in (Table.EXHIBITORS, Table.ATTENDEES):
        # They are there all day, in no track and no language.
        yield Filters(days=filters.days, rooms=filters.rooms)
        return
    timed = filters.after or filters.before or filters.at
    if timed is None or len(filters.days) < 2:
        yield filters
        return
    first = date.fromisoformat(filters.days[0])
    for day in filters.days:
        days = (date.fromisoformat(day) - first).days
        yield filters.model_copy(
            update={
                "days": (day,),
                **{
                    name: moment and (moment.replace(tzinfo=None) + timedelta(days=days)).replace(tzinfo=moment.tzinfo)
                    for name in ("after", "before", "at")
                    for moment in (getattr(filters, name),)
                },
            }
        )
