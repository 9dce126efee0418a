"""The same words at other times and places, or in other tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopwright.workflows.assistant.reflecting.loosening import A_LITTLE, ANYWHERE, loosened
from loopwright.workflows.assistant.reflecting.situation import Situation, Step
from loopwright.workflows.assistant.schemas import Filters, PlannedQuery, SearchOutcome, Table

FEW_AT_ONCE = 5
"""Results of a search that nobody asked for."""
_MOST_WORDS = 3
_WAYS = 2
"""Ways to loosen filters that are tried at once."""


def at_other_times(situation: Situation) -> Iterator[Step]:
    """What asks for a little less of time and place, where something is then.

    Args:
        situation: The poor search.

    Yields:
        One step with the nearest; none where nothing was asked of time and place, or something fits all of it.
    """
    if situation.found:
        return
    ways = [way for outcome in situation.poor if not outcome.query.filters.empty for way in _ways(outcome, situation)]
    if ways:
        yield Step(
            "relax",
            tuple(query for query, _, _ in ways),
            "; ".join(f"{there} {query.table.value} {told}" for query, there, told in ways),
            f"look {_where([told for _, _, told in ways])}",
        )


def in_other_tables(situation: Situation) -> Iterator[Step]:
    """The same few words in the tables that were not asked, where the conference knows them all.

    Args:
        situation: The poor search.

    Yields:
        One step; none if there is no other table, a word stands nowhere in the conference, or they are so many that
        they describe something, and each could stand there by chance.
    """
    asked = {query.table for plan in situation.attempts for query in plan}
    others = [
        table
        for table in (Table.SESSIONS, Table.EXHIBITORS)
        if table not in asked and situation.search.catalogue.of_table(table)
    ]
    if others and 0 < len(situation.words) <= _MOST_WORDS and all(word.records for word in situation.words):
        usual = situation.config.search
        yield Step(
            "pivot",
            tuple(
                PlannedQuery(
                    table=table,
                    query_text=situation.topic,
                    limit=min(usual.limit, FEW_AT_ONCE),
                    score_threshold=usual.score_threshold,
                )
                for table in others
            ),
            f"every word stands somewhere in the conference, and {', '.join(others)} were not asked",
            f"look among the {' and '.join(others)}",
        )


def _where(told: Sequence[str]) -> str:
    """Where is looked instead; another time of the day is said once, however near it is."""
    places = list(dict.fromkeys(told))
    if ANYWHERE in places:
        return ANYWHERE
    return " and ".join(place for place in places if place != A_LITTLE or len(places) == 1)


def _ways(outcome: SearchOutcome, situation: Situation) -> list[tuple[PlannedQuery, int, str]]:
    query, usual = outcome.query, situation.config.search
    catalogue = situation.search.catalogue
    passing: list[tuple[Filters, int, str]] = []
    # With neither a topic nor a person nor a kind of session, other days would bring whatever there is.
    asked = query.filters
    of_something = bool(situation.topic or asked.speakers)
    of_a_kind = bool(asked.tracks or asked.types)
    for filters, told in loosened(
        asked, catalogue.info, days=of_something or of_a_kind, kinds=of_something or not of_a_kind
    ):
        there = len(catalogue.filtered(query.table, filters))
        if there:
            passing.append((filters, there, told))
    return [
        (
            query.model_copy(
                update={
                    "query_text": situation.topic,
                    "filters": filters,
                    "limit": min(query.limit, FEW_AT_ONCE),
                    "score_threshold": usual.score_threshold,
                }
            ),
            there,
            told,
        )
        for filters, there, told in [*passing[:_WAYS], *passing[_WAYS:][-1:]]
    ]
