"""How far a record meets what was asked, part by part, so that an answer can say what it does not meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from loopwright.retrieval.text import UNSPACED, fold, query_terms
from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import Filters, Found, Record, Status, Table, Understanding

HALF = 0.5
"""Of a topic, a record that was found by other words must hold more than this share of the words to fit it."""

_SHORTEST = 3
_SHORT = 4
# What may follow a stem whose last letter may be doubled: "runs", "running", "studies".
_INFLECTION = re.compile(r"(?:(?:(?<=(\w))\1)?(?:e[drs]?|ers|ings?|y|ies|ied)|s)?(?: |$)")
_NO_WORD = re.compile(r"[\W_]+")

_FIELDS: tuple[tuple[str, Callable[[Filters], tuple[str, ...]]], ...] = (
    ("day", lambda filters: filters.days),
    ("room", lambda filters: filters.rooms),
    ("track", lambda filters: filters.tracks),
    ("type", lambda filters: filters.types),
    ("language", lambda filters: filters.languages),
    ("speaker", lambda filters: filters.speakers),
)
"""Field of a record -> the values that filters ask for there."""


def met(record: Record, filters: Filters) -> dict[str, bool]:
    """Whether a record meets each part of the filters that it can meet at all.

    Args:
        record: The record. A field that it does not have, for example the room of an attendee, is not judged.
        filters: What was asked.

    Returns:
        ``day``, ``time``, ``room``, ``track``, ``type``, ``language`` or ``speaker`` -> whether it is met; only the
        parts that were asked.
    """
    judged: dict[str, bool] = {}
    for field, wanted_of in _FIELDS:
        wanted, own = wanted_of(filters), record.values(field)
        if field == "speaker" and record.table is Table.SPEAKERS:
            own = (record.title,)
        if wanted and own:
            judged[field] = not {fold(value) for value in wanted}.isdisjoint(fold(value) for value in own)
    if record.start is not None and (filters.after or filters.before or filters.at):
        judged["time"] = _in_time(record, filters)
    return judged


def unmet(record: Record, filters: Filters) -> tuple[str, ...]:
    """The parts of the filters that a record does not meet.

    Args:
        record: The record.
        filters: What was asked.
    """
    return tuple(part for part, holds in met(record, filters).items() if not holds)


def asked_parts(filters: Filters) -> tuple[str, ...]:
    """The parts that filters restrict, by the names that `met` uses.

    Args:
        filters: The filters.
    """
    timed = ("time",) if filters.after or filters.before or filters.at else ()
    return (*(field for field, wanted_of in _FIELDS if wanted_of(filters)), *timed)


def topic_held(record: Record, topic: str) -> float:
    """The share of a topic's words that a record holds, from 0 to 1; 1 without words.

    Args:
        record: The record.
        topic: The topic.
    """
    wanted = query_terms(topic)
    words = words_of(record)
    return sum(holds(words, term) for term in wanted) / len(wanted) if wanted else 1.0


def words_of(record: Record) -> str:
    """The words of a record's title, texts and fields, folded, each after one blank.

    Args:
        record: The record.
    """
    fields = (value for values in record.fields.values() for value in values)
    return "".join(map(folded_words, [record.title, *record.texts.values(), *fields]))


@lru_cache(maxsize=8192)
def folded_words(text: str) -> str:
    """The words of a text, folded, each after one blank.

    Args:
        text: The text.
    """
    return f" {_NO_WORD.sub(' ', fold(text)).strip()}"


def holds(words: str, term: str) -> bool:
    """Whether words hold a term, as `loopwright.retrieval.text.terms` makes them: one of them begins with it.

    After a short term only an English inflection may follow, so that "cat" is in "cats" and not in "catalogue". To stem
    all words of a record would be exact, and take many times as long.

    Args:
        words: The words, as `words_of` gives them.
        term: The term.
    """
    if UNSPACED.match(term):
        return term in words
    # The stemmer ends "study" and "studies" with an i, and "baking" with an e.
    stem = term[:-1] if len(term) > _SHORTEST and term[-1] in "ie" else term
    sought = f" {stem}"
    place = words.find(sought)
    while place >= 0:
        if len(stem) > _SHORT or _INFLECTION.match(words, place + len(sought)):
            return True
        place = words.find(sought, place + 1)
    return False


def fit_of(
    understanding: Understanding,
    cited: Sequence[Found],
    threshold: float = DEFAULT_THRESHOLD,
    *,
    searched_again: bool = False,
) -> Status:
    """Whether the best of some records fits all that was asked, a part of it, or nothing.

    Args:
        understanding: What was asked.
        cited: The records that an answer cites, as they were found.
        threshold: The score below which a hit only comes near.
        searched_again: Whether they may have been found by another text or filter than what was asked. Their scores
            compare them with that other text, so that one must hold more than half of the topic's words to fit all.

    Returns:
        ``answered``; ``partial`` where one reaches the threshold, or holds more than half of the topic's words; else
        ``nothing_found``.
    """
    good = [found.score >= threshold for found in cited]
    on_topic = [
        (near and not searched_again) or _on_topic(found, understanding.topic)
        for found, near in zip(cited, good, strict=True)
    ]
    fits = (
        near and held and not unmet(found.record, understanding.filters) and _of_tables(found, understanding.tables)
        for found, near, held in zip(cited, good, on_topic, strict=True)
    )
    if any(fits):
        return "answered"
    part = any(good) or (bool(understanding.topic) and any(on_topic))
    return "partial" if part else "nothing_found"


def _on_topic(found: Found, topic: str) -> bool:
    return not topic or topic_held(found.record, topic) > HALF


def _of_tables(found: Found, tables: Sequence[Table]) -> bool:
    return not tables or found.record.table in tables


def _in_time(record: Record, filters: Filters) -> bool:
    start = record.start
    if start is None:
        return False
    end = record.end or start
    return (
        (filters.after is None or start >= filters.after)
        and (filters.before is None or start < filters.before)
        and (filters.at is None or start <= filters.at < end)
    )
