"""The statements of an answer, each with the records that it cites, and whether these bear it out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from loopwright.retrieval.text import STOP_WORDS, terms
from loopwright.workflows.assistant.answering.fitting import HALF, folded_words, holds, words_of
from loopwright.workflows.assistant.answering.references import Mark, marks_in
from loopwright.workflows.assistant.answering.wording import NOUNS, day_named, when
from loopwright.workflows.assistant.conference.facets import facets_of
from loopwright.workflows.assistant.schemas import Record, Table

_LINE = re.compile(r"[^\n]+")
# A full stop ends a statement only before a new one: not in "e.g. x", "v1.2" or "K.1.105".
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[“\"'*(]*[A-Z\d])")
_TIME = re.compile(r"\b(\d{1,2})[:.h](\d{2})\b")
_ABSENCE = re.compile(r"\b(?:no|not|none|nothing|nobody|cannot|isn't|aren't|don't|didn't|couldn't)\b", re.IGNORECASE)
_OWN_WORDS = (
    "talk talks session speaker exhibitor attendee stand mention come near meaning gives present fit cover about also "
    "good great interesting recommend see visit meet take place start end room time day language type same another "
    "other than asked find found"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or a line of a list."""

    text: str
    """Its words, without marks."""
    cited: tuple[str, ...]
    """The records that it cites."""


def statements(text: str, offered_ids: Sequence[str]) -> list[Statement]:
    """The parts of an answer that say something of a record: those that cite one, and those that give a time.

    A sentence without a mark belongs to the records that the line cites before it. What introduces a list, says what
    was not found, or is a heading, states nothing of a record.

    Args:
        text: The answer.
        offered_ids: The ids that were put before its writer.
    """
    marks = marks_in(text, offered_ids)
    found: list[Statement] = []
    for line in _LINE.finditer(text):
        cited_before: tuple[str, ...] = ()
        for start, end in _sentences(line):
            inside = [mark for mark in marks if start <= mark.start < end]
            own = tuple(each for mark in inside for each in mark.ids)
            cited_before = own or cited_before
            bare = _without(inside, text, start, end)
            # One that cites only strangers is counted as such, and says nothing of the line's other records.
            if (inside and not own) or not any(map(str.isalnum, bare)):
                continue
            if cited_before or (_TIME.search(bare) and not _ABSENCE.search(bare) and not bare.rstrip().endswith(":")):
                found.append(Statement(bare, cited_before))
    return found


def borne_out(statement: Statement, records: Mapping[str, Record]) -> bool:
    """Whether the cited records bear a statement out: they have its times of day, and at least half of its words.

    Args:
        statement: The statement.
        records: The records that were put before the writer, by id.
    """
    cited = [records[each] for each in statement.cited if each in records]
    if not cited:
        return False
    unseen = _times(statement.text) - _times(" ".join(map(when, cited)))
    if unseen and not unseen <= _times(" ".join(text for record in cited for text in record.texts.values())):
        return False
    own = "".join(words_of(record) + folded_words(_dated(record)) for record in cited)
    said = {term for term in terms(statement.text) if term not in _own_words() and term not in STOP_WORDS}
    return not said or sum(holds(own, term) for term in said) / len(said) >= HALF


@cache
def _own_words() -> frozenset[str]:
    """Words of the assistant itself, which no record needs to hold: its turns of phrase, tables and facets."""
    nouns = [word for both in NOUNS.values() for word in both]
    facets = [facet.key for table in Table for facet in facets_of(table)]
    return frozenset(terms(" ".join([_OWN_WORDS, *nouns, *facets])))


def _times(text: str) -> set[tuple[int, str]]:
    return {(int(hour), minute) for hour, minute in _TIME.findall(text)}


def _dated(record: Record) -> str:
    return f"{when(record)} {day_named(record.start.date())}" if record.start else ""


def _sentences(line: re.Match[str]) -> Iterator[tuple[int, int]]:
    start = line.start()
    for gap in _ENDS.finditer(line.string, line.start(), line.end()):
        yield start, gap.start()
        start = gap.end()
    yield start, line.end()


def _without(marks: Sequence[Mark], text: str, start: int, end: int) -> str:
    pieces: list[str] = []
    for each in marks:
        pieces.append(text[start : each.start])
        start = each.end
    return " ".join([*pieces, text[start:end]])
