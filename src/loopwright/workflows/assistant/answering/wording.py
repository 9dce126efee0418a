"""Times, places, counts and filters in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta

from loopwright.retrieval.text import STOP_WORDS, fold
from loopwright.workflows.assistant.schemas import Filters, Record, Table
from loopwright.workflows.assistant.understanding.compounds import BETWEEN_TOPICS
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
_MARKDOWN = re.compile(r"([\\`*<>|])|((?<!\w)_|_(?!\w))")
_BRACKETS = str.maketrans("[]【】", "()()")
_MOST_NAMED = 3
_MOST_TOPIC = 120
_ONE_BEGINNING = timedelta(minutes=1)
_LONGEST_NAME = 5
_WORD = re.compile(r"[^\W_]+")
_JOINING = frozenset("and or of for in".split())
_WHERE_NAMES_STAND = (
    r"\b(?:about|on|regarding|concerning|around|covers?|covering|with|stands?|exhibitors?|find|any|some|the){}",
    r"{}(?:talks?|sessions?|workshops?|stands?|booths?|exhibitors?|speakers?|keynotes?|lectures?)\b",
)
"""Patterns around a topic, which stands for ``{}``: what comes before or after a thing, and not before an action."""


def day_named(day: date) -> str:
    """A day, for example ``Sunday 2 Feb``.

    Args:
        day: The day.
    """
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]}"


def clock(moment: datetime | time) -> str:
    """A time of day, for example ``14:00``, in the moment's own time zone.

    Args:
        moment: The moment.
    """
    return f"{moment.hour:02}:{moment.minute:02}"


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


def begins(record: Record) -> str:
    """When a record begins, in the fewest words, for example ``Sun 14:00``; empty without a time.

    Args:
        record: The record.
    """
    return f"{_DAYS[record.start.weekday()][:3]} {clock(record.start)}" if record.start else ""


def joined(items: Iterable[str], word: str = "and") -> str:
    """Items as a sentence lists them: ``a, b and c``.

    Args:
        items: The items.
        word: What stands before the last one.
    """
    *first, last = [*items] or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def several(items: Sequence[str]) -> str:
    """A few of many items: ``a, b, c or 4 more``.

    Args:
        items: The items.
    """
    if len(items) <= _MOST_NAMED + 1:
        return joined(items, "or")
    return f"{', '.join(items[:_MOST_NAMED])} or {len(items) - _MOST_NAMED} more"


def described(filters: Filters) -> str:
    """What filters ask for, for example ``on Sunday 2 Feb between 12:00 and 18:00, in Janson``; empty without any.

    Args:
        filters: The filters.
    """
    timed = " ".join(_times(filters))
    parts = [timed] if timed else []
    if filters.rooms:
        parts.append(f"in {plain(_places(filters.rooms))}")
    if filters.tracks:
        parts.append(f"in the track {plain(several(filters.tracks))}")
    if filters.types:
        parts.append(f"of the kind {plain(several([f'“{kind}”' for kind in filters.types]))}")
    if filters.languages:
        parts.append(f"in {several([CODES.get(code.lower(), code) for code in filters.languages])}")
    if filters.speakers:
        parts.append(f"with {plain(several(filters.speakers))}")
    return ", ".join(parts)


def topics_of(topic: str) -> list[str]:
    """The topics of a question that asks for several things; the topic alone otherwise.

    Args:
        topic: What `Understanding.topic` says.
    """
    return [part for part in topic.split(BETWEEN_TOPICS) if part]


def wanted(topic: str, question: str, filters: Filters, most: int = _MOST_TOPIC) -> str:
    """What was asked for, for example ``about Rust on Sunday 2 Feb, in Janson``; empty if everything was.

    Where several things were asked for, each with times or places of its own, each is named with these.

    Args:
        topic: What the question is about.
        question: The question.
        filters: What it asks of time, place and the like.
        most: The most characters of each topic.
    """
    topics = topics_of(topic)
    if len(topics) < 2 or len(topics) != len(filters.any_of):
        told = [about(topic, question, most), described(filters)]
    else:
        pairs = zip(topics, filters.any_of, strict=True)
        each = (f"{about(part, question, most)} {described(own)}".strip() for part, own in pairs)
        told = [joined(each), described(filters.model_copy(update={"any_of": ()}))]
    return " ".join(part for part in told if part)


def about(topic: str, question: str, most: int = _MOST_TOPIC) -> str:
    """What a question is about, for example ``about sourdough``; empty without a topic.

    Only what can follow "about" as it stands does so: the words for it are the person's own, and may be half a
    sentence, which is quoted.

    Args:
        topic: The topic, or several as `topics_of` parts them.
        question: The question that it was taken from.
        most: The most characters of each topic.
    """
    topics = topics_of(topic)
    # "about Java or Kotlin": what one of several is, the others are too.
    as_they_stand = any(is_named(part, question) for part in topics)
    shown = [plain(shortened(part, most)) for part in topics]
    return f"about {joined(shown if as_they_stand else [f'“{part}”' for part in shown])}" if topics else ""


def is_named(topic: str, question: str) -> bool:
    """Whether a topic stands in its question where only the name of a thing can stand.

    Args:
        topic: The topic.
        question: The question that it was taken from.
    """
    words = [fold(word) for word in _WORD.findall(topic)]
    if not 0 < len(words) <= _LONGEST_NAME or not STOP_WORDS.isdisjoint(set(words) - _JOINING):
        return False
    asked = fold(question).strip(" \t\n?!.")
    if asked == fold(topic):
        return len(words) == 1
    named = rf"(?:^|\W){re.escape(fold(topic))}(?:\W|$)"
    return any(re.search(pattern.format(named), asked) for pattern in _WHERE_NAMES_STAND)


def plain(text: str) -> str:
    """A text from the data on one line, so that no character of it means something in Markdown.

    Brackets become round ones, which need no escape and cannot pass for a mark.

    Args:
        text: The text.
    """
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", " ".join(text.translate(_BRACKETS).split()))


def shortened(text: str, most: int) -> str:
    """The beginning of a text, cut between words.

    Args:
        text: The text.
        most: The most characters.
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most].rsplit(' ', 1)[0].rstrip(',;:.')}…"


def _places(rooms: Sequence[str]) -> str:
    """Some rooms; those of a building, which are many, by the beginning that they share."""
    least, most = min(rooms), max(rooms)
    same = next((place for place, pair in enumerate(zip(least, most, strict=False)) if pair[0] != pair[1]), len(least))
    shared = least[:same].rstrip(" .,-")
    if len(rooms) > _MOST_NAMED and any(map(str.isalpha, shared)):
        return f"{shared} ({len(rooms)} rooms)"
    return several(rooms)


def _times(filters: Filters) -> list[str]:
    days = [date.fromisoformat(day) for day in filters.days]
    parts = [f"on {joined([day_named(day) for day in days], 'or')}"] if days else []
    after, before = filters.after or filters.ends_after, filters.before
    first = filters.at or after or before
    if first is not None and first.date() not in days:
        parts.append(f"on {day_named(first.date())}")
    if filters.at:
        parts.append(f"at {clock(filters.at)}")
    # The one beginning that is meant where the next or the last session was asked for.
    if after and before and before - after <= _ONE_BEGINNING:
        parts.append(f"at {clock(after)}")
    else:
        parts += _stretch(after and clock(after), before and _until(before, first or before))
    if filters.at_time:
        parts.append(f"at {clock(filters.at_time)}")
    start, end = filters.from_time, filters.until_time
    if start and end and _minutes(end) - _minutes(start) == 1:
        parts.append(f"at {clock(start)}")
    else:
        parts += _stretch(start and clock(start), end and clock(end))
    # One that asks for nothing lets everything through, whatever the others ask.
    if filters.any_of and not any(each.empty for each in filters.any_of):
        parts.append(joined(map(described, filters.any_of), "or"))
    return parts


def _stretch(start: str | None, end: str | None) -> list[str]:
    if start and end:
        return [f"between {start} and {end}"]
    return [f"from {start}"] if start else [f"before {end}"] if end else []


def _minutes(moment: time) -> int:
    return moment.hour * 60 + moment.minute


def _until(end: datetime, start: datetime) -> str:
    return clock(end) if end.date() == start.date() else f"{clock(end)} on {day_named(end.date())}"
