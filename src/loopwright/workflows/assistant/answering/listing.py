"""The answer without a chat model: a list that explains each hit, and says plainly what was not found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.answering.choosing import Choice, chosen_of
from loopwright.workflows.assistant.answering.closing import advice, closing
from loopwright.workflows.assistant.answering.fitting import HALF, fit_of, topic_held
from loopwright.workflows.assistant.answering.leading import lead, nothing_there
from loopwright.workflows.assistant.answering.lines import Telling, differences, line_of
from loopwright.workflows.assistant.answering.offering import offered
from loopwright.workflows.assistant.answering.references import referenced
from loopwright.workflows.assistant.answering.smalltalk import EXAMPLES, small_answer
from loopwright.workflows.assistant.answering.wording import NOUNS, about, joined, plain, topics_of
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.constants import DEFAULT_LIMIT, DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import (
    Draft,
    Found,
    Record,
    SearchOutcome,
    Status,
    Table,
    ThinkingUpdate,
    Understanding,
)
from loopwright.workflows.assistant.understanding.about import ABOUT

_IN_TIME = re.compile(
    r"\b(?:when|what time|schedule|timetable|agenda|plan my|itinerary|in order of time|upcoming|earliest|latest)\b"
    r"|\b(?:next|first|last) (?:talks?|sessions?|ones?|things?|up)\b|\bis next\b"
)
_TAKEN_AS = "; taken as "
"""In a note, what a misspelt name was taken for: said, and no failure."""
_FEW = 3


def list_answer(
    question: str,
    understanding: Understanding,
    query_results: Mapping[str, Sequence[Found]],
    *,
    notes: Sequence[str] = (),
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None = None,
    thinking: Sequence[ThinkingUpdate] = (),
    outcomes: Sequence[SearchOutcome] = (),
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
        outcomes: What the queries of the last plan brought, to say how much the list leaves out.
        info: The conference.
        records: All records of the conference by id, to name the sessions of a speaker with time and room; by default
            only the hits are known.
        limit: At most so many records are cited.
        threshold: The score below which a hit only comes near.

    Returns:
        The answer. It is ``answered`` only where a cited record fits all that was asked, and nothing that was asked is
        missing from the conference. Where no record reaches the threshold or holds the topic's words, the few nearest
        are named as such, none of them if they are unrelated, and the status is ``nothing_found``.
    """
    if understanding.smalltalk:
        told = tuple(map(plain, understanding.notes))
        return Draft(text=small_answer(question, plain(info.title) if info else "", told=told))
    remarks = list(dict.fromkeys([*understanding.notes, *notes]))
    if understanding.intent == ABOUT and remarks:
        return Draft(text=" ".join(_stopped(plain(fact)) for fact in remarks))
    if remarks and not understanding.topic and understanding.filters.empty and understanding.query_mode == "specific":
        # Nothing is left of what was asked, and whatever there is would be no answer to it.
        return Draft(text=" ".join([*(_stopped(plain(note)) for note in remarks), EXAMPLES]), status="nothing_found")
    again = bool(thinking)
    hits = offered(query_results, limit, tables=understanding.tables)
    fit = fit_of(understanding, hits, threshold, searched_again=again or stop_reason is not None)
    choice = chosen_of(understanding, hits, fit, threshold)
    head = [plain(note) for note in remarks]
    if not choice.told:
        head += [nothing_there(question, understanding, info, again=again), advice(understanding, again=again)]
        return Draft(text=" ".join(map(_stopped, head)), status="nothing_found")
    found_in = {found.record.table for found in choice.told}
    missing = [table for table in understanding.tables if table not in found_in]
    if missing and fit != "nothing_found":
        head.append(f"I found no {joined((NOUNS[table][1] for table in missing), 'or')} for this.")
    if absent := _not_held(understanding, choice, fit):
        head.append(f"I am not sure that anything here is {joined((about(each, question) for each in absent), 'or')}.")
    telling = Telling(
        topic="" if fit == "nothing_found" else understanding.topic,
        filters=understanding.filters,
        known=records or {found.record.id: found.record for hits in query_results.values() for found in hits},
        cited=frozenset(found.record.id for found in choice.told),
        detail=len(choice.told) <= _FEW,
        shared=_shared_differences(understanding, choice.told),
    )
    head.append(lead(question, understanding, choice.told, fit, info, telling.shared))
    body = _groups(understanding, choice.told, telling, in_time=bool(_IN_TIME.search(fold(question))))
    # Where a topic leaves places, whatever else was found was not chosen.
    full = not understanding.topic or len(hits) == limit == len(choice.told)
    after = closing(understanding, choice, fit, query_results if full else {}, outcomes if full and not again else ())
    # The lead introduces the list, so that what else is to be said stands before it.
    text = "\n\n".join([" ".join(map(_stopped, head)), *body, *after])
    ids = referenced(text, [found.record.id for found in hits])
    unmet = absent or [note for note in remarks if _TAKEN_AS not in note]
    unanswered = bool(unmet) or (bool(missing) and missing[0] == understanding.tables[0])
    return Draft(text=text, referenced_ids=ids, status="partial" if fit == "answered" and unanswered else fit)


def _shared_differences(understanding: Understanding, chosen: Sequence[Found]) -> tuple[str, ...]:
    """How every record differs from what was asked."""
    each = [differences(found.record, understanding.filters) for found in chosen]
    return tuple(part for part in each[0] if all(part in others for others in each))


def _not_held(understanding: Understanding, choice: Choice, fit: Status) -> list[str]:
    """Of several topics those that nothing told holds, where others are met."""
    topics = topics_of(understanding.topic)
    if len(topics) < 2 or fit == "nothing_found":
        return []
    return [topic for topic in topics if all(topic_held(found.record, topic) <= HALF for found in choice.told)]


def _groups(understanding: Understanding, chosen: Sequence[Found], telling: Telling, *, in_time: bool) -> list[str]:
    """The hits by table; those that were asked for first, then those of the best hits."""
    by_table: dict[Table, list[Found]] = {}
    for table in (*understanding.tables, *(found.record.table for found in chosen)):
        if table not in by_table and (own := [found for found in chosen if found.record.table is table]):
            by_table[table] = own
    lines: list[str] = []
    for table, hits in by_table.items():
        listed = sorted(hits, key=_begins) if in_time or not understanding.topic else hits
        if len(by_table) > 1:
            lines.append(f"**{NOUNS[table][1].title()}**")
        lines.append("\n".join(line_of(found, telling) for found in listed))
    return lines


def _begins(found: Found) -> float:
    return found.record.start.timestamp() if found.record.start else 0.0


def _stopped(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
