"""The first plan: which searches answer what was asked."""

from math import ceil
from typing import get_args

from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.constants import MAX_LIMIT, SURE
from loopwright.workflows.assistant.schemas import Filters, Pick, PlannedQuery, Profile, Question, Table

MAX_WISHES = 3
"""The most searches for a profile's wishes in one plan, shared by its tables; the newest wishes go first."""
_BESIDE = (Table.EXHIBITORS, Table.ATTENDEES)
_PICKS: dict[str, Pick] = {**{each: each for each in get_args(Pick)}, "next": "first", "previous": "last"}


def plan(question: Question, config: AssistantSection, profile: Profile | None = None) -> list[PlannedQuery]:
    """Plan the searches for a question.

    Each table gets a query of its own, and so does each part of a question that asks for several things.
    What suits a person is searched aspect by aspect: one query for each of the newest wishes. The most important query
    stands first; there is none where nothing is searched.
    """
    alone = question.operation in ("clash", "compare")
    if not question.searches or (alone and not question.parts):
        return []
    parts = question.parts or (question,)
    queries: list[PlannedQuery] = []
    for part in parts:
        limit = ceil(config.search.limit / len(parts))
        if alone:  # of a subject the best, of a track or a person all
            limit = 1 if part.topic and len(parts) > 1 else MAX_LIMIT
        queries += _planned(part, config, profile, limit)
    return list(dict.fromkeys(queries))


def _planned(question: Question, config: AssistantSection, profile: Profile | None, limit: int) -> list[PlannedQuery]:
    operation, usual = question.operation, config.search.score_threshold
    # Where no session is named, it is the next one until which somebody waits.
    pick = _PICKS.get((question.by or "next") if operation == "until" and not question.topic else operation, "")
    every = bool(pick) or operation in ("count", "most", "now")
    named = bool(question.filters.values("person") or question.filters.values("record")) and not every
    texts = [question.topic]
    if question.query_mode == "profile" and profile is not None:
        # What a person is interested in, then what they seek and offer, the newest of each first.
        wishes = dict.fromkeys(reversed((*profile.offering, *profile.seeking, *profile.interests)))
        texts = [*wishes][: max(1, MAX_WISHES // len(question.tables))] or texts
    return [
        PlannedQuery(
            table=table,
            # Persons are words where they are no filter: "does Ada have a stand?".
            query_text=text or (" ".join(question.filters.values("person")) if table in _BESIDE else ""),
            filters=filters_for(table, question.filters),
            limit=MAX_LIMIT if every else limit,
            # A person's talks are few, and a topic beside the name only orders them; what is counted must be about it.
            score_threshold=0.0 if named else max(usual, SURE) if every and text else usual,
            pick=pick,
        )
        for table in question.tables
        for text in texts
    ]


def filters_for(table: Table, filters: Filters) -> Filters:
    """The filters as far as they mean something in a table: stands and people are there all day, in no track."""
    if table not in _BESIDE:
        return filters
    kept = tuple(each for each in filters.include if each.slot in ("day", "room", "record"))
    return filters.model_copy(update={"include": kept})
