"""The statements of an answer, each with the records that it cites, and whether these bear it out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from loopwright.retrieval.text import STOP_WORDS, terms
from loopwright.workflows.assistant.answer.fitting import HALF, folded_words, terms_of, words_of
from loopwright.workflows.assistant.answer.references import Mark
from loopwright.workflows.assistant.answer.wording import NOUNS, day_named, when
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.facets import facets_of

_LINE = re.compile(r"[^\n]+")
# A full stop ends a statement only before a new one: not in "e.g. x", "v1.2" or "K.1.105".
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[“\"'*(]*[A-Z\d])")
# Not within the name of a room, as "C.1.06", or of a version, as "v1.20".
_TIME = re.compile(r"(?<![\w.])(\d{1,2})[:.h](\d{2})(?![\w]|\.\w)")
_ASIDE = re.compile(r"\([^()]*\d[:.h]\d\d[^()]*(?:\([^()]*\)[^()]*)?\)")
_ABSENCE = re.compile(r"\b(?:no|not|none|nothing|nobody|cannot|isn't|aren't|don't|didn't|couldn't)\b", re.IGNORECASE)
_OWN_WORDS = (
    "talk talks session speaker exhibitor attendee stand mention come near meaning gives present fit cover about also "
    "good great interesting recommend see visit meet take place start end room time day language type same another "
    "other than asked find found more track further off perhaps cancelled"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or a line of a list."""

    text: str
    """Its words, without marks."""
    cited: tuple[str, ...]
    """The records that it cites."""


def statements(text: str, marks: Sequence[Mark]) -> list[Statement]:
    """The parts of an answer that say something of a record: those that cite one, and those that give a time.

    A sentence without a mark belongs to the records that the line cites before it. What introduces a list, says what
    was not found, or is a heading, states nothing of a record.

    Args:
        text: The answer.
        marks: Its marks, as `loopwright.workflows.assistant.answer.references.marks_in` finds them.
    """
    found: list[Statement] = []
    for line in _LINE.finditer(text):
        here = [mark for mark in marks if line.start() <= mark.start < line.end()]
        cited_before: tuple[str, ...] = ()
        for start, end in _sentences(line, here):
            inside = [mark for mark in here if start <= mark.start < end]
            own = tuple(each for mark in inside for each in mark.ids)
            cited_before = own or cited_before
            bare = _without(inside, text, start, end)
            # One that cites only strangers is counted as such, and says nothing of the line's other records.
            if (inside and not own) or not any(map(str.isalnum, bare)):
                continue
            if cited_before or (_TIME.search(bare) and not _ABSENCE.search(bare) and not bare.rstrip().endswith(":")):
                found.append(Statement(bare, cited_before))
    return found


class Witness:
    """The records that were put before the writer of an answer, and what they bear out."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        """Prepare.

        Args:
            records: The records by id.
        """
        self._records = records
        self._words: dict[str, str] = {}
        self._own: dict[str, frozenset[str]] = {}

    def bears_out(self, statement: Statement) -> bool:
        """Whether the cited records bear a statement out: they have its times of day, and at least half of its words.

        Args:
            statement: The statement.
        """
        cited = [self._records[each] for each in statement.cited if each in self._records]
        if not cited or not self._have_times(cited, statement.text):
            return False
        own = [self._words_of(record) for record in cited]
        # When and where a person's session is stands in its own record alone.
        told = _ASIDE.sub(" ", statement.text) if self._without_sessions(cited) else statement.text
        said = set(folded_words(_TIME.sub(" ", told)).split()) - _spoken()
        # Most words stand there as they are, and need not be stemmed.
        missing = said.difference(*(self._own[record.id] for record in cited))
        shares = [share for word in missing if (share := _share("".join(own), word)) is not None]
        counted = len(said) - len(missing) + len(shares)
        return not counted or (len(said) - len(missing) + sum(shares)) / counted >= HALF

    def _without_sessions(self, cited: Sequence[Record]) -> bool:
        """Whether one is a person with a session that was not put before the writer."""
        return any(each not in self._records for record in cited if record.start is None for each in record.related)

    def _words_of(self, record: Record) -> str:
        known = self._words.get(record.id)
        if known is None:
            dated = f"{when(record)} {day_named(record.start.date())}" if record.start else ""
            known = self._words[record.id] = words_of(record) + folded_words(dated)
            self._own[record.id] = frozenset(known.split())
        return known

    def _have_times(self, cited: Sequence[Record], text: str) -> bool:
        unseen = _times(text)
        if not unseen:
            return True
        if self._without_sessions(cited):
            return True
        sessions = (self._records[each] for record in cited if record.start is None for each in record.related)
        for record in (*cited, *sessions):
            unseen -= _times(when(record))
        return not unseen or unseen <= _times(" ".join(text for record in cited for text in record.texts.values()))


def _share(own: str, word: str) -> float | None:
    """The share of a word's terms that words hold; None for a word of the assistant itself."""
    wanted = [term for term in terms(word) if term not in _own_terms()]
    return sum(term in terms_of(own) for term in wanted) / len(wanted) if wanted else None


@cache
def _own_terms() -> frozenset[str]:
    """Words of the assistant itself, which no record needs to hold: its turns of phrase, tables and facets."""
    nouns = [word for both in NOUNS.values() for word in both]
    facets = [facet.key for table in Table for facet in facets_of(table)]
    return frozenset(terms(" ".join([_OWN_WORDS, *nouns, *facets])))


@cache
def _spoken() -> frozenset[str]:
    """Words that say nothing of a record, as they are written most often."""
    return STOP_WORDS | frozenset(_OWN_WORDS.split())


def _times(text: str) -> set[tuple[int, str]]:
    return {(int(hour), minute) for hour, minute in _TIME.findall(text)}


def _sentences(line: re.Match[str], marks: Sequence[Mark]) -> Iterator[tuple[int, int]]:
    start = line.start()
    for gap in _ENDS.finditer(line.string, line.start(), line.end()):
        if not any(mark.start < gap.start() < mark.end for mark in marks):
            yield start, gap.start()
            start = gap.end()
    yield start, line.end()


def _without(marks: Sequence[Mark], text: str, start: int, end: int) -> str:
    pieces: list[str] = []
    for each in marks:
        pieces.append(text[start : each.start])
        start = each.end
    return " ".join([*pieces, text[start:end]])
