"""Dates, times and durations as organisers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

YEARS = range(1900, 2200)
"""The years that a conference can be in; what is beyond is a mistake, and computing with it may fail."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBERS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_WORDS = re.compile(r"(?:(\d{1,2})\.?\s+)?([a-z]{3,9})\.?\s*(?:(\d{1,2}),?\s+)?(\d{4})", re.IGNORECASE)
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2})(?:[:.h](\d{2}))?(?::\d{2})?\s*([ap])?\.?(?:m\.?)?", re.IGNORECASE)
_DURATION = re.compile(r"(?:(\d{1,3}):)?(\d{1,4})(?::00)?\s*(?:min|minutes|mins|m)?\.?", re.IGNORECASE)


def date_of(text: str) -> date:
    """A date: ``2025-02-01``, ``1.2.2025``, ``13/2/2025``, ``1 February 2025``, ``Feb 1, 2025``.

    Args:
        text: The date.

    Raises:
        ValueError: If it is none, day and month cannot be told apart, or its year is not one of `YEARS`.
    """
    day = _date(_WEEKDAY.sub("", text.strip()))
    if day.year not in YEARS:
        raise ValueError(f"{text!r} is not between the years {YEARS[0]} and {YEARS[-1]}")
    return day


def clock_of(text: str) -> time:
    """A time of day: ``14:30``, ``14.30``, ``2:30 pm``, ``2pm``.

    Args:
        text: The time.

    Raises:
        ValueError: If it is none.
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"{text!r} is no time of day; write it as HH:MM")
    hour = int(match[1])
    if match[3]:
        if not 1 <= hour <= 12:
            raise ValueError(f"{text!r} is no time of day; write it as HH:MM")
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    return time(hour, int(match[2] or 0))


def moment_of(text: str) -> datetime:
    """A date with a time, with its time zone if it names one: ``2025-02-01T14:00+01:00``, ``1.2.2025 14:00``.

    Args:
        text: The moment.

    Raises:
        ValueError: If it is none.
    """
    text = text.strip()
    try:
        if len(text) > len("2025-02-01"):
            moment = datetime.fromisoformat(text)
            date_of(moment.date().isoformat())
            return moment
    except ValueError:
        pass  # not written as ISO 8601 says, but perhaps in another way
    for place in _spaces(text):
        try:
            return datetime.combine(date_of(text[:place].rstrip(",")), clock_of(text[place:]))
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no date with a time; write it as YYYY-MM-DD HH:MM")


def duration_of(text: str) -> timedelta:
    """A duration: ``00:45``, ``1:30``, ``01:00:00``, ``45``, ``45 min``.

    Args:
        text: The duration; a number alone counts minutes.

    Raises:
        ValueError: If it is none.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration; write it as HH:MM or in minutes")
    return timedelta(hours=int(match[1] or 0), minutes=int(match[2]))


def date_or_none(text: str) -> date | None:
    """A date, or None if the text is none.

    Args:
        text: The date.
    """
    try:
        return date_of(text)
    except ValueError:
        return None


def moment_or_none(text: str) -> datetime | None:
    """A date with a time, or None if the text is none.

    Args:
        text: The moment.
    """
    try:
        return moment_of(text)
    except ValueError:
        return None


def end_after(start: datetime, length: timedelta) -> datetime:
    """When something ends that begins at a moment and lasts so long, in UTC, since a night may skip an hour.

    Args:
        start: When it begins, with its time zone.
        length: How long it lasts.

    Raises:
        ValueError: If that is less than nothing, or more than 30 days.
    """
    if not timedelta(0) <= length <= timedelta(days=30):
        raise ValueError(f"a session cannot last {length}")
    return start.astimezone(UTC) + length


def zone_for(moments: Iterable[datetime]) -> str:
    """The name of a zone for times that only name their offset from UTC: the first whole number of hours, else UTC.

    Args:
        moments: The times.
    """
    offset = next((moment.utcoffset() for moment in moments if moment.utcoffset() is not None), None)
    hours = offset / timedelta(hours=1) if offset else 0.0
    # The sign of these names is the other way round.
    return f"Etc/GMT{-int(hours):+d}" if hours and hours == int(hours) else "UTC"


def _spaces(text: str) -> list[int]:
    """Where the date may end, from the last place: the time may hold a space itself."""
    return [match.start() for match in re.finditer(r"[ T]", text)][::-1]


def _date(text: str) -> date:
    if numbers := _NUMBERS.fullmatch(text):
        first, sign, second, year = int(numbers[1]), numbers[2], int(numbers[3]), int(numbers[4])
        if sign != "." and first <= 12 and second <= 12 and first != second:
            raise ValueError(f"{text!r} has two meanings; write it as {year}-MM-DD")
        day, month = (second, first) if second > 12 else (first, second)
        return date(year, month, day)
    if (words := _WORDS.fullmatch(text)) and words[2][:3].lower() in _MONTHS and (words[1] or words[3]):
        return date(int(words[4]), _MONTHS.index(words[2][:3].lower()) + 1, int(words[1] or words[3]))
    return date.fromisoformat(text)
