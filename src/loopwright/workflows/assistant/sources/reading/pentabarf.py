"""Pentabarf or frab XML: the ``schedule.xml`` of FOSDEM, the Chaos Communication Congress, pretalx and others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.sources.reading.facts import (
    NIGHT_ENDS,
    ConferenceFacts,
    info_from,
    zone_name,
)
from loopwright.workflows.assistant.sources.reading.files import read_bytes
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.results import Schedule
from loopwright.workflows.assistant.sources.reading.talks import Person, Talk, records_of
from loopwright.workflows.assistant.sources.reading.times import (
    clock_of,
    date_or_none,
    duration_of,
    end_after,
    moment_or_none,
)


def read_pentabarf(path: Path, *, time_zone: str | None = None) -> Schedule:
    """Read a schedule.

    Args:
        path: The XML file.
        time_zone: The zone of its times, where it names none.

    Raises:
        DocumentError: If it is no such XML, damaged, or declares entities, which could fetch files or fill the memory.
    """
    root = _parse(path)
    facts = _facts(root.find("conference"))
    first = (moment_or_none(_text(event, "date")) for event in root.iter("event"))
    zone = zone_name(str(path), facts.time_zone, time_zone, [moment for moment in first if moment][:1])
    reader = _Reader(path, ZoneInfo(zone), facts.day_change or NIGHT_ENDS)
    talks = list(reader.talks(root))
    days = [day for element in root.iter("day") if (day := date_or_none(element.get("date", "")))]
    info = info_from(str(path), facts, zone, days, default_title=path.stem)
    return Schedule(info, records_of(talks, info), tuple(reader.problems))


def _parse(path: Path) -> Any:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - a module in C; slow to import

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root: Any = etree.fromstring(read_bytes(path), parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(str(path), f"is no valid XML, line {error.lineno}: {error.msg}") from None
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise DocumentError(str(path), "declares XML entities, which are refused; write its text out")
    if root.tag != "schedule":
        raise DocumentError(str(path), f"its root is <{root.tag}>; a Pentabarf schedule begins with <schedule>")
    return root


def _facts(element: Any) -> ConferenceFacts:
    if element is None:
        return ConferenceFacts()
    change: time | None = None
    with suppress(ValueError):
        change = clock_of(_text(element, "day_change"))
    return ConferenceFacts(
        title=_text(element, "title"),
        acronym=_text(element, "acronym"),
        venue=_text(element, "venue"),
        city=_text(element, "city"),
        start=date_or_none(_text(element, "start")),
        end=date_or_none(_text(element, "end")),
        time_zone=_text(element, "time_zone_name"),
        day_change=change,
    )


class _Reader:
    """Reads the events of one file, and notes what is wrong with them."""

    def __init__(self, path: Path, zone: ZoneInfo, day_change: time) -> None:
        self.problems: list[str] = []
        self._path = path
        self._zone = zone
        self._day_change = day_change

    def talks(self, root: Any) -> Iterator[Talk]:
        for day in root.iter("day"):
            date = date_or_none(day.get("date", ""))
            for room in day.iter("room"):
                # An event names its room in an element of the same name.
                for event in room.iterchildren("event"):
                    if talk := self._talk(event, date, room.get("name", "")):
                        yield talk

    def _talk(self, event: Any, day: date | None, room: str) -> Talk | None:
        title = plain_line(_text(event, "title"))
        if not title:
            self._note(event, "has no title and was left out")
            return None
        start, end = self._times(event, day, title)
        return Talk(
            key=event.get("id") or event.get("guid") or "",
            title=title,
            subtitle=plain_line(_text(event, "subtitle")),
            abstract=plain_text(_text(event, "abstract")),
            description=plain_text(_text(event, "description")),
            persons=tuple(_persons(event)),
            rooms=plain_value(_text(event, "room") or room),
            tracks=plain_value(_text(event, "track")),
            types=plain_value(_text(event, "type")),
            languages=plain_value(_text(event, "language")),
            start=start,
            end=end,
            day=day,
            url=web_address(_text(event, "url")),
        )

    def _times(self, event: Any, day: date | None, title: str) -> tuple[datetime | None, datetime | None]:
        start = moment_or_none(_text(event, "date"))
        try:
            if start is None and day is not None:
                clock = clock_of(_text(event, "start"))
                night = timedelta(days=1 if clock < self._day_change else 0)
                start = datetime.combine(day + night, clock)
        except ValueError as error:
            self._note(event, f"{title!r}: {error}; it was kept without a time")
        if start is None:
            return None, None
        start = start if start.tzinfo else start.replace(tzinfo=self._zone)
        length = _text(event, "duration")
        try:
            return start, end_after(start, duration_of(length)) if length else None
        except ValueError as error:
            self._note(event, f"{title!r}: {error}; it was kept without an end")
            return start, None

    def _note(self, event: Any, problem: str) -> None:
        self.problems.append(f"{self._path.name}, line {event.sourceline}: {problem}")


def _persons(event: Any) -> Iterator[Person]:
    for element in event.iterfind("persons/person"):
        # Some exports put the name in an element of its own, beside the biography.
        name = plain_line(element.get("name") or _text(element, "name") or "".join(element.xpath("text()")))
        if name:
            yield Person(
                name=name,
                key=element.get("id") or element.get("guid") or element.get("code") or "",
                biography=plain_text(_text(element, "biography")),
                url=web_address(element.get("url") or _text(element, "url")),
            )


def _text(element: Any, tag: str) -> str:
    child = element.find(tag)
    if child is None:
        return ""
    # XHTML that is not escaped is text as well.
    return (child.text if len(child) == 0 else "".join(child.itertext())) or ""
