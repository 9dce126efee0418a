"""The statements of an answer, each with the records that it cites, and whether these bear it out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from loopwright.retrieval.text import STOP_WORDS, terms
from loopwright.workflows.assistant.answer.fitting import folded_words, terms_of, words_of
from loopwright.workflows.assistant.answer.references import Mark
from loopwright.workflows.assistant.answer.wording import NOUNS, when
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.facets import facets_of

_HALF = 0.5
"""Of a statement, the records must hold at least this share of the words."""
# Not within the name of a room, as "C.1.06", or of a version, as "v1.20".
_TIME = re.compile(r"(?<![\w.])(\d{1,2})[:.h](\d{2})(?![\w]|\.\w)")
_ASIDE = re.compile(r"\([^()]*\d[:.h]\d\d[^()]*(?:\([^()]*\)[^()]*)?\)")
_ABSENCE = re.compile(r"\b(?:no|not|none|nothing|nobody|cannot|isn't|aren't|don't|didn't|couldn't)\b", re.IGNORECASE)
_OWN_WORDS = (
    "talk talks session speaker exhibitor attendee stand mention come near meaning gives present fit cover about also "
    "good great interesting recommend see visit meet take place start end room time day language type same another "
    "other than asked find found more track further off perhaps cancelled"
)


class Statement(NamedTuple):
    """A line without marks, and the records that it cites."""

    text: str
    cited: tuple[str, ...]


def statements(text: str, marks: Sequence[Mark]) -> list[Statement]:
    """The lines of an answer that say something of a record: those that cite one, and those that give a time.

    What introduces a list, says what was not found, or is a heading, states nothing of a record.

    Args:
        text: The answer.
        marks: Its marks, as `loopwright.workflows.assistant.answer.references.marks_in` finds them.
    """
    found: list[Statement] = []
    for line in re.finditer(r"[^\n]+", text):
        inside = [mark for mark in marks if line.start() <= mark.start < line.end()]
        cited = tuple(each for mark in inside for each in mark.ids)
        bare = line[0]
        for mark in reversed(inside):
            bare = f"{bare[: mark.start - line.start()]} {bare[mark.end - line.start() :]}"
        dated = _TIME.search(bare) and not _ABSENCE.search(bare) and not bare.rstrip().endswith(":")
        # One that cites only strangers is counted as such.
        if any(map(str.isalnum, bare)) and (cited or (dated and not inside)):
            found.append(Statement(bare, cited))
    return found


def borne_out(statement: Statement, records: Mapping[str, Record]) -> bool:
    """Whether the records that a statement cites have its times of day, and at least half of its words.

    Args:
        statement: The statement.
        records: The records that were put before the writer, by id.
    """
    cited = [records[each] for each in statement.cited if each in records]
    if not cited:
        return False
    sessions = [each for record in cited if record.start is None for each in record.related]
    # When and where a person's session is stands in its own record alone, which may not have been there.
    unseen = any(each not in records for each in sessions)
    told = _ASIDE.sub(" ", statement.text) if unseen else statement.text
    own = "".join(map(words_of, cited))
    dated = " ".join(when(record) for record in (*cited, *(records[each] for each in sessions if each in records)))
    texts = " ".join(text for record in cited for text in record.texts.values())
    if not unseen and not (_times(told) <= _times(dated) or _times(told) <= _times(texts)):
        return False
    said = set(terms(folded_words(_TIME.sub(" ", told)))) - _own_terms()
    return not said or len(said & (terms_of(own) | terms_of(folded_words(dated)))) >= _HALF * len(said)


@cache
def _own_terms() -> frozenset[str]:
    """Words of the assistant itself, which no record needs to hold: its turns of phrase, tables and facets."""
    nouns = [word for both in NOUNS.values() for word in both]
    facets = [facet.key for table in Table for facet in facets_of(table)]
    return frozenset(terms(" ".join([_OWN_WORDS, *nouns, *facets, *STOP_WORDS])))


def _times(text: str) -> set[tuple[int, str]]:
    return {(int(hour), minute) for hour, minute in _TIME.findall(text)}
