"""The files that hold nothing but a schedule, Pentabarf or frab XML and iCal, each as rows by field."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, cast

from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources.info import zone_of
from loopwright.workflows.assistant.sources.reading import columns
from loopwright.workflows.assistant.sources.reading.files import read_text
from loopwright.workflows.assistant.sources.reading.markup import plain_line
from loopwright.workflows.assistant.sources.reading.times import YEARS, clock_of, moment_or_none
from loopwright.workflows.files import Source


@dataclass(slots=True)
class Sheet:
    """A schedule as its file has it."""

    rows: list[tuple[str, dict[str, Any]]]
    """Of each session its place in words, for messages, and its values by the fields of ``data/columns.yaml``; ``day``,
    ``start``, ``end`` and ``duration`` as texts or values of their own."""
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the file says of the conference, by the fields of `ConferenceInfo`."""
    time_zone: str = ""
    """The zone that the file names; may be empty."""
    problems: list[str] = field(default_factory=list[str])
    """What had to be left out."""


def pentabarf(source: Source) -> Sheet:
    """The ``schedule.xml`` of FOSDEM, the Chaos Communication Congress, pretalx and others.

    Raises:
        DocumentError: If it is no such XML, damaged, or declares entities, which could fetch files or fill the memory.
    """
    root = _xml(source)
    conference = root.find("conference")
    about: dict[str, Any] = {
        name: _inside(conference, name) for name in ("title", "acronym", "venue", "city", "start", "end")
    }
    with suppress(ValueError):
        about["day_change"] = clock_of(_inside(conference, "day_change"))
    rows: list[tuple[str, dict[str, Any]]] = []
    for day in root.iter("day"):
        for room in day.iter("room"):
            # An event names its room in an element of the same name.
            for event in room.iterchildren("event"):
                values = columns.row_values(Table.SESSIONS, {child.tag: _inside(event, child.tag) for child in event})
                stated = _inside(event, "date")
                values |= {
                    "key": event.get("id") or event.get("guid") or "",
                    "speakers": [_person(person) for person in event.iterfind("persons/person")],
                    "rooms": _inside(event, "room") or room.get("name", ""),
                    "day": day.get("date", ""),
                    "start": stated if moment_or_none(stated) else _inside(event, "start"),
                }
                rows.append((f"line {event.sourceline}", values))
    return Sheet(rows, about, _inside(conference, "time_zone_name"))


def _xml(source: Source) -> Any:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - a module in C; slow to import

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root: Any = etree.fromstring(source.data(source.limits.text_bytes), parser)
    except etree.XMLSyntaxError as error:
        raise source.error(f"is no valid XML, line {error.lineno}: {error.msg}") from None
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise source.error("declares XML entities, which are refused; write its text out")
    if root.tag != "schedule":
        raise source.error(f"its root is <{root.tag}>; a Pentabarf schedule begins with <schedule>")
    return root


def _inside(element: Any, tag: str) -> str:
    child = element.find(tag) if element is not None else None
    if child is None:
        return ""
    # XHTML that is not escaped is text as well.
    return (child.text if len(child) == 0 else "".join(child.itertext())) or ""


def _person(element: Any) -> dict[str, Any]:
    # Some exports put the name in an element of its own, beside the biography.
    named = element.get("name") or _inside(element, "name") or "".join(element.xpath("text()"))
    own = {"biography": _inside(element, "biography"), "url": _inside(element, "url")}
    return {**own, **dict(element.attrib), "name": named}


def ical(source: Source) -> Sheet:
    """The ``.ics`` export of nearly every calendar: a VEVENT is a session, given by its attendees or its organizer.

    Raises:
        DocumentError: If it is no iCal, or damaged.
    """
    calendar, named = _calendar(source, read_text(source)), source.path.name
    sheet = Sheet([], {"title": _text(calendar, "X-WR-CALNAME") or _text(calendar, "NAME")}, _zone_name(calendar))
    hosts = [frozenset(_named(event, "ORGANIZER")) for event in calendar.walk("VEVENT")]
    office = len(hosts) > 1 and len({*hosts}) == 1  # who sends all invitations gives no session
    for event in calendar.walk("VEVENT"):
        title, key = plain_line(_text(event, "SUMMARY")), _text(event, "UID")
        unread = (str(said) for name, said in event.errors if name is None)
        sheet.problems += [f"{named}: event {key!r}: a line was left out: {said}" for said in unread]
        if event.get("RRULE") is not None:
            sheet.problems.append(f"{named}: {title!r} repeats; only its first time was read")
        start, end = _value(event, "DTSTART"), _value(event, "DTEND")
        timed = isinstance(start, datetime) and start.year in YEARS
        off = "DELETED" if "RECURRENCE-ID" in event else "CANCELLED"  # one time of several, and the others are on
        host = [] if office else _named(event, "ORGANIZER")
        groups = (getattr(group, "cats", ()) for group in _properties(event, "CATEGORIES"))
        values = {
            "key": key.partition("@")[0],
            "title": title,
            "abstract": _text(event, "DESCRIPTION"),
            "speakers": [{"name": name} for name in _named(event, "ATTENDEE") or host],
            "rooms": _text(event, "LOCATION"),
            "tracks": [str(category) for group in groups for category in group],
            "languages": next((str(each.params.get("LANGUAGE", "")) for each in _properties(event, "SUMMARY")), ""),
            "start": start if timed else "",
            "end": end if isinstance(end, datetime) and end.year in YEARS else "",
            "duration": _value(event, "DURATION") or "",
            "url": _text(event, "URL"),
            "status": _text(event, "STATUS").replace("CANCELLED", off),
        }
        if isinstance(start, date) and not isinstance(start, datetime) and start.year in YEARS:
            values |= {"day": start.isoformat(), "start": None}
            if isinstance(end, date) and not isinstance(end, datetime) and end <= start + timedelta(days=30):
                values["last_day"] = end - timedelta(days=1)
        sheet.rows.append((f"event {key!r}", values))
    return sheet


def _calendar(source: Source, text: str) -> Any:
    from icalendar import Calendar

    lines = text.strip().split("\n")
    if lines[0].strip().upper() != "BEGIN:VCALENDAR":
        raise source.error("is no iCal, line 1: it must begin with BEGIN:VCALENDAR")
    if lines[-1].strip().upper() != "END:VCALENDAR":
        raise source.error(f"is cut off at line {len(lines)}: it must end with END:VCALENDAR")
    try:
        return Calendar.from_ical(text)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        # The library takes a component whose name is damaged for one of its own.
        raise source.error(f"is no valid iCal: {error}") from None


def _zone_name(calendar: Any) -> str:
    """The zone that the calendar names itself, or that of its only time zone component."""
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    parts = (_text(part, "TZID") for part in calendar.walk("VTIMEZONE"))
    for name in (_text(calendar, "X-WR-TIMEZONE"), *parts, *(str(each).strip() for each in calendar.values())):
        with suppress(ValueError):  # a name of its own, whose rules stand in the file
            return zone_of(WINDOWS_TO_OLSON.get(name, name)).key
    return ""


def _named(event: Any, name: str) -> list[str]:
    """Who is named by a property, but for rooms that are invited."""
    invited = (each.params for each in _properties(event, name))
    people = (each for each in invited if str(each.get("CUTYPE", "")).upper() not in ("ROOM", "RESOURCE"))
    names = (each.get("CN", "") for each in people)  # of several with commas between them, a tuple
    return [name.strip() for each in names for name in ([each] if isinstance(each, str) else each) if name.strip()]


def _properties(component: Any, name: str) -> list[Any]:
    """The values of a property that may come several times, without those that could not be parsed."""
    from icalendar import vBroken

    value = component.get(name)
    values = cast(list[Any], value) if isinstance(value, list) else [value]
    return [value for value in values if value is not None and not isinstance(value, vBroken)]


def _text(component: Any, name: str) -> str:
    return next((str(value) for value in _properties(component, name)), "")


def _value(event: Any, name: str) -> Any:
    return next((getattr(value, "dt", None) for value in _properties(event, name)), None)
