"""iCal: the ``.ics`` export of nearly every calendar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.sources.info import zone_of
from loopwright.workflows.assistant.sources.reading.facts import (
    NIGHT_ENDS,
    ConferenceFacts,
    info_from,
    zone_name,
)
from loopwright.workflows.assistant.sources.reading.files import read_text
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.results import Schedule
from loopwright.workflows.assistant.sources.reading.talks import Person, Talk, records_of
from loopwright.workflows.assistant.sources.reading.times import YEARS, end_after

_CONTENT = re.compile(r"[ \t]|[A-Za-z0-9.-]+(?:;[^:]*)?[:;]")


def read_ical(path: Path, *, time_zone: str | None = None) -> Schedule:
    """Read a schedule: each VEVENT is a session, its attendees and organiser are who gives it.

    Args:
        path: The file.
        time_zone: The zone of times that name none, where the file says nothing.

    Raises:
        DocumentError: If it is no iCal, damaged, or names no day.
    """
    calendar = _parse(path, read_text(path))
    zone = zone_name(str(path), _zone_name(calendar), time_zone, [])
    problems: list[str] = []
    talks = [talk for event in calendar.walk("VEVENT") if (talk := _talk(event, ZoneInfo(zone), problems, path.name))]
    facts = ConferenceFacts(title=plain_line(_text(calendar, "X-WR-CALNAME") or _text(calendar, "NAME")))
    days = [day for talk in talks if (day := _day(talk, ZoneInfo(zone)))]
    info = info_from(str(path), facts, zone, days, default_title=path.stem)
    return Schedule(info, records_of(talks, info), tuple(problems))


def _parse(path: Path, text: str) -> Any:
    from icalendar import Calendar

    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if lines[0][1].strip().upper() != "BEGIN:VCALENDAR":
        raise DocumentError(str(path), f"is no iCal, line {lines[0][0]}: it must begin with BEGIN:VCALENDAR")
    for number, line in lines:
        if not _CONTENT.match(line):
            raise DocumentError(str(path), f"is no valid iCal, line {number}: {line[:60]!r} is no property")
    if lines[-1][1].strip().upper() != "END:VCALENDAR":
        raise DocumentError(str(path), f"is cut off at line {lines[-1][0]}: it must end with END:VCALENDAR")
    try:
        return Calendar.from_ical(text)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        # The library takes a component whose name is damaged for one of its own.
        raise DocumentError(str(path), f"is no valid iCal: {error}") from None


def _zone_name(calendar: Any) -> str:
    """The zone that the calendar names itself, or that of its only time zone component."""
    named = [_text(calendar, "X-WR-TIMEZONE"), *(_text(part, "TZID") for part in calendar.walk("VTIMEZONE"))]
    for name in filter(None, named):
        try:
            return zone_of(name).key
        except ValueError:
            continue  # a name of its own, such as "W. Europe Standard Time"; its rules stand in the file
    return ""


def _talk(event: Any, zone: ZoneInfo, problems: list[str], file: str) -> Talk | None:
    title = plain_line(_text(event, "SUMMARY"))
    key = _text(event, "UID")
    if not title or _text(event, "STATUS").upper() == "CANCELLED":
        problems.append(f"{file}: event {key!r} {'is cancelled' if title else 'has no title'} and was left out")
        return None
    if event.get("RRULE") is not None:
        problems.append(f"{file}: {title!r} repeats; only its first time was read")
    start, end = _times(event, zone, problems, f"{file}: {title!r}")
    language = _parameter(event, "SUMMARY", "LANGUAGE")
    return Talk(
        key=key.partition("@")[0],
        title=title,
        abstract=plain_text(_text(event, "DESCRIPTION")),
        persons=tuple(_persons(event)),
        rooms=plain_value(_text(event, "LOCATION")),
        tracks=tuple(dict.fromkeys(_categories(event))),
        languages=plain_value(language),
        start=start if isinstance(start, datetime) else None,
        end=end,
        day=None if isinstance(start, datetime) else start,
        url=web_address(_text(event, "URL")),
    )


def _times(
    event: Any, zone: ZoneInfo, problems: list[str], place: str
) -> tuple[datetime | date | None, datetime | None]:
    """When it begins, which may be a day alone, and when it ends."""
    start, end, length = (_value(event, name) for name in ("DTSTART", "DTEND", "DURATION"))
    if not isinstance(start, date) or start.year not in YEARS:
        problems.append(f"{place} has no date; it was kept without")
        return None, None
    if not isinstance(start, datetime):
        return start, None
    start = start if start.tzinfo else start.replace(tzinfo=zone)
    if isinstance(end, datetime) and end.year in YEARS:
        length = (end if end.tzinfo else end.replace(tzinfo=zone)) - start
    if not isinstance(length, timedelta):
        return start, None
    try:
        return start, end_after(start, length)
    except ValueError as error:
        problems.append(f"{place}: {error}; it was kept without an end")
        return start, None


def _persons(event: Any) -> Iterator[Person]:
    addresses = [*_properties(event, "ATTENDEE"), *_properties(event, "ORGANIZER")]
    names = (plain_line(str(address.params.get("CN", ""))) for address in addresses)
    return (Person(name=name) for name in dict.fromkeys(names) if name)


def _categories(event: Any) -> Iterator[str]:
    for group in _properties(event, "CATEGORIES"):
        yield from filter(None, (plain_line(str(category)) for category in getattr(group, "cats", ())))


def _properties(component: Any, name: str) -> list[Any]:
    """The values of a property that may come several times, without those that could not be parsed."""
    from icalendar import vBroken

    value = component.get(name)
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    return [value for value in values if value is not None and not isinstance(value, vBroken)]


def _text(component: Any, name: str) -> str:
    return next((str(value) for value in _properties(component, name)), "")


def _parameter(component: Any, name: str, parameter: str) -> str:
    return next((str(value.params.get(parameter, "")) for value in _properties(component, name)), "")


def _value(event: Any, name: str) -> object:
    return next((getattr(value, "dt", None) for value in _properties(event, name)), None)


def _day(talk: Talk, zone: ZoneInfo) -> date | None:
    if talk.start is None:
        return talk.day
    local = talk.start.astimezone(zone)
    return date.fromordinal(local.toordinal() - (local.time() < NIGHT_ENDS))
