"""Dates, times and durations as organisers write them."""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import product
from operator import itemgetter
from zoneinfo import ZoneInfo, available_timezones

from loopwright.config import shipped
from loopwright.retrieval.text import fold

YEARS = range(1900, 2200)
"""The years that a conference can be in; what is beyond is a mistake, and computing with it may fail."""

_HOURS = r"(?:h(?:rs?|ours?)?|std|stunden?|uhr|heures?|horas?|or[ae]|uur|uren)(?![^\W\d_])"
_CLOCK = re.compile(rf"(\d{{1,2}})(?:\s*[:.h]\s*(\d\d))?(?::\d\d)?\s*(?:([ap])\.?(?:m\.?)?|({_HOURS}))?", re.IGNORECASE)
_EXACT = rf"(\d{{1,2}}(?:\s*[:.h]\s*\d\d(?:\s*(?:[ap]m|{_HOURS}))?|\s*(?:[ap]m|{_HOURS})))"
_AT = re.compile(rf"(?i)(.+\d.*?)[\s,]+(?:\w{{1,4}} ){{0,2}}{_EXACT}")
_RANGE = re.compile(rf"(?i)(.*\s)?{_EXACT}\s*(?:[-–—]|to|till|until|bis|à|al?|alle|a las|tot|y|e)\s*{_EXACT}")
_DURATION = re.compile(
    rf"(?i)(?:(\d{{1,3}}):(?=\d)|(\d{{1,2}}(?:[.,](?:\d|00|25|50|75))?)\s*{_HOURS}\.?\s*)?"
    rf"(?:(\d{{1,5}})(?::00)?\s*(?:m(?:in\w*)?|['’′]|(?(1){_HOURS}))?)?\.?"
)
NUMBERED = re.compile(r"\D*(\d{1,2})[/-](\d{1,2})[/-](\d{4})\b")
"""A date of numbers alone, behind a day of the week or not: it does not tell whether the month comes first."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SMALL = frozenset("the of on der den dem am um vom uhr er le de del la el il ore om".split())
# What a text does not say is taken from these, so that it shows in the difference.
_BASES = (datetime(2000, 1, 1), datetime(2001, 2, 2, 1, 1))


def date_of(text: str) -> date:
    """A date: ``2025-02-01``, ``1.2.2025``, ``13/2/2025``, ``Feb 1, 2025``, ``Sa, 1. Februar 2025``.

    Raises:
        ValueError: If it is none, day and month cannot be told apart, or its year is not one of `YEARS`.
    """
    found = {each.date() for each in _meanings(text)}
    if len(found) > 1:
        raise ValueError(f"{text!r} is no whole date, or has two meanings; write it as YYYY-MM-DD")
    return min(found)


def with_years_first(texts: Iterable[str]) -> dict[str, str]:
    """Dates such as ``7/10/2026`` with the year first, in the order of day and month in which all lie closest together.

    Empty where both orders are as good, or there is no such date.
    """
    found = {text: match for text in texts if (match := NUMBERED.match(text.strip()))}
    read: list[tuple[int, dict[str, str]]] = []
    for day, month in ((1, 2), (2, 1)):
        with suppress(ValueError):
            days = {text: date(int(match[3]), int(match[month]), int(match[day])) for text, match in found.items()}
            span = (max(days.values()) - min(days.values())).days if days else 0
            said = {text: f"{each}{text.strip()[found[text].end() :]}" for text, each in days.items()}
            read.append((span, said))
    read.sort(key=itemgetter(0))
    return read[0][1] if len(read) == 1 or (read and read[0][0] < read[1][0]) else {}


def clock_of(text: str) -> time:
    """A time of day: ``14:30``, ``1430``, ``14.30``, ``14h30``, ``2pm``, ``14 Uhr``.

    Raises:
        ValueError: If it is none.
    """
    match = _CLOCK.fullmatch(re.sub(r"^([01]\d|2[0-4])([0-5]\d)$", r"\1:\2", text.strip(" \n-–—")))  # "14:30 –"
    hour = int(match[1]) if match and any(match.groups()[1:]) else 24
    if match is None or hour > 23 or (match[3] and not 1 <= hour <= 12):
        raise ValueError(f"{text!r} is no time of day; write it as HH:MM")
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    return time(hour, int(match[2] or 0))


def range_of(text: str) -> tuple[str, str] | None:
    """Where a text has a time and one until when, as ``2025-02-01 10:00-10:45``: what it is without that, and that."""
    match = _RANGE.fullmatch(text.strip())
    with suppress(ValueError):  # behind a date the other may be the offset of its zone
        if match and (not match[1] or clock_of(match[2]) < clock_of(match[3])):
            return f"{match[1] or ''}{match[2]}", match[3]
    return None


def moment_of(text: str) -> datetime:
    """A date with a time, with its time zone if it names one: ``2025-02-01T14:00+01:00``, ``1.2.2025 14:00``.

    Raises:
        ValueError: If it is none.
    """
    match = _AT.fullmatch(text.strip())
    if match and not moment_or_none(match[1]):  # it is "9 May 2025 at 9h" and not "9 May 2025 9:00 or 10:00"
        return datetime.combine(date_of(match[1]), clock_of(match[2]))
    found = _meanings(text) if len(text.strip()) > len("2025-02-01") else ()
    if len(found) != 1:
        raise ValueError(f"{text!r} is no date with a time; write it as YYYY-MM-DD HH:MM")
    return min(found)


def duration_of(text: str) -> timedelta:
    """A duration: ``1:30``, ``01:00:00``, ``45 min``, ``1h30``, ``1,5 h``; a number alone, as ``45``, counts minutes.

    Raises:
        ValueError: If it is none.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration; write it as HH:MM or in minutes")
    return timedelta(hours=float((match[1] or match[2] or "0").replace(",", ".")), minutes=int(match[3] or 0))


def date_or_none(text: str) -> date | None:
    """A date, or None if the text is none."""
    with suppress(ValueError):  # reading dates is slow, and a word none
        return date_of(text) if any(map(str.isdigit, text)) else None


def moment_or_none(text: str) -> datetime | None:
    """A date with a time, or None if the text is none."""
    with suppress(ValueError):
        return moment_of(text) if any(map(str.isdigit, text)) else None


def end_after(start: datetime, length: timedelta) -> datetime:
    """When something ends that begins at a moment and lasts so long, in UTC, since a night may skip an hour.

    Raises:
        ValueError: If that is less than nothing, or more than 30 days.
    """
    if not timedelta(0) <= length <= timedelta(days=30):
        raise ValueError(f"a session cannot last {length}")
    return start.astimezone(UTC) + length


def zone_for(moments: Iterable[datetime]) -> str:
    """The name of a zone that has the offsets of some times, a plain one first; UTC if none has, empty without any."""
    stated = {(moment.utcoffset(), moment.date()): moment for moment in moments if moment.tzinfo}.values()
    names = sorted(available_timezones(), key=lambda name: (name != "UTC", not name.startswith("Etc/GMT"), name))
    fits = (name for name in names if all(at.astimezone(ZoneInfo(name)).utcoffset() == at.utcoffset() for at in stated))
    return next(fits, "UTC") if stated else ""


@lru_cache(maxsize=1024)
def _meanings(text: str) -> frozenset[datetime]:
    """What a date with or without a time may mean; more than one where something is not said."""
    text = text.strip()
    try:
        found = frozenset({datetime.fromisoformat(text)} if len(text) > len("2025-02-01") else ())
    except ValueError:
        found = frozenset[datetime]()
    found = found or _read(text)
    if any(each.year not in YEARS for each in found):
        raise ValueError(f"{text!r} is not between the years {YEARS[0]} and {YEARS[-1]}")
    return found


def _read(text: str) -> frozenset[datetime]:
    from dateutil.parser import parse  # pyright: ignore[reportMissingModuleSource] - comes without types

    # The year first has its month second, and with full stops the day comes first; else either may.
    first = re.match(r"\D*(?:(\d{4})|\d+\.\d+\.)", text)
    both = [*product((not first[1],) if first else (True, False), _BASES)]
    # Else in the words of other languages; but "12-13 May 2026" is no day of 2012.
    told = _LETTERS.sub(lambda word: _in_english(word[0], not re.search(r"\d", text[: word.start()])), text)
    for said in dict.fromkeys((text, told)):
        with suppress(ValueError, OverflowError, TypeError):
            found = frozenset(parse(said, dayfirst=order, default=base, tzinfos=_zone) for order, base in both)
            if all(str(each.year) in text for each in found) or not re.search(r"(?:19|2[01])\d\d(?!\d)", text):
                return found
    raise ValueError(f"{text!r} is no date; write it as YYYY-MM-DD")


@lru_cache(maxsize=1024)
def _in_english(word: str, first: bool) -> str:
    """What a word of a date is in English, also a short form; a day of the week and small words are nothing."""
    said, own = shipped("loopwright.workflows.assistant", "data/words/time.yaml"), fold(word)
    days, months = ([fold(name).split() for each in said.values() for name in each[key]] for key in ("days", "months"))
    place = {at % 12 for at, names in enumerate(months) if own in names or (len(own) > 2 and names[0].startswith(own))}
    is_day = len(own) > 1 and any(name.startswith(own) for names in days for name in names)
    if own in _SMALL or (is_day and (first or not place)):
        return ""
    return said["en"]["months"][place.pop()].split()[0] if len(place) == 1 else word


def _zone(_name: str | None, seconds: int | None) -> tzinfo | None:
    return None if seconds is None else timezone(timedelta(seconds=seconds))
