"""The answer without a chat model: a list that explains each hit, and says plainly what was not found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.answering.fitting import fit_of
from loopwright.workflows.assistant.answering.lines import line_of, overlaps, titled
from loopwright.workflows.assistant.answering.offering import offered
from loopwright.workflows.assistant.answering.references import referenced
from loopwright.workflows.assistant.answering.smalltalk import small_answer
from loopwright.workflows.assistant.answering.wording import NOUNS, described, joined, plain, shortened
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.constants import DEFAULT_LIMIT, DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import (
    Draft,
    Found,
    Record,
    Status,
    Strategy,
    Table,
    ThinkingUpdate,
    Understanding,
)

_IN_TIME = re.compile(
    r"\b(?:when|what time|schedule|timetable|agenda|plan my|itinerary|in order of time|upcoming|earliest|latest)\b"
    r"|\b(?:next|first|last) (?:talks?|sessions?|ones?|things?|up)\b|\bis next\b"
)
_WAYS: dict[Strategy, str] = {"relax": "more widely", "rewrite": "in other words", "pivot": "in other places"}
_FEW = 3
_MOST_OVERLAPS = 3
_MOST_TOPIC = 120
_SHORT_TITLE = 40


def list_answer(
    question: str,
    understanding: Understanding,
    query_results: Mapping[str, Sequence[Found]],
    *,
    notes: Sequence[str] = (),
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None = None,
    thinking: Sequence[ThinkingUpdate] = (),
    info: ConferenceInfo | None = None,
    records: Mapping[str, Record] | None = None,
    limit: int = DEFAULT_LIMIT,
    threshold: float = DEFAULT_THRESHOLD,
) -> Draft:
    """Answer with the best hits, by table, each with its mark, its time and place, and why it fits.

    Args:
        question: The question as asked.
        understanding: What was understood of it.
        query_results: Table -> its hits, best first.
        notes: What could not be taken as asked, besides the notes of `understanding`.
        stop_reason: Which loop reached its bound, if one did.
        thinking: The retries that the person was told of.
        info: The conference.
        records: All records of the conference by id, to name the sessions of a speaker with time and room; by default
            only the hits are known.
        limit: At most so many records are cited.
        threshold: The score below which a hit only comes near.

    Returns:
        The answer. It is ``answered`` only where a cited record fits all that was asked, and nothing that was asked is
        missing from the conference. Where no record reaches the threshold or holds the topic's words, the nearest are
        named as such, and the status is ``nothing_found``.
    """
    if understanding.smalltalk:
        return Draft(text=small_answer(question, plain(info.title) if info else ""))
    chosen = offered(query_results, limit, tables=understanding.tables)
    remarks = list(dict.fromkeys([*understanding.notes, *notes]))
    fit = fit_of(understanding, chosen, threshold, searched_again=bool(thinking) or stop_reason is not None)
    head = [_lead(understanding, chosen, fit, info), *(plain(note) for note in remarks)]
    if thinking:
        head.append(_searched(thinking))
    if not chosen:
        return Draft(text=" ".join([*map(_stopped, head), _advice(understanding)]), status="nothing_found")
    missing = [table for table in understanding.tables if not query_results.get(table)]
    if missing and fit != "nothing_found":
        head.append(f"I found no {joined((NOUNS[table][1] for table in missing), 'or')} for this.")
    known = records or {found.record.id: found.record for hits in query_results.values() for found in hits}
    body = _groups(understanding, chosen, known, in_time=bool(_IN_TIME.search(fold(question))))
    pairs = [] if understanding.filters.at else _pairs(chosen)
    tail = [f"At the same time: {'; '.join(pairs)}."] if pairs else []
    # The lead introduces the list, so that what else is to be said stands before it.
    text = "\n\n".join([" ".join([*map(_stopped, head[1:]), head[0]]), *body, *tail])
    ids = referenced(text, [found.record.id for found in chosen])
    unanswered = bool(remarks) or (bool(missing) and missing[0] == understanding.tables[0])
    return Draft(text=text, referenced_ids=ids, status="partial" if fit == "answered" and unanswered else fit)


def _lead(understanding: Understanding, chosen: Sequence[Found], fit: Status, info: ConferenceInfo | None) -> str:
    tables = understanding.tables or tuple(dict.fromkeys(found.record.table for found in chosen)) or (Table.SESSIONS,)
    about = _about(understanding)
    if fit == "answered":
        return f"What I found{about}:"
    if fit == "partial":
        return f"Nothing fits all that you asked{about}. What comes near:"
    things = joined((NOUNS[table][1] for table in tables), "or")
    of = f" of {plain(info.title)}" if info and info.title else ""
    nearest = " The nearest that there is:" if chosen else ""
    return f"I found no {things}{about} in the programme{of}.{nearest}"


def _about(understanding: Understanding) -> str:
    topic = f" about {plain(shortened(understanding.topic, _MOST_TOPIC))}" if understanding.topic else ""
    restricted = described(understanding.filters)
    return f"{topic}{' ' if restricted else ''}{restricted}"


def _searched(thinking: Sequence[ThinkingUpdate]) -> str:
    ways = dict.fromkeys(way for update in thinking if (way := _WAYS.get(update.strategy)))
    return f"The first search found too little, so I searched again{' ' if ways else ''}{joined(ways)}."


def _advice(understanding: Understanding) -> str:
    looser = " or without the limits of time and place" if described(understanding.filters) else ""
    return f"Try other words{looser}."


def _groups(
    understanding: Understanding, chosen: Sequence[Found], known: Mapping[str, Record], *, in_time: bool
) -> list[str]:
    """The hits by table; the table of the best hit first, so that the best are cited first."""
    by_table: dict[Table, list[Found]] = {}
    for found in chosen:
        by_table.setdefault(found.record.table, []).append(found)
    cited = frozenset(found.record.id for found in chosen)
    lines: list[str] = []
    for table, hits in by_table.items():
        listed = sorted(hits, key=_begins) if in_time or not understanding.topic else hits
        heading = [f"**{NOUNS[table][1].title()}**"] if len(by_table) > 1 else []
        shown = [
            line_of(found, understanding.filters, known=known, cited=cited, detail=len(chosen) <= _FEW)
            for found in listed
        ]
        lines.append("\n".join([*heading, *shown]) if not heading else "\n\n".join([*heading, "\n".join(shown)]))
    return lines


def _begins(found: Found) -> float:
    return found.record.start.timestamp() if found.record.start else 0.0


def _pairs(chosen: Sequence[Found]) -> list[str]:
    pairs = overlaps([found.record for found in chosen if found.record.table is Table.SESSIONS])
    return [
        f"{titled(first, _SHORT_TITLE)} and {titled(second, _SHORT_TITLE)}" for first, second in pairs[:_MOST_OVERLAPS]
    ]


def _stopped(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
