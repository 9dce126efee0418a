"""Birth and death in the parentheses after a name: "X (born 5 May 1960)", "X (1844 – January 18, 1929)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from loopwright.retrieval.records import Mention
from loopwright.workflows.rag.extraction.statements import Statement
from loopwright.workflows.rag.extraction.tokens import DATE

_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_BORN = re.compile(r"\b(?:born|b\.)(?: on| in)?\s+")
_DIED = re.compile(r"\b(?:died|d\.)(?: on| in)?\s+")
_EVENT = re.compile(
    r"\b(?:War|Battle|Siege|Revolution|Campaign|Games|Olympics|Cup|Championships?|Festival|Conference|Treaty|Season|Tour)\b"
)
_DASH = re.compile(r"\s*(?:–|—|-|--|to)\s*")


def lifetimes_in(sentence: str, offset: int, mentions: Sequence[Mention]) -> Iterator[Statement]:
    """The births and deaths that a sentence gives in parentheses.

    Args:
        sentence: The sentence.
        offset: Where it begins in the passage's text, in characters.
        mentions: The entities that it names.
    """
    longest = {mention.end: mention for mention in sorted(mentions, key=lambda each: each.end - each.start)}
    for mention in longest.values():
        inner = _PARENTHESIS.match(sentence, mention.end - offset)
        if inner is None or _EVENT.search(mention.name):
            continue
        for relation, date in _dates(inner[1]):
            start, end = mention.start, offset + inner.end()
            yield Statement(mention.name, relation, date, start, end, 0.95)


def _dates(text: str) -> Iterator[tuple[str, str]]:
    dates = list(DATE.finditer(text))
    marked = False
    for pattern, relation in ((_BORN, "was born"), (_DIED, "died")):
        lead = pattern.search(text)
        date = lead and DATE.match(text, lead.end())
        if date:
            marked = True
            yield f"{relation} {_preposition(date[0])}", date[0]
    if not marked and len(dates) == 2 and _DASH.fullmatch(text, dates[0].end(), dates[1].start()):
        if any(re.search("[^0-9]", date[0]) for date in dates):
            # Two bare years may be a reign or a season; with a day or a month they are a life.
            yield f"was born {_preposition(dates[0][0])}", dates[0][0]
            yield f"died {_preposition(dates[1][0])}", dates[1][0]


def _preposition(date: str) -> str:
    """Say "on" before a day, and "in" before a month or a year."""
    return "on" if re.search(r"\b\d{1,2}(?!\d)", date) else "in"
