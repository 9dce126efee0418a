"""Times, places, counts and filters in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime

from loopwright.workflows.assistant.schemas import Filters, Record, Table
from loopwright.workflows.assistant.understanding.languages import CODES

NOUNS: dict[Table, tuple[str, str]] = {
    Table.SESSIONS: ("session", "sessions"),
    Table.SPEAKERS: ("speaker", "speakers"),
    Table.EXHIBITORS: ("exhibitor", "exhibitors"),
    Table.ATTENDEES: ("attendee", "attendees"),
}
"""Table -> what one of its records is called, and several."""

# strftime follows the locale of the machine, and the answer is English.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sep", "Oct", "Nov", "Dec")
_MARKDOWN = re.compile(r"([\\`*\[\]<>|])|((?<!\w)_|_(?!\w))")
_MOST_NAMED = 3


def day_named(day: date) -> str:
    """A day, for example ``Sunday 2 Feb``.

    Args:
        day: The day.
    """
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"


def clock(moment: datetime) -> str:
    """A time of day, for example ``14:00``, in the moment's own time zone.

    Args:
        moment: The moment.
    """
    return f"{moment:%H:%M}"


def when(record: Record) -> str:
    """When a record is on, for example ``Sun 2 Feb, 14:00-14:50``; empty without a time.

    Args:
        record: The record.
    """
    if record.start is None:
        return ""
    day = f"{_DAYS[record.start.weekday()][:3]} {record.start.day} {_MONTHS[record.start.month - 1]}"
    until = f"-{clock(record.end)}" if record.end else ""
    return f"{day}, {clock(record.start)}{until}"


def joined(items: Iterable[str], word: str = "and") -> str:
    """Items as a sentence lists them: ``a, b and c``.

    Args:
        items: The items.
        word: What stands before the last one.
    """
    *first, last = [*items] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def several(items: Sequence[str]) -> str:
    """A few of many items: ``a, b, c and 4 more``.

    Args:
        items: The items.
    """
    if len(items) <= _MOST_NAMED + 1:
        return joined(items, "or")
    return f"{', '.join(items[:_MOST_NAMED])} or {len(items) - _MOST_NAMED} more"


def described(filters: Filters) -> str:
    """What filters ask for, for example ``on Sunday 2 Feb, from 12:00, in Janson``; empty without any.

    Args:
        filters: The filters.
    """
    parts = [*_times(filters)]
    if filters.rooms:
        parts.append(f"in {plain(several(filters.rooms))}")
    if filters.tracks:
        parts.append(f"in the track {plain(several(filters.tracks))}")
    if filters.types:
        parts.append(f"of the type {plain(several(filters.types))}")
    if filters.languages:
        parts.append(f"in {several([CODES.get(code.lower(), code) for code in filters.languages])}")
    if filters.speakers:
        parts.append(f"with {plain(several(filters.speakers))}")
    return ", ".join(parts)


def plain(text: str) -> str:
    """A text from the data on one line, so that no character of it means something in Markdown.

    Args:
        text: The text.
    """
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))


def shortened(text: str, most: int) -> str:
    """The beginning of a text, cut between words.

    Args:
        text: The text.
        most: The most characters.
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most].rsplit(' ', 1)[0].rstrip(',;:.')}…"


def _times(filters: Filters) -> list[str]:
    days = [date.fromisoformat(day) for day in filters.days]
    parts = [f"on {joined([day_named(day) for day in days], 'or')}"] if days else []
    for moment, word in ((filters.at, "at"), (filters.after, "from"), (filters.before, "before")):
        if moment is None:
            continue
        day = "" if moment.date() in days else f" on {day_named(moment.date())}"
        parts.append(f"{word} {clock(moment)}{day}")
    return parts
