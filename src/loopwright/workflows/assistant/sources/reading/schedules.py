"""A schedule from whatever file an organiser has."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.reading.cells import missing_names, problems_of, several
from loopwright.workflows.assistant.sources.reading.columns import column_names, row_values
from loopwright.workflows.assistant.sources.reading.facts import (
    NIGHT_ENDS,
    ConferenceFacts,
    info_from,
    zone_name,
)
from loopwright.workflows.assistant.sources.reading.files import read_text
from loopwright.workflows.assistant.sources.reading.ical import read_ical
from loopwright.workflows.assistant.sources.reading.json_values import as_list, as_mapping, as_text, parse_json
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.pentabarf import read_pentabarf
from loopwright.workflows.assistant.sources.reading.pretalx import is_pretalx, read_pretalx
from loopwright.workflows.assistant.sources.reading.results import Schedule
from loopwright.workflows.assistant.sources.reading.rows import Rows, read_rows, rows_of_json
from loopwright.workflows.assistant.sources.reading.talks import Person, Talk, records_of
from loopwright.workflows.assistant.sources.reading.times import (
    clock_of,
    date_of,
    duration_of,
    end_after,
    moment_of,
    moment_or_none,
)


def read_schedule(path: Path, *, time_zone: str | None = None) -> Schedule:
    """Read a conference and its programme.

    Args:
        path: Pentabarf XML, the JSON export of pretalx, iCal, or a table of sessions as CSV, TSV, JSON, JSONL or
            Markdown, by the ending of its name.
        time_zone: The zone of times without one, where the file names none.

    Returns:
        The conference, its sessions, and the speakers who follow from them.

    Raises:
        DocumentError: If it cannot be read, is damaged, or holds no session with a date.
    """
    suffix = path.suffix.lower()
    if suffix == ".xml":
        schedule = read_pentabarf(path, time_zone=time_zone)
    elif suffix in (".ics", ".ical", ".ifb"):
        schedule = read_ical(path, time_zone=time_zone)
    elif suffix == ".json":
        value = parse_json(path, read_text(path))
        if is_pretalx(value):
            schedule = read_pretalx(path, value, time_zone=time_zone)
        else:
            schedule = _of_rows(path, rows_of_json(path, value), time_zone)
    else:
        schedule = _of_rows(path, read_rows(path, column_names(Table.SESSIONS)), time_zone)
    if not schedule.records:
        raise DocumentError(str(path), "holds no session")
    return schedule


def _of_rows(path: Path, rows: Rows, time_zone: str | None) -> Schedule:
    about = {name.lower(): value for name, value in rows.about.items()}
    about = {**as_mapping(about.get("conference")), **about}
    given = [(place, row_values(Table.SESSIONS, row)) for place, row in rows.rows]
    moments = [moment for _, values in given if (moment := moment_or_none(as_text(values.get("start"))))]
    zone = zone_name(str(path), as_text(about.get("time_zone")), time_zone, moments)
    problems: list[str] = []
    talks = [
        talk
        for place, values in given
        if (talk := _talk(values, ZoneInfo(zone), problems, f"{path.name}, {place}")) is not None
    ]
    if not talks:
        raise missing_names(path, Table.SESSIONS, rows)
    facts = ConferenceFacts(
        title=plain_line(as_text(about.get("title") or about.get("name"))),
        venue=plain_line(as_text(about.get("venue"))),
        city=plain_line(as_text(about.get("city"))),
    )
    days = [talk.day for talk in talks if talk.day]
    info = info_from(str(path), facts, zone, days, default_title=path.stem)
    noted = (*rows.problems, *problems_of(path, Table.SESSIONS, rows), *problems)
    return Schedule(info, records_of(talks, info), noted)


def _talk(values: dict[str, Any], zone: ZoneInfo, problems: list[str], place: str) -> Talk | None:
    title = plain_line(as_text(values.get("title")))
    if not title:
        return None
    day: date | None = None
    start: datetime | None = None
    end: datetime | None = None
    try:
        day, start = _begin(values, zone)
        end = _end(values, start) if start else None
    except ValueError as error:
        without = "an end" if start else "a time"
        problems.append(f"{place}: {title!r}: {error}; it was kept without {without}")
    return Talk(
        key=plain_line(as_text(values.get("key"))),
        title=title,
        subtitle=plain_line(as_text(values.get("subtitle"))),
        abstract=plain_text(as_text(values.get("abstract"))),
        description=plain_text(as_text(values.get("description"))),
        persons=_persons(values.get("speakers")),
        rooms=plain_value(as_text(values.get("rooms"))),
        tracks=plain_value(as_text(values.get("tracks"))),
        types=plain_value(as_text(values.get("types"))),
        languages=several(values.get("languages")),
        start=start,
        end=end,
        day=day,
        url=web_address(as_text(values.get("url"))),
    )


def _begin(values: dict[str, Any], zone: ZoneInfo) -> tuple[date | None, datetime | None]:
    """The day of the conference, and when it begins: ``start`` may hold both, or a time beside a date of its own."""
    stated, clock = as_text(values.get("day")).strip(), as_text(values.get("start")).strip()
    moment = moment_or_none(clock or stated)
    if moment is None and not clock:
        return (date_of(stated), None) if stated else (None, None)
    if moment is None and stated:
        day = date_of(stated)
        at = clock_of(clock)
        return day, datetime.combine(day + timedelta(days=1 if at < NIGHT_ENDS else 0), at, zone)
    moment = moment if moment is not None else moment_of(clock)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    local = moment.astimezone(zone)
    return local.date() - timedelta(days=1 if local.time() < NIGHT_ENDS else 0), moment


def _end(values: dict[str, Any], start: datetime) -> datetime | None:
    """When it ends: after ``duration``, or at ``end``, on the next day where the hour is not later."""
    if length := as_text(values.get("duration")).strip():
        return end_after(start, duration_of(length))
    text = as_text(values.get("end")).strip()
    if not text:
        return None
    moment = moment_or_none(text)
    if moment is None:
        clock: time = clock_of(text)
        moment = datetime.combine(start.date(), clock, start.tzinfo)
        moment = moment if moment > start else moment + timedelta(days=1)
    return end_after(start, (moment if moment.tzinfo else moment.replace(tzinfo=start.tzinfo)) - start)


def _persons(value: object) -> tuple[Person, ...]:
    """Who gives it: names, or JSON objects with a name and a biography."""
    people: dict[str, Person] = {}
    for item in as_list(value) or several(value):
        inside = as_mapping(item)
        biography = next(filter(None, (as_text(inside.get(key)) for key in ("biography", "bio", "about"))), "")
        name = plain_line(as_text(inside.get("name") or inside.get("public_name") if inside else item))
        if name:
            people.setdefault(name, Person(name=name, key=as_text(inside.get("id")), biography=plain_text(biography)))
    return tuple(people.values())
