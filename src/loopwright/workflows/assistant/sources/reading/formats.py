"""The files that hold nothing but a schedule: XML as JSON would have it, and iCal as the rows of a table."""

from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any, cast

from loopwright.workflows.assistant.sources.info import zone_of
from loopwright.workflows.assistant.sources.reading.markup import plain_line
from loopwright.workflows.assistant.sources.reading.times import YEARS
from loopwright.workflows.files import Source, text_of

LINE = ""
"""The key under which the line of an XML element stands among what it holds; no other has it."""
_XHTML = frozenset("a b blockquote br div em h1 h2 h3 h4 i li ol p pre span strong tt u ul".split())
"""Elements that make a text of what is around them, where it was not escaped."""


def xml_value(source: Source) -> Any:
    """The ``schedule.xml`` of FOSDEM, the Chaos Communication Congress, pretalx and others, as JSON would have it.

    Raises:
        DocumentError: If it is no XML, damaged, or declares entities, which could fetch files or fill the memory.
    """
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - a module in C; slow to import

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root: Any = etree.fromstring(source.data(source.limits.text_bytes), parser)
    except etree.XMLSyntaxError as error:
        raise source.error(f"is no valid XML, line {error.lineno}: {error.msg}") from None
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise source.error("declares XML entities, which are refused; write its text out")
    return _value_of(root)


def _value_of(element: Any) -> Any:
    """An element's attributes and elements by name, those that repeat as a list, with its text as ``name``.

    Of one that has no attributes, only its text, or its elements where it is called as several of them: "persons".
    """
    held: dict[str, list[Any]] = {}
    within = [*element.iterchildren("*")]
    for child in within:
        held.setdefault(child.tag.rpartition("}")[2], []).append(child)
    if not _XHTML.isdisjoint(held):
        return "".join(element.itertext())
    beside = (element.text, *(child.tail for child in within))
    text = "".join(filter(None, beside) if within else element.itertext())  # an entity that is not declared, too
    if not (held or element.attrib):
        return text
    if not element.attrib and [f"{name}s" for name in held] == [element.tag.rpartition("}")[2]]:
        return [*map(_value_of, within)]
    several = {name: [*map(_value_of, children)] for name, children in held.items()}
    alone = {name: each if len(each) > 1 else each[0] for name, each in several.items()}
    return {LINE: element.sourceline, **({"name": text} if text.strip() else {}), **element.attrib, **alone}


def ical(source: Source) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, Any]]:
    """The ``.ics`` export of nearly every calendar: a VEVENT is a session, given by its attendees or its organizer.

    Raises:
        DocumentError: If it is no iCal, or damaged.
    """
    calendar = _calendar(source, text_of(source, source.data(source.limits.text_bytes)))
    hosts = [frozenset(_named(event, "ORGANIZER")) for event in calendar.walk("VEVENT")]
    office = len(hosts) > 1 and len({*hosts}) == 1  # who sends all invitations gives no session
    rows: list[tuple[str, dict[str, Any]]] = []
    for event in calendar.walk("VEVENT"):
        title, key = plain_line(_text(event, "SUMMARY")), _text(event, "UID")
        said = [f"a line was left out: {told}" for name, told in event.errors if name is None]
        said += [f"{title!r} repeats; only its first time was read"] if event.get("RRULE") is not None else []
        times = (next(iter(_properties(event, name)), None) for name in ("DTSTART", "DTEND", "DURATION"))
        start, end, length = cast(list[Any], [getattr(value, "dt", None) for value in times])
        if not isinstance(start, date) or start.year not in YEARS:
            start, said = None, [*said, f"{title!r}: it has no date with a time; it was kept without a time"]
        off = "DELETED" if "RECURRENCE-ID" in event else "CANCELLED"  # one time of several, and the others are on
        host = [] if office else _named(event, "ORGANIZER")
        groups = (getattr(group, "cats", ()) for group in _properties(event, "CATEGORIES"))
        whole = not isinstance(start, datetime)
        if start and whole:  # the day of its end is the one after its last
            near = isinstance(end, date) and not isinstance(end, datetime) and end <= start + timedelta(days=30)
            end = end - timedelta(days=1) if near else None
        values = {
            "key": key.partition("@")[0],
            "title": title,
            "abstract": _text(event, "DESCRIPTION"),
            "speakers": [{"name": name} for name in _named(event, "ATTENDEE") or host],
            "rooms": _text(event, "LOCATION"),
            "tracks": [str(category) for group in groups for category in group],
            "languages": next((str(each.params.get("LANGUAGE", "")) for each in _properties(event, "SUMMARY")), ""),
            "day" if whole else "start": _moment(start),
            "end day" if whole else "end": _moment(end),
            "duration": f"{length // timedelta(minutes=1)} min" if isinstance(length, timedelta) else "",
            "url": _text(event, "URL"),
            "status": _text(event, "STATUS").replace("CANCELLED", off),
        }
        rows.append((f"event {key!r}", values))
        for problem in said:
            source.ignored(source.error(problem, key=f"event {key!r}"))
    return rows, {"title": _text(calendar, "X-WR-CALNAME") or _text(calendar, "NAME"), "tz": _zone_name(calendar)}


def _moment(at: object) -> str:
    """A date, or a moment with its offset; one of UTC ends in "Z", as it tells no zone."""
    if isinstance(at, datetime) and str(at.tzinfo) == "UTC":
        return f"{at.replace(tzinfo=None).isoformat()}Z"
    return at.isoformat() if isinstance(at, date) else ""


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
