"""Days in a question, against the days of the conference."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from loopwright.workflows.assistant.understanding.frames import says_programme
from loopwright.workflows.assistant.understanding.words import REFUSED, Words

DAY = "day"
"""The kind of words that name a day."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven")
_PART = r"(?:early\s+|late\s+)?(?:morning|afternoon|evening|night|noon)"
_END = (
    rf"(?=\s*(?:$|[?.!,;:)]|(?:at|in|on|from|after|before|between|until|around|about|and|or|for|the|to)\b|{_PART}|\d))"
)

_WEEKDAY = re.compile(
    rf"\b(?:(?P<full>{'|'.join(_WEEKDAYS)})s?\b"
    rf"|(?<=on )(?P<short>mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)\b\.?{_END}"
    rf"|(?P<brief>(?-i:Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat|Sun))\b\.?(?=\s*(?:{_PART}|at\s+\d|\d|$|[?!,])))",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.?(?:\s+of)?\s+({_MONTH})\b(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}})\b)?", re.IGNORECASE)
_DOTTED = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4}))?(?!\d)")
_THE_NTH = re.compile(rf"\bthe\s+(\d{{1,2}})(?:st|nd|rd|th)\b{_END}", re.IGNORECASE)
_NTH_DAY = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_ORDINALS)}|last|final|opening|closing)|(?P<digits>[1-7])(?:st|nd|rd|th))\s+"
    rf"(?:conference\s+)?day\b"
    rf"|\bday\s+(?:(?P<number>[1-9])|(?P<name>{'|'.join(_NUMBERS)}))\b",
    re.IGNORECASE,
)
_WEEKEND = re.compile(r"\b(?:the|this|on|over|whole|at)\s+weekend\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:both|all|every|each|either|any)\s+(?:of\s+the\s+)?days?\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\bbut\s+)?(?:\b(?:i|we)\b\s*)?(?:\b(?:can['’]?t|cannot|can\s+not|won['’]?t|am\s+not|are\s+not|except(?:\s+for)?"
    r"|other\s+than|busy|away)\b|['’]m\s+not\b)(?:\s+(?!only\b)\w+){0,3}\s*$|\b(?:but\s+)?not(?:\s+on)?\s*$",
    re.IGNORECASE,
)
# "today's" something else than what a conference has is nowadays.
_OTHERS = r"['’]s\s+(?!talks?\b|sessions?\b|keynotes?\b|workshops?\b|programme?\b|schedule\b|lectures?\b)"
_DATES = (_ISO, _DAY_MONTH, _MONTH_DAY, _DOTTED)
_RELATIVE = re.compile(
    rf"\b(?:(?P<today>today(?!{_OTHERS})|tonight|this\s+(?=morning|afternoon|evening))|(?P<tomorrow>tomorrow)|(?P<yesterday>yesterday))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Days:
    """What a question says of days."""

    days: tuple[date, ...] = ()
    """The days, in order; one outside the conference is given as asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def read_days(words: Words, days: Sequence[date], today: date | None) -> Days:
    """The days that a question names.

    Args:
        words: The question; what is read is taken.
        days: The days of the conference; without any nothing is read.
        today: The day of asking, or None if it is not known.
    """
    if not days:
        return Days()
    notes: list[str] = []
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Sequence[date]]], ...] = (
        (_ISO, lambda m: _date(int(m[1]), int(m[2]), int(m[3]))),
        (_DAY_MONTH, lambda m: _in_year(_month(m[2]), int(m[1]), m[3], days)),
        (_MONTH_DAY, lambda m: _in_year(_month(m[1]), int(m[2]), m[3], days)),
        (_DOTTED, lambda m: _in_year(int(m[2]), int(m[1]), m[3], days)),
        (_NTH_DAY, lambda m: _nth(m, days)),
        (_WEEKDAY, lambda m: _weekday(m, days)),
        (_THE_NTH, lambda m: [day for day in days if day.day == int(m[1])]),
        (_WEEKEND, lambda m: [day for day in days if day.weekday() >= 5]),
        (_EVERY, lambda m: days),
        (_RELATIVE, lambda m: _relative(m, today, words, notes)),
    )
    away = today is not None and not days[0] <= today <= days[-1]
    found: set[date] = set()
    excluded: set[date] = set()
    for pattern, dates_of in readers:
        for match in pattern.finditer(words.text):
            dates = dates_of(match)
            if not dates and pattern in _DATES and _is_date(match) and words.take_span(*match.span(), DAY):
                notes.append(f'There is no day "{match[0].strip()}".')
            if pattern is _RELATIVE and (away or (today is None and match["today"] is None)):
                words.take_span(*match.span(), DAY)
                notes.append(elsewhen(today, days) if today else _unknown(match))
                continue
            if dates and words.take_span(match.start(), match.end(), DAY):
                negated = _NEGATED.search(words.text, 0, match.start())
                place = negated and words.within(negated.start(), match.start())
                # What is refused of its own, as in "except LLVM on Sunday", is no refusal of the day.
                if place and REFUSED in words.kinds[place[0] : place[1] + 1]:
                    negated = None
                (excluded if negated else found).update(dates)
                if negated:
                    words.take_span(negated.start(), match.start(), DAY)
    missing = sorted(found - set(days))
    if missing:
        notes.append(_outside(missing, days))
    asked = (found or set(days)) - excluded
    everything = asked == set(days) and (len(days) > 1 or not found)
    return Days(() if everything else tuple(sorted(asked)), tuple(dict.fromkeys(notes)))


def _relative(match: re.Match[str], today: date | None, words: Words, notes: list[str]) -> list[date]:
    if today is not None:
        return [today + timedelta(days=1 if match["tomorrow"] else -1 if match["yesterday"] else 0)]
    # Without words of a programme "today" only means nowadays.
    if says_programme(words.text):
        notes.append(_unknown(match))
    return []


def _unknown(match: re.Match[str]) -> str:
    return f'Which day "{match[0].strip()}" is cannot be told: the moment of asking is not known.'


def _is_date(match: re.Match[str]) -> bool:
    """Whether the numbers are those of a day and a month, though there is no such day: "30 February"."""
    numbers = [int(group) for group in match.groups() if group and group.isdigit() and len(group) < 3]
    return all(1 <= number <= 31 for number in numbers) and min(numbers, default=1) <= 12 + 19 * (len(numbers) == 1)


def elsewhen(today: date, days: Sequence[date]) -> str:
    """What is said where "now" or "today" is no time of the conference.

    Args:
        today: The day of asking.
        days: The days of the conference.
    """
    return f"Today is {_spoken(today)}; the conference is on {_span(days)}."


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _date(year: int, month: int, day: int) -> list[date]:
    try:
        return [date(year, month, day)]
    except ValueError:
        return []


def _in_year(month: int, day: int, year: str | None, days: Sequence[date]) -> list[date]:
    same = [known for known in days if (known.month, known.day) == (month, day) and year in (None, str(known.year))]
    return same or _date(int(year or days[0].year), month, day)


def _weekday(match: re.Match[str], days: Sequence[date]) -> list[date]:
    name = (match["full"] or match["short"] or match["brief"]).lower()
    wanted = next(i for i, weekday in enumerate(_WEEKDAYS) if weekday.startswith(name[:3]))
    within = [day for day in days if day.weekday() == wanted]
    if within:
        return within
    around = [days[0] - timedelta(days=n) for n in range(1, 7)] + [days[-1] + timedelta(days=n) for n in range(1, 7)]
    ordered = sorted(around, key=lambda day: min(abs(day - days[0]), abs(day - days[-1])))
    return [next(day for day in ordered if day.weekday() == wanted)]


def _nth(match: re.Match[str], days: Sequence[date]) -> list[date]:
    word = (match["word"] or match["name"] or "").lower()
    if word in ("last", "final", "closing"):
        return [days[-1]]
    if word:
        names = _ORDINALS if word in _ORDINALS else _NUMBERS
        n = 1 if word == "opening" else names.index(word) + 1
    else:
        n = int(match["digits"] or match["number"])
    return [days[0] + timedelta(days=n - 1)]


def _outside(missing: Sequence[date], days: Sequence[date]) -> str:
    verb = "is no day" if len(missing) == 1 else "are no days"
    return f"{' and '.join(map(_spoken, missing))} {verb} of the conference, which is on {_span(days)}."


def _span(days: Sequence[date]) -> str:
    return _spoken(days[0]) if len(days) == 1 else f"{_spoken(days[0])} to {_spoken(days[-1])}"


def _spoken(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"
