"""Which kinds of records a question asks for."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.understanding.exhibitors import Exhibitors
from loopwright.workflows.assistant.understanding.words import Words

TABLE = "table"
"""The kind of words that name a kind of record."""

_EXHIBITORS = re.compile(
    r"\b(?:booths?|exhibitors?|exhibition|stalls?)\b"
    r"|\b(?:which|what|any|the|their|your|a|all|other|there|many|and|or|visit|show|list|find|talks|projects?)\s+"
    r"(?:[\w-]+\s+){0,2}?stands?\b(?!\s+(?:for|on|out|up|by|against|still)\b)|^stands?\b(?!\s+(?:for|on|out|up|by)\b)"
    r"|\bstands?\s+(?:of|from|about|with)\b|(?<=\w['’]s\s)stands?\b|(?<!to\s)(?<!we\s)(?<!you\s)\bstands?\s*[?.!]*$"
    r"|\b(?:which|what|any|all|meet|visit|are\s+there|list)\s+(?:the\s+)?(?:vendors|sponsors|companies\s+exhibiting)\b",
    re.IGNORECASE,
)
_TRYING = re.compile(
    r"\bwhere\s+(?:can|could|do|should|may|might|would)\s+(?:i|we|one|you)\s+(?:\w+\s+)?"
    r"(?:try|buy|touch|play|get|see|find|meet|visit|test|pick\s+up|look\s+at)\b"
    r"|\b(?:who|anyone|anybody|someone)\s+(?:here\s+)?(?:sells?|selling|demos?|exhibits?|exhibiting)\b"
    r"|\b(?:stickers|merch|merchandise|swag|t-?shirts?)\b",
    re.IGNORECASE,
)
_MEETING = re.compile(
    r"\b(?:who(?:m)?|anyone|someone|anybody|somebody|people|persons?|those)\s+(?:else\s+)?(?:(?:can|could|should|do|to|may|might|would|must|i|we|is|be|that)\s+)+"
    r"(?:best\s+)?(?:i\s+|we\s+)?(?:talk|speak|ask|meet|chat|contact|approach|connect|discuss|good)\b"
    r"|\bwho\s+(?:here\s+)?(?:knows?|works?|is\s+working|has\s+experience|has\s+worked|uses?|else|can\s+help)\b"
    r"|\bexperts?\b(?!\s+systems?)|\b(?:people|anyone|someone)\s+(?:who\s+)?(?:works?|working|knows?|interested|using)\b",
    re.IGNORECASE,
)
_WHO_SPEAKS = re.compile(
    r"\bwho(?:['’]s)?\s+(?:all\s+)?(?:else\s+)?(?:will\s+|is\s+|are\s+)?(?:be\s+)?"
    r"(?:speak|talk|present|giv|hold|lead|host|mov|the\s+speaker)\w*\b"
    r"|\b(?:which|what|any|the|all|list|find|show|keynote|other|many|some)\s+speakers?\b|^speakers?\b"
    r"|\bspeakers?\s+(?:on|about|from|for|at|in|who|talking)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"\bspeakers?\b", re.IGNORECASE)
_NAMED_SPEAKER = re.compile(r"which\s+speakers?\s+(?:is|are)\b", re.IGNORECASE)
_ATTENDEES = re.compile(
    r"\b(?:attendees?|participants?|who\s+else|(?:other|fellow)\s+(?:people|visitors|guests)"
    r"|(?:people|who|anyone|anybody|someone|somebody)\s+(?:(?:is|are|here)\s+)*(?:looking|searching)\s+for)\b",
    re.IGNORECASE,
)
_SESSIONS = re.compile(
    r"\b(?:talks?(?!\s+to\b)|sessions?|presentations?|lectures?|workshops?|keynotes?|programme|schedule|bofs?|panels?)\b"
    r"|\bwhat\s+(?:should|can|could|do|shall|must)\s+i\s+(?:see|attend|watch|visit|do|hear|go)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"\b(?:stands?|booths?|exhibitors?|stalls?|exhibition|vendors|sponsors|experts?|speakers?|attendees?|participants?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Tables:
    """Where to look."""

    tables: tuple[Table, ...]
    """The tables, the most important first."""
    meeting: bool = False
    """Whether someone to meet is asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def read_tables(words: Words, known: Collection[Table], *, persons: bool, exhibitors: Exhibitors) -> Tables:
    """The kinds of records that a question asks for; sessions if it names none.

    Args:
        words: The question; words such as "stands" are taken.
        known: The tables that have records.
        persons: Whether it names persons.
        exhibitors: What it says of exhibitors.
    """
    text = words.text
    asked: dict[Table, int] = {}
    for table, pattern in ((Table.EXHIBITORS, _EXHIBITORS), (Table.ATTENDEES, _ATTENDEES)):
        for match in pattern.finditer(text):
            noun = _WORDS.search(match[0])
            if _take(words, match):
                asked.setdefault(table, match.start() + (noun.start() if noun else 0))
    notes = [f"There is no list of {table}." for table in asked if table not in known]
    meeting, speaking = _MEETING.search(text), _WHO_SPEAKS.search(text)
    if session := _SESSIONS.search(text):
        asked[Table.SESSIONS] = session.start()
    if meeting:
        _take(words, meeting)
        for place, table in enumerate((Table.SPEAKERS, Table.ATTENDEES, Table.EXHIBITORS)):
            asked.setdefault(table, meeting.start() + place)
    elif persons and (named := _NAMED_SPEAKER.match(text)):
        _take(words, named)
        asked = {Table.SPEAKERS: 0}
    elif speaking:
        _take(words, speaking)
        # "Who gives it" is told with the session itself; "which speakers" asks for the persons first.
        asked[Table.SPEAKERS] = speaking.start()
        asked[Table.SESSIONS] = speaking.start() + (1 if _SPEAKER.search(speaking[0]) else -1)
    elif persons and not asked:
        asked = _person_tables(text)
    elif not asked and exhibitors.alone:
        asked = {Table.EXHIBITORS: 0, Table.SESSIONS: 1 if exhibitors.first else -1}
    elif not asked and _TRYING.search(text):
        asked = {Table.EXHIBITORS: 0, Table.SESSIONS: 1}
    ordered = [table for table in sorted(asked, key=lambda table: asked[table]) if table in known]
    return Tables(tuple(ordered) or (Table.SESSIONS,), bool(meeting), tuple(notes))


def _person_tables(text: str) -> dict[Table, int]:
    """The person comes first where it is asked who that is, else what the person gives."""
    if re.search(r"\bwho\b|\btell\s+me\s+(?:more\s+)?about\b", text, re.IGNORECASE):
        return {Table.SPEAKERS: 0, Table.SESSIONS: 1}
    return {Table.SESSIONS: 0}


def _take(words: Words, match: re.Match[str]) -> bool:
    """Take the words for a table in a match; False where another reader has taken what matched."""
    for noun in _WORDS.finditer(match[0]):
        start = match.start() + noun.start()
        if not words.take_span(start, match.start() + noun.end(), TABLE):
            return False
    return True
