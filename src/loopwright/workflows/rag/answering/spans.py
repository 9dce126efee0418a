"""What in a sentence could be a short answer: names, dates, numbers and phrases, with their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from loopwright.retrieval.text import fold
from loopwright.workflows.rag.asking.words import ASKING_WORDS, has_unspaced, name_spans

SpanKind = Literal["name", "date", "year", "number", "title", "phrase"]
"""What a span looks like."""

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan\.?|Feb\.?|Mar\.?|Apr\.?|Jun\.?|Jul\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)"
)
_THAI_MONTH = "(?:มกราคม|กุมภาพันธ์|มีนาคม|เมษายน|พฤษภาคม|มิถุนายน|กรกฎาคม|สิงหาคม|กันยายน|ตุลาคม|พฤศจิกายน|ธันวาคม)"
_MONTHS: tuple[str, ...] = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = r"(?:1\d{3}|20\d{2})"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? {_YEAR}\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}\b|\b{_MONTH},? {_YEAR}\b"
    rf"|\b{_YEAR}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}} {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b"
    r"|(?:(?<=within )|(?<=after )|(?<=every ))\d+ (?:business |working )?(?:minute|hour|day|week|month|year)s?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th) century\b|\b\d{{1,2}}(?::\d\d)? ?(?:[ap]\.m\.|[ap]m\b)"
    rf"|(?:\d{{1,2}} )?{_THAI_MONTH}(?: (?:พ\.ศ\.|ค\.ศ\.)?)? ?\d{{4}}|(?:พ\.ศ\.|ค\.ศ\.) ?\d{{3,4}}"
    r"|\d{3,4}年(?:\d{1,2}月(?:\d{1,2}日)?)?|公元前?\d{1,4}年"
)
_YEAR_ONLY = re.compile(rf"(?<![\d$£€.,])\b{_YEAR}s?\b(?![,.]\d|%)")
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    r"|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred)"
)
_NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,])\d++(?:[.,]\d++)*+\s?(?:ล้าน|แสน|หมื่น|พัน|万|亿|億)+"
    r"|(?:[$£€¥฿]\s?)?(?<![\w.])\d++(?:,\d{3})*(?:\.\d++)?(?:st|nd|rd|th)?"
    r"(?:\s?%| percent| (?:hundred|thousand|million|billion|trillion))?"
    r"(?![\w]*[A-Za-z])"
    rf"|\b{_NUMBER_WORD}(?:-{_NUMBER_WORD})?(?: hundred| thousand| million| billion)?\b",
    re.IGNORECASE,
)
_PHRASE_BREAK = re.compile(r"[,;:()\[\]\"“”]|[.!?](?:\s|$)|\s[–—-]\s")
_WORD = re.compile(r"\S+")
_MAX_PHRASE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a text."""

    text: str
    """Its words."""
    start: int
    """Where it begins in the text that was searched, in characters."""
    end: int
    """Where it ends there."""
    kind: SpanKind
    """What it looks like."""


def spans_in(text: str) -> list[Span]:
    """Everything in a sentence that could be a short answer.

    Args:
        text: A sentence.

    Returns:
        The spans by kind; they overlap.
    """
    dates = [_span(match, "date") for match in _DATE.finditer(text)]
    years = [_span(match, "year") for match in _YEAR_ONLY.finditer(text)]
    dated = {place for span in dates for place in range(span.start, span.end)}
    taken = dated | {place for span in years for place in range(span.start, span.end)}
    numbers = [_span(match, "number") for match in _NUMBER.finditer(text) if match.start() not in taken]
    named = [
        Span(text=text[start:end], start=start, end=end, kind="name")
        for start, end in name_spans(text)
        if dated.isdisjoint(range(start, end))
    ]
    return [*named, *dates, *years, *numbers, *_phrases(text)]


def year_of(text: str) -> int | None:
    """The year that a date names; Thai years are converted from the Buddhist era."""
    match = re.search(r"(?<!\d)\d{4}(?!\d)", text)
    if match is None:
        return None
    year = int(match[0])
    return year - 543 if "พ.ศ." in text or (year > 2400 and re.search(_THAI_MONTH, text)) else year


def date_key(text: str) -> tuple[int, int, int] | None:
    """A date as year, month and day to compare by; unknown parts are 0. None if it names no year."""
    year = year_of(text)
    if year is None:
        return None
    rest = re.sub(r"(?<!\d)\d{4}(?!\d)", " ", text)
    month = re.search("|".join(_MONTHS), fold(rest))
    day = re.search(r"(?<!\d)\d{1,2}(?!\d)", rest)
    return year, _MONTHS.index(month[0]) + 1 if month else 0, int(day[0]) if day and month else 0


def number_of(text: str) -> float | None:
    """The value of a number, for example 1.2 million; None if it has none in digits."""
    match = re.search(r"\d+(?:,\d{3})*(?:\.\d+)?", text)
    if match is None:
        return None
    scales = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "ล้าน": 1e6, "万": 1e4, "亿": 1e8}
    scale = next((factor for word, factor in scales.items() if word in fold(text)), 1.0)
    return float(match[0].replace(",", "")) * scale


def _phrases(text: str) -> Iterator[Span]:
    """Runs of words between function words and punctuation, at most five words; for scripts with spaces only."""
    if has_unspaced(text):
        return
    start = 0
    for end in [*(match.start() for match in _PHRASE_BREAK.finditer(text)), len(text)]:
        run: list[re.Match[str]] = []
        for word in [*_WORD.finditer(text, start, end), None]:
            bare = fold(word[0].strip("\"'“”.,;:()[]!?")) if word else ""
            if word is not None and bare and bare not in ASKING_WORDS:
                run.append(word)
                continue
            if 0 < len(run) <= _MAX_PHRASE and not run[0][0][0].isupper() and not run[0][0][0].isdigit():
                left, right = run[0].start(), run[-1].end()
                stripped = text[left:right].strip("\"'“”.,;:()[]!?")
                left = text.index(stripped, left)
                yield Span(text=stripped, start=left, end=left + len(stripped), kind="phrase")
            run = []
        start = end


def _span(match: re.Match[str], kind: SpanKind) -> Span:
    return Span(text=match[0].strip(), start=match.start(), end=match.start() + len(match[0].strip()), kind=kind)
