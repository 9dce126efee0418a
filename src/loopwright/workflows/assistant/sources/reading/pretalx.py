"""The JSON export of pretalx and frab: ``schedule.json``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from loopwright.workflows.assistant.sources.reading.facts import ConferenceFacts, info_from, zone_name
from loopwright.workflows.assistant.sources.reading.json_values import as_list, as_mapping, as_text
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.results import Schedule
from loopwright.workflows.assistant.sources.reading.talks import Person, Talk, records_of
from loopwright.workflows.assistant.sources.reading.times import date_or_none, duration_of, end_after, moment_or_none


def is_pretalx(value: object) -> bool:
    """Whether a JSON value is such an export.

    Args:
        value: The value.
    """
    return "days" in as_mapping(as_mapping(as_mapping(value).get("schedule")).get("conference"))


def read_pretalx(path: Path, value: object, *, time_zone: str | None = None) -> Schedule:
    """Read a schedule.

    Args:
        path: The file, for messages.
        value: What it holds.
        time_zone: The zone of its times, where it names none.

    Raises:
        DocumentError: If its days or its time zone cannot be.
    """
    conference = as_mapping(as_mapping(as_mapping(value)["schedule"])["conference"])
    days = [as_mapping(day) for day in as_list(conference["days"])]
    problems: list[str] = []
    begins = [moment for day in days if (moment := moment_or_none(as_text(day.get("day_start"))))]
    zone = zone_name(str(path), as_text(conference.get("time_zone_name")), time_zone, begins)
    talks = [
        talk
        for day in days
        for room, events in as_mapping(day.get("rooms")).items()
        for place, event in enumerate(as_list(events), 1)
        if (talk := _talk(as_mapping(event), room, day, ZoneInfo(zone), problems, f"{path.name}, {room!r}, {place}"))
    ]
    facts = ConferenceFacts(
        title=as_text(conference.get("title")),
        acronym=as_text(conference.get("acronym")),
        start=date_or_none(as_text(conference.get("start"))[:10]),
        end=date_or_none(as_text(conference.get("end"))[:10]),
        day_change=_change(begins, ZoneInfo(zone)),
    )
    dates = [date for day in days if (date := date_or_none(as_text(day.get("date"))[:10]))]
    info = info_from(str(path), facts, zone, dates, default_title=path.stem)
    return Schedule(info, records_of(talks, info), tuple(problems))


def _talk(
    event: dict[str, Any], room: str, day: dict[str, Any], zone: ZoneInfo, problems: list[str], place: str
) -> Talk | None:
    title = plain_line(as_text(event.get("title")))
    if not title:
        problems.append(f"{place}: the session has no title and was left out")
        return None
    start = moment_or_none(as_text(event.get("date")))
    end: datetime | None = None
    if start is None:
        problems.append(f"{place}: {title!r} has no date with a time; it was kept without")
    else:
        start = start if start.tzinfo else start.replace(tzinfo=zone)
        try:
            length = as_text(event.get("duration"))
            end = end_after(start, duration_of(length)) if length else None
        except ValueError as error:
            problems.append(f"{place}: {title!r}: {error}; it was kept without an end")
    return Talk(
        key=as_text(event.get("id")) or as_text(event.get("guid")),
        title=title,
        subtitle=plain_line(as_text(event.get("subtitle"))),
        abstract=plain_text(as_text(event.get("abstract"))),
        description=plain_text(as_text(event.get("description"))),
        persons=tuple(_persons(event)),
        rooms=plain_value(as_text(event.get("room")) or room),
        tracks=plain_value(as_text(event.get("track"))),
        types=plain_value(as_text(event.get("type"))),
        languages=plain_value(as_text(event.get("language"))),
        start=start,
        end=end,
        day=date_or_none(as_text(day.get("date"))[:10]),
        url=web_address(as_text(event.get("url"))),
    )


def _persons(event: dict[str, Any]) -> Iterator[Person]:
    for given in as_list(event.get("persons")):
        person = as_mapping(given)
        names = (as_text(person.get(key)) for key in ("public_name", "name", "full_public_name"))
        if name := plain_line(next(filter(None, names), "")):
            yield Person(
                name=name,
                key=next(filter(None, (as_text(person.get(key)) for key in ("id", "guid", "code"))), ""),
                biography=plain_text(as_text(person.get("biography"))),
                url=web_address(as_text(person.get("url"))),
            )


def _change(begins: list[datetime], zone: ZoneInfo) -> time | None:
    """The hour that the first day begins at is the day change, unless it is the hour of the first session."""
    if not begins:
        return None
    begin = begins[0].astimezone(zone).time() if begins[0].tzinfo else begins[0].time()
    return begin if begin.hour < 7 else None
