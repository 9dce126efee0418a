"""The sentence before the list: what the records below are, or that nothing is there."""

from __future__ import annotations

from collections.abc import Sequence

from loopwright.workflows.assistant.answering.fitting import unmet
from loopwright.workflows.assistant.answering.wording import NOUNS, described, joined, plain, wanted
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.schemas import Filters, Found, Status, Table, Understanding


def lead(
    question: str,
    understanding: Understanding,
    chosen: Sequence[Found],
    fit: Status,
    info: ConferenceInfo | None,
    shared: Sequence[str],
) -> str:
    """Introduce the list.

    Args:
        question: The question as asked.
        understanding: What was understood of it.
        chosen: The records that are listed; at least one.
        fit: How well the best of them fit.
        info: The conference.
        shared: How all of them differ from what was asked.
    """
    if fit == "answered":
        return _answering(question, understanding, chosen)
    one = len(chosen) == 1
    if fit == "partial" and any(unmet(found.record, understanding.filters) for found in chosen):
        things = joined((NOUNS[table][1] for table in understanding.tables or (Table.SESSIONS,)), "or")
        return f"I found no {things}{_asked(question, understanding)}. {_near(one)}{_comma(shared)}:"
    if fit == "partial":
        return f"I am not sure that I found anything{_asked(question, understanding)}. {_near(one)}:"
    return f"{nothing_there(question, understanding, info)} {_near(one)}, but may be about something else:"


def nothing_there(
    question: str, understanding: Understanding, info: ConferenceInfo | None, *, again: bool = False
) -> str:
    """Say that nothing was found.

    Args:
        question: The question as asked.
        understanding: What was understood of it.
        info: The conference.
        again: Whether other searches followed the first.
    """
    things = joined((NOUNS[table][1] for table in understanding.tables or (Table.SESSIONS,)), "or")
    of = f" of {plain(info.title)}" if info and info.title else ""
    also = ", also when I searched more widely" if again else ""
    return f"I found no {things}{_asked(question, understanding)} in the programme{of}{also}."


def _answering(question: str, understanding: Understanding, chosen: Sequence[Found]) -> str:
    filters, tables = understanding.filters, {found.record.table for found in chosen}
    if understanding.topic:
        suits = ", what suits you first" if understanding.query_mode != "specific" else ""
        return f"What I found{_asked(question, understanding)}{suits}:"
    if understanding.query_mode != "specific":
        return f"What may suit you{_spaced(described(filters))}:"
    if len(filters.speakers) == 1 and filters == Filters(speakers=filters.speakers):
        sessions = sum(found.record.table is Table.SESSIONS for found in chosen)
        counted = f"{sessions} session{'' if sessions == 1 else 's'}"
        return f"{plain(filters.speakers[0])} has {counted}:" if sessions else f"{plain(filters.speakers[0])}:"
    things = joined(NOUNS[table][1] for table in NOUNS if table in tables)
    if tables == {Table.SESSIONS} and not filters.types:
        things = "programme"
    return f"The {things}{_spaced(described(filters))}:"


def _asked(question: str, understanding: Understanding) -> str:
    return _spaced(wanted(understanding.topic, question, understanding.filters))


def _near(one: bool) -> str:
    return "This comes nearest" if one else "These come nearest"


def _comma(shared: Sequence[str]) -> str:
    return f", {joined(shared)} than asked" if shared else ""


def _spaced(text: str) -> str:
    return f" {text}" if text else ""
