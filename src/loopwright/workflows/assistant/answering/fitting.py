"""How far a record meets what was asked, part by part, so that an answer can say what it does not meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from loopwright.retrieval.text import UNSPACED, fold, query_terms
from loopwright.workflows.assistant.answering.wording import is_named
from loopwright.workflows.assistant.conference.catalogue import Window, span_of
from loopwright.workflows.assistant.constants import DEFAULT_THRESHOLD
from loopwright.workflows.assistant.schemas import Filters, Found, Record, Status, Table, Understanding
from loopwright.workflows.assistant.understanding.compounds import BETWEEN_TOPICS

HALF = 0.5
"""Of a topic, a record must hold more than this share of the words to fit it, unless it is near in meaning."""
_WELL = 0.5
"""The score from which a record is near in meaning, whatever words it holds."""

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
            # Mostly both are as the schedule has them, and need not be folded.
            judged[field] = any(value in wanted for value in own) or not {fold(value) for value in wanted}.isdisjoint(
                fold(value) for value in own
            )
    if filters.timed and (span := span_of(record)):
        judged["time"] = Window.of(filters).holds(span)
    if filters.any_of:
        # The alternative that it fails least.
        judged |= min((met(record, each) for each in filters.any_of), key=lambda held: list(held.values()).count(False))
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
    timed = ("time",) if filters.timed else ()
    return (*(field for field, wanted_of in _FIELDS if wanted_of(filters)), *timed)


def topic_held(record: Record, topic: str) -> float:
    """The share of a topic's words that a record holds, from 0 to 1; 1 without words.

    Args:
        record: The record.
        topic: The topic; of several, the one that it holds most of counts.
    """
    words = words_of(record)
    shares = (
        sum(holds(words, term) for term in wanted) / len(wanted) if wanted else 1.0
        for wanted in map(_wanted, topic.split(BETWEEN_TOPICS))
    )
    return max(shares)


@lru_cache(maxsize=256)
def _wanted(topic: str) -> tuple[str, ...]:
    return tuple(query_terms(topic))


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
    stem = stem_of(term)
    sought = f" {stem}"
    place = words.find(sought)
    while place >= 0:
        after = place + len(sought)
        if len(stem) > _SHORT or _INFLECTION.match(words, after):
            return True
        end = words.find(" ", after)
        # "operators", whose stem is "oper".
        if term in _stems(words[place + 1 : end if end >= 0 else len(words)]):
            return True
        place = words.find(sought, place + 1)
    return False


@lru_cache(maxsize=8192)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(query_terms(word))


def stem_of(term: str) -> str:
    """What the words of a term begin with: the stemmer ends "study" with an i, and "baking" with an e.

    Args:
        term: The term.
    """
    return term[:-1] if len(term) > _SHORTEST and term[-1] in "ie" else term


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
        ``answered`` where one reaches the threshold, meets all filters, and holds more than half of the topic's words
        or is near in meaning; ``partial`` where one reaches the threshold, or holds more than half of the topic's
        words; else ``nothing_found``.
    """
    on_topic = [_on_topic(found, understanding, threshold, searched_again=searched_again) for found in cited]
    fits = (
        held
        and found.score >= threshold
        and not unmet(found.record, understanding.filters)
        and _of_tables(found, understanding.tables)
        for found, held in zip(cited, on_topic, strict=True)
    )
    if any(fits):
        return "answered"
    part = any(found.score >= threshold for found in cited) or (bool(understanding.topic) and any(on_topic))
    return "partial" if part else "nothing_found"


def _on_topic(found: Found, understanding: Understanding, threshold: float, *, searched_again: bool) -> bool:
    topic = understanding.topic
    if not topic:
        return True
    wanted = _wanted(topic)
    if len(wanted) == 1 and not is_named(topic, understanding.standalone):
        # "I'm bored" names no topic, and a talk with "boring tests" somewhere is no answer to it.
        return f" {fold(topic)} " in f"{folded_words(found.record.title)} "
    if topic_held(found.record, topic) > HALF or (not searched_again and found.score >= max(_WELL, threshold)):
        return True
    # The search knows a word by a typing error or an acronym too.
    known = set(query_terms(" ".join(found.terms)))
    return bool(wanted) and sum(term in known for term in wanted) / len(wanted) > HALF


def _of_tables(found: Found, tables: Sequence[Table]) -> bool:
    return not tables or found.record.table in tables
