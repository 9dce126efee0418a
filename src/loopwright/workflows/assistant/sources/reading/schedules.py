"""A schedule, or a table of exhibitors or attendees, from whatever file an organiser has."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from loopwright.errors import ConfigError, DocumentError
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import ConferenceInfo, zone_of
from loopwright.workflows.assistant.sources.reading.columns import column_names, row_values, unknown_columns
from loopwright.workflows.assistant.sources.reading.files import (
    Rows,
    as_list,
    as_mapping,
    as_text,
    parse_json,
    read_rows,
    read_text,
    rows_of_json,
)
from loopwright.workflows.assistant.sources.reading.formats import Sheet, ical, is_pretalx, pentabarf, pretalx
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.talks import (
    Person,
    Talk,
    fields_of,
    filled,
    records_of,
    slug,
    unused_key,
)
from loopwright.workflows.assistant.sources.reading.times import (
    clock_of,
    date_of,
    date_or_none,
    duration_of,
    end_after,
    moment_of,
    moment_or_none,
    zone_for,
)

logger = logging.getLogger("loopwright.assistant")

NIGHT_ENDS = time(4)
"""When a day of the conference begins where the file does not say: what is earlier belongs to the evening before."""
_SEPARATORS = re.compile(r"[;|\n]")
_TEXTS: dict[Table, tuple[str, ...]] = {
    Table.EXHIBITORS: ("description", "offering", "seeking", "news"),
    Table.ATTENDEES: ("about", "interests", "seeking", "offering"),
}
"""What a row of each table says in texts of its own."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A conference and its programme."""

    info: ConferenceInfo
    """The conference."""
    records: tuple[Record, ...]
    """The sessions in order of the file, then the speakers."""
    problems: tuple[str, ...] = ()
    """What had to be left out or could not be understood, one sentence each, with its place."""


@dataclass(frozen=True, slots=True)
class TableRead:
    """The records of a file that holds one kind of them."""

    records: tuple[Record, ...]
    """The records in order of the file; of sessions, the speakers follow."""
    problems: tuple[str, ...] = ()
    """What had to be left out or could not be understood, one sentence each, with its place."""


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
    sheet = _sheet(path)
    given = [values.get("start") for _, values in sheet.rows]
    starts = (each if isinstance(each, datetime) else moment_or_none(as_text(each)) for each in given)
    try:
        zone = zone_of(sheet.time_zone or time_zone or zone_for(moment for moment in starts if moment))
    except ValueError as error:
        raise DocumentError(str(path), str(error)) from None
    change = sheet.about.get("day_change") or NIGHT_ENDS
    problems = list(sheet.problems)
    talks = [
        talk
        for place, values in sheet.rows
        if (talk := _talk(values, zone, change, problems, f"{path.name}, {place}")) is not None
    ]
    if not talks:
        raise DocumentError(str(path), "holds no session")
    info = _info(path, sheet.about, zone, change, [talk.day for talk in talks if talk.day])
    return Schedule(info, records_of(talks, info), tuple(problems))


def read_table(path: Path, table: Table, *, time_zone: str | None = None) -> TableRead:
    """Read the records of one kind.

    Columns and keys are recognised by common names; see ``data/columns.yaml``.

    Args:
        path: The file: CSV, TSV, JSON, JSONL or Markdown.
        table: What it holds; speakers are derived from sessions.
        time_zone: The zone of times that name none, where sessions are read.

    Raises:
        ConfigError: If speakers are asked for.
        DocumentError: If it cannot be read, is damaged, or holds no row with a name.
    """
    if table == Table.SPEAKERS:
        raise ConfigError("speakers are not read from a table: they follow from who gives the sessions")
    if table == Table.SESSIONS:
        schedule = read_schedule(path, time_zone=time_zone)
        return TableRead(schedule.records, schedule.problems)
    rows = read_rows(path, column_names(table))
    sheet = _of_rows(path, rows, table)
    taken: set[str] = set()
    records = tuple(
        _record(table, title, values, taken)
        for place, values in sheet.rows
        if (title := _title(values, f"{path.name}, {place}", sheet.problems))
    )
    return TableRead(records, tuple(sheet.problems))


def several(value: object) -> tuple[str, ...]:
    """The values of a cell that may hold more than one: a JSON array, or text with separators.

    Args:
        value: The cell; text is split at semicolons, bars and line ends, or at commas if it has none of these.
    """
    text = as_text(value)
    split = _SEPARATORS.split(text) if _SEPARATORS.search(text) else text.split(",")
    parts = map(as_text, as_list(value)) if isinstance(value, list) else split
    return tuple(dict.fromkeys(filter(None, map(plain_line, parts))))


def _sheet(path: Path) -> Sheet:
    suffix = path.suffix.lower()
    if suffix == ".xml":
        return pentabarf(path)
    if suffix in (".ics", ".ical", ".ifb"):
        return ical(path)
    if suffix == ".json":
        value = parse_json(path, read_text(path))
        return pretalx(value) if is_pretalx(value) else _of_rows(path, rows_of_json(path, value), Table.SESSIONS)
    return _of_rows(path, read_rows(path, column_names(Table.SESSIONS)), Table.SESSIONS)


def _of_rows(path: Path, rows: Rows, table: Table) -> Sheet:
    """The rows of a table by field; columns that nobody knows go to the log."""
    if unknown := dict.fromkeys(name for _, row in rows.rows for name in unknown_columns(table, row)):
        logger.info("%s: columns that were not used: %s", path.name, ", ".join(unknown))
    given = [(place, row_values(table, row)) for place, row in rows.rows]
    if not any(plain_line(as_text(values.get("title"))) for _, values in given):
        columns = ", ".join(sorted({name for _, row in rows.rows for name in row})) or "none"
        raise DocumentError(str(path), f"no row has a column 'title' or 'name' for {table}; its columns: {columns}")
    about = {name.lower(): value for name, value in rows.about.items()}
    about = {**as_mapping(about.get("conference")), **about}
    said = {name: as_text(about.get(name)) for name in ("title", "venue", "city")}
    said["title"] = said["title"] or as_text(about.get("name"))
    return Sheet(given, said, as_text(about.get("time_zone")), list(rows.problems))


def _info(path: Path, about: Mapping[str, Any], zone: ZoneInfo, change: time, days: list[date]) -> ConferenceInfo:
    """The conference, with what the file does not say taken from its sessions."""
    stated = (date_or_none(as_text(about.get(name))[:10]) for name in ("start", "end"))
    dates = [*days, *filter(None, stated)]
    if not dates:
        raise DocumentError(str(path), "no session has a date; name one for each, for example 2025-02-01")
    named = {name: plain_line(as_text(about.get(name))) for name in ("title", "acronym", "venue", "city")}
    named["title"] = named["title"] or path.stem
    try:
        return ConferenceInfo(**named, start=min(dates), end=max(dates), time_zone=zone.key, day_change=change)
    except ValidationError as error:
        problem = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise DocumentError(str(path), f"the days of the conference are wrong: {problem}") from None


def _title(values: Mapping[str, Any], place: str, problems: list[str]) -> str:
    title = plain_line(as_text(values.get("title")))
    if not title:
        problems.append(f"{place}: has no title or name and was left out")
    return title


def _talk(values: Mapping[str, Any], zone: ZoneInfo, change: time, problems: list[str], place: str) -> Talk | None:
    title = _title(values, place, problems)
    if not title:
        return None
    day, start, end = date_or_none(as_text(values.get("day")).strip()[:10]), None, None
    try:
        day, start = _begin(values, zone, change)
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
        rooms=_one_or_listed(values.get("rooms")),
        tracks=_one_or_listed(values.get("tracks")),
        types=_one_or_listed(values.get("types")),
        languages=several(values.get("languages")),
        start=start,
        end=end,
        day=day,
        url=web_address(as_text(values.get("url"))),
    )


def _begin(values: Mapping[str, Any], zone: ZoneInfo, change: time) -> tuple[date | None, datetime | None]:
    """The day of the conference, and when it begins: ``start`` may hold both, or a time beside a date of its own."""
    given, stated = values.get("start"), as_text(values.get("day")).strip()
    clock = as_text(given).strip()
    moment = given if isinstance(given, datetime) else moment_or_none(clock or stated)
    if moment is None and not clock:
        if given == "":
            raise ValueError("it has no date with a time")
        return (date_of(stated), None) if stated else (None, None)
    if moment is None and stated:
        day, at = date_of(stated), clock_of(clock)
        return day, datetime.combine(day + timedelta(days=1 if at < change else 0), at, zone)
    moment = moment if moment is not None else moment_of(clock)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    local = moment.astimezone(zone)
    return date_or_none(stated) or local.date() - timedelta(days=1 if local.time() < change else 0), moment


def _end(values: Mapping[str, Any], start: datetime) -> datetime | None:
    """When it ends: after ``duration``, or at ``end``, on the next day where the hour is not later."""
    length, end = values.get("duration"), values.get("end")
    if isinstance(length, timedelta):
        return end_after(start, length)
    if said := as_text(length).strip():
        return end_after(start, duration_of(said))
    text = as_text(end).strip()
    moment = end if isinstance(end, datetime) else moment_or_none(text)
    if moment is None:
        if not text:
            return None
        moment = datetime.combine(start.date(), clock_of(text), start.tzinfo)
        moment = moment if moment > start else moment + timedelta(days=1)
    return end_after(start, (moment if moment.tzinfo else moment.replace(tzinfo=start.tzinfo)) - start)


def _persons(value: object) -> tuple[Person, ...]:
    """Who gives it: names, or objects with a name and more."""
    people: dict[str, Person] = {}
    for item in as_list(value) or several(value):
        inside = as_mapping(item) or {"name": item}
        name = plain_line(_first(inside, "public_name", "name", "full_public_name"))
        key = _first(inside, "id", "guid", "code")
        if name:
            biography = plain_text(_first(inside, "biography", "bio", "about"))
            people.setdefault(key or name, Person(name, key, biography, web_address(_first(inside, "url"))))
    return tuple(people.values())


def _first(inside: Mapping[str, Any], *keys: str) -> str:
    return next(filter(None, (as_text(inside.get(key)) for key in keys)), "")


def _one_or_listed(value: object) -> tuple[str, ...]:
    return several(value) if isinstance(value, list) else plain_value(as_text(value))


def _record(table: Table, title: str, values: Mapping[str, Any], taken: set[str]) -> Record:
    """An exhibitor or an attendee."""
    # Exhibitors are cited by their names, which are unique; people are not always.
    own = "" if table is Table.EXHIBITORS else plain_line(as_text(values.get("key"))) or slug(title)
    key = unused_key(own or title, taken)
    topics = several(values.get("topics")) if table is Table.EXHIBITORS else ()
    role = ", ".join(filter(None, (plain_line(as_text(values.get(name))) for name in ("role", "company"))))
    texts = {name: plain_text(as_text(values.get(name))) for name in _TEXTS[table]}
    days = (day.isoformat() for text in several(values.get("days")) if (day := date_or_none(text)))
    return Record(
        id=f"{table.value}:{key}",
        table=table,
        key=key,
        title=title,
        texts=filled({"name": title, "role": role, **texts, "topics": ", ".join(topics)}),
        fields=fields_of(
            {
                "room": plain_value(as_text(values.get("rooms"))),
                "topic": topics,
                "language": several(values.get("languages")),
                "day": tuple(days),
            }
        ),
        url=web_address(as_text(values.get("url"))),
    )
