"""Times, places, counts and filters in plain English."""

import re
from collections.abc import Iterable, Sequence
from datetime import date

from loopwright.retrieval.text import STOP_WORDS, fold
from loopwright.workflows.assistant.schemas import Condition, Filters, Record, Table
from loopwright.workflows.assistant.searching.lexicon import words
from loopwright.workflows.assistant.sources.info import CODES, code_of

NOUNS = {table: (table.value.removesuffix("s"), table.value) for table in Table}
"""Table -> what one of its records is called, and several."""

# The names of strftime follow the locale of the machine, and the answer is English.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sep", "Oct", "Nov", "Dec")
_MARKDOWN = re.compile(r"([\\`*<>|])|((?<!\w)_|_(?!\w))")
BRACKETS = str.maketrans("[]【】", "()()")
"""Makes brackets round, so that none can pass for a mark."""
_MOST_NAMED, _MOST_DAYS = 3, 6
_MOST_TOPIC = 120


def day_named(day: date) -> str:
    """A day, for example ``Sunday 2 Feb``."""
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"


def when(record: Record) -> str:
    """When a record is on, for example ``Sun 2 Feb, 14:00-14:50 (50 min)``; empty without a time."""
    if record.start is None:
        return ""
    day = f"{_DAYS[record.start.weekday()][:3]} {record.start.day} {_MONTHS[record.start.month - 1]}"
    if record.end is None:
        return f"{day}, {record.start:%H:%M}"
    if len(record.values("day")) > 1:
        return f"{day}, {record.start:%H:%M} to {day_named(record.end)}, {record.end:%H:%M}"
    return f"{day}, {record.start:%H:%M}-{record.end:%H:%M} ({minutes_of(record)} min)"


def minutes_of(record: Record) -> int:
    """How long a record takes; 0 if that is not known."""
    return int((record.end - record.start).total_seconds() // 60) if record.start and record.end else 0


def begins(record: Record) -> str:
    """When a record begins, in the fewest words, for example ``Sun 14:00``; empty without a time."""
    return f"{_DAYS[record.start.weekday()][:3]} {record.start:%H:%M}" if record.start else ""


def joined(items: Iterable[str], word: str = "and") -> str:
    """Items as a sentence lists them: ``a, b and c``."""
    *first, last = [*items] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def several(items: Sequence[str], word: str = "or", most: int = _MOST_NAMED) -> str:
    """A few of many items: ``a, b, c or 4 more``."""
    return joined(items if len(items) <= most + 1 else [*items[:most], f"{len(items) - most} more"], word)


def described(filters: Filters) -> str:
    """What filters ask for, for example ``on Saturday 1 Feb before 13:00, in Janson``; empty without any."""
    return " ".join(filter(None, (condition_said(each) for each in filters.include)))


def excluded(filters: Filters) -> str:
    """What filters exclude, for people, for example ``before 13:00 and about MySQL``; empty without any."""
    said = [condition_said(each) for each in filters.exclude]
    return joined(dict.fromkeys([*filter(None, said), *(f"about {plain(each)}" for each in filters.without)]))


def condition_said(asked: Condition) -> str:
    """One condition for people."""
    if asked.slot == "day":
        days = [day_named(date.fromisoformat(day)) for day in asked.values if day != "none"]
        return f"on {several(days or [asked.said], most=_MOST_DAYS)}"
    if asked.slot == "room":
        named = asked.said if len(asked.values) > _MOST_NAMED and asked.said else several(asked.values)
        return f"in {plain(named)}"
    if asked.slot == "track":
        return f"in the track {plain(several(asked.values))}"
    if asked.slot == "type":
        return f"of the kind {plain(several([f'“{kind}”' for kind in asked.values]))}"
    if asked.slot == "language":
        return f"in {several([*dict.fromkeys(CODES.get(code_of(each), each) for each in asked.values)])}"
    if asked.slot == "person":
        return f"with {plain(several(asked.values))}"
    return "" if asked.slot == "record" else asked.said


def about(topic: str) -> str:
    """A topic for people, for example ``about “reproducible builds”``; empty without one."""
    return f"about “{plain(shortened(subject(topic), _MOST_TOPIC))}”" if topic else ""


def subject(topic: str) -> str:
    """A topic without the words around it that only ask: ``Rust`` of ``are there talks about Rust on``."""
    telling = topic.split()
    things = {word for table in NOUNS for word in words("things", table.value)} | STOP_WORDS
    while telling and fold(telling[0]) in things:
        telling = telling[1:]
    while telling and fold(telling[-1]) in STOP_WORDS:
        telling = telling[:-1]
    return " ".join(telling) or topic


def plain(text: str) -> str:
    """A text from the data on one line, so that no character of it means something in Markdown.

    Brackets become round ones, which need no escape and cannot pass for a mark.
    """
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", " ".join(text.translate(BRACKETS).split()))


def shortened(text: str, most: int) -> str:
    """The beginning of a text, cut between words."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most].rsplit(' ', 1)[0].rstrip(',;:.')}…"
