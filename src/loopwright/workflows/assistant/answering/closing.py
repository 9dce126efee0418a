"""What follows the list: what else is near, what cannot be seen together, and how much was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.workflows.assistant.answering.choosing import Choice
from loopwright.workflows.assistant.answering.fitting import HALF, topic_held
from loopwright.workflows.assistant.answering.lines import cancelled, overlaps, titled
from loopwright.workflows.assistant.answering.wording import NOUNS, begins, joined
from loopwright.workflows.assistant.schemas import Filters, Found, Record, SearchOutcome, Status, Table, Understanding

_MOST_COMPARED = 6
_MOST_OVERLAPS = 3
_SHORT_TITLE = 60


def closing(
    understanding: Understanding,
    choice: Choice,
    fit: Status,
    query_results: Mapping[str, Sequence[Found]],
    outcomes: Sequence[SearchOutcome],
) -> list[str]:
    """The paragraphs after the list, those that have something to say.

    Args:
        understanding: What was asked.
        choice: What the answer cites.
        fit: How well the best of it fits.
        query_results: Table -> its hits.
        outcomes: What the queries of the last plan brought.
    """
    said = [
        _overlapping(understanding, choice),
        _left_out(understanding, choice, query_results, outcomes) if fit == "answered" else "",
        _further(choice, fit),
    ]
    return [each for each in said if each]


def _overlapping(understanding: Understanding, choice: Choice) -> str:
    sessions = [
        found.record for found in choice.told if found.record.table is Table.SESSIONS and not cancelled(found.record)
    ]
    filters = understanding.filters
    # A person chooses between a few, or asked what to see; and what was asked for one moment is all on at once.
    planning = understanding.query_mode != "specific" or (understanding.topic and len(sessions) <= _MOST_COMPARED)
    if not planning or filters.at or filters.at_time:
        return ""
    pairs = [" and ".join(titled(record, _SHORT_TITLE) for record in pair) for pair in overlaps(sessions)]
    if len(pairs) > _MOST_OVERLAPS:
        return "Some of these are on at the same time."
    return f"At the same time: {'; '.join(pairs)}." if pairs else ""


def _left_out(
    understanding: Understanding,
    choice: Choice,
    query_results: Mapping[str, Sequence[Found]],
    outcomes: Sequence[SearchOutcome],
) -> str:
    """What the list leaves out of the tables that were asked, as far as the search counted it."""
    told = [found.record for found in choice.told]
    more: dict[Table, int] = {}
    for table in dict.fromkeys(record.table for record in told):
        # Queries by time and place for the parts of a question have no record in common; of a text, what is near in
        # meaning is counted too.
        own = [outcome for outcome in outcomes if outcome.query.table is table]
        counted = sum(outcome.total for outcome in own if understanding.topic or not outcome.query.query_text)
        rest = max(counted, len(query_results.get(table.value, ()))) - sum(record.table is table for record in told)
        if rest > 0:
            more[table] = rest
    if not more:
        return ""
    hints = _narrower(understanding)
    seen = f": name {hints} to see others" if hints else ""
    if not understanding.topic:
        return f"And {joined(f'{rest} more {NOUNS[table][rest > 1]}' for table, rest in more.items())}{seen}."
    # Only the words of the last one that is told suggest that there is more.
    held = not choice.further and topic_held(told[-1], understanding.topic) > HALF
    return f"There may be more{seen}." if held else ""


def _narrower(understanding: Understanding) -> str:
    filters = understanding.filters
    if not set(understanding.tables) <= {Table.SESSIONS}:
        return "" if understanding.topic else "a topic"
    free = {
        "a day": not filters.days,
        "a time": not filters.timed,
        "a room": not filters.rooms,
        "a topic": not understanding.topic,
    }
    return joined((what for what, is_free in free.items() if is_free), "or")


def _further(choice: Choice, fit: Status) -> str:
    if not choice.further:
        return ""
    label = "Further off" if fit == "nothing_found" else "Perhaps also"
    return f"{label}: {'; '.join(_brief(found.record) for found in choice.further)}."


def _brief(record: Record) -> str:
    facts = ", ".join(part for part in (begins(record), "cancelled" if cancelled(record) else "") if part)
    return f"{titled(record, _SHORT_TITLE)}{f' ({facts})' if facts else ''}"


def advice(understanding: Understanding, *, again: bool) -> str:
    """What to ask instead, where nothing was found.

    Args:
        understanding: What was asked.
        again: Whether wider searches followed the first, so that its limits were no obstacle.
    """
    limits = "" if again else joined(_limits(understanding.filters), "or")
    if understanding.topic:
        return f"Try other words{f', or without the limits of {limits}' if limits else ''}."
    return f"Try another {limits}." if limits else "Try other words."


def _limits(filters: Filters) -> list[str]:
    every = (filters, *filters.any_of)
    asked = {
        "time": any(each.days or each.timed for each in every),
        "place": any(each.rooms for each in every),
        "track": any(each.tracks for each in every),
        "kind": any(each.types for each in every),
        "language": any(each.languages for each in every),
        "person": any(each.speakers for each in every),
    }
    return [limit for limit, is_asked in asked.items() if is_asked]
