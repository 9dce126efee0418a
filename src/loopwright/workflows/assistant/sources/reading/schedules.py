"""A schedule, or a table of exhibitors or attendees, from whatever file an organiser has, as records."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from pydantic import ValidationError

from loopwright.errors import DocumentError, own_words
from loopwright.retrieval.text import fold
from loopwright.retrieval.web.cleaning import collapse
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import NIGHT_ENDS, ConferenceInfo, zone_of
from loopwright.workflows.assistant.sources.reading import columns, files, times
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, web_address
from loopwright.workflows.files import ReadingProblem, Source

logger = logging.getLogger("loopwright.assistant")

_SEPARATORS, _COMMA = (re.compile(signs + columns.OUTSIDE) for signs in (r"[;|\n]", ","))
_NOTHING = frozenset("na NA n/a N/A nan NaN null NULL none None NONE".split())
"""What programs write into a cell that holds nothing; people have the names Na and Null."""
_MOST_KEY = 200
_TITLES = re.compile(r"^(?:(?:prof(?:essor)?|dr|dipl|ing)\b(?:\.?-ing)?[.\s]+)+(?=\w+\W+\w)")
_NOT_A_WORD = re.compile(r"[\W_]+")
# What would end or split the mark that cites a record.
_NOT_IN_KEYS = str.maketrans("[]【】", "()()")
_OFF = re.compile(
    r"\W*(?:(cancell?ed|cancelad[ao]|abgesagt|ann?ul\w+|geannuleerd|afgelast)|rejected|declined|withdrawn"
    r"|deleted(?! \w))\b"
)
"""How the status of a session begins that does not take place; the first group is of one that was to take place."""
_YES = re.compile(r"\W*(y|yes|true|1|x|ja?|oui|si)\b(?!-)")
_WORD = r"[^\W\d_a-z][\w'’-]*"
_FAMILY_FIRST = re.compile(
    r"^\s*((?:(?i:v[ao]n|de[nrls]?|l[ae]|d[aiou]s?|te[nr]?|zu[mr]?|el|al|bin) )*"
    rf"{_WORD})\s*,\s*({_WORD}(?: {_WORD}\.?)?)\s*$"
)
"""A person whose family is named first: "Lovelace, Ada"."""
_TEXTS: dict[Table, tuple[str, ...]] = {
    Table.EXHIBITORS: ("description", "offering", "seeking", "news"),
    Table.ATTENDEES: ("about", "interests", "seeking", "offering"),
}
"""What a row of each table says in texts of its own."""


class Read(NamedTuple):
    """What a file holds: a conference and its programme, or its exhibitors, or its attendees."""

    records: tuple[Record, ...]
    """The records in order of the file, the speakers after the sessions."""
    problems: tuple[str, ...]
    """What had to be left out or could not be understood, one sentence each, with its place."""
    info: ConferenceInfo | None = None
    """The conference, of a schedule."""


class _Person(NamedTuple):
    """Somebody who gives a session: the name, what identifies the person in the file, the biography and the page."""

    name: str
    key: str
    biography: str
    url: str


@dataclass(slots=True)
class _Known:
    """What is known while a schedule is read."""

    zone: ZoneInfo
    change: time
    problems: list[str]
    keys: set[str] = field(default_factory=set[str])
    days: list[date] = field(default_factory=list[date])
    people: dict[tuple[str, str], tuple[str, _Person, list[Record]]] = field(
        default_factory=dict[tuple[str, str], tuple[str, _Person, list[Record]]]
    )
    """What identifies a person -> the key, what is known, and the sessions."""
    people_keys: set[str] = field(default_factory=set[str])


def read_schedule(path: Path, *, time_zone: str | None = None) -> Read:
    """Read a conference, its sessions, and the speakers who follow from them.

    The file is XML or JSON, as of pretalx and frab, iCal, or a table as CSV, TSV, JSONL, Markdown or HTML; its ending
    tells which. The time zone is that of times without one, where the file names none that is known.

    Raises:
        DocumentError: If it cannot be read, is damaged, or holds no session with a date.
    """
    rows, about, problems = _read(path, Table.SESSIONS)
    given = [values.get(name) for _, values in rows for name in ("start", "day")]
    # A time that ends in "Z" is one of any zone, while "+00:00" is London's in winter.
    starts = (times.moment_or_none(files.as_text(at).rstrip("zZ ")) for at in given)
    try:
        stated = about["time_zone"] if about["time_zone"] in available_timezones() else ""  # "CEST" is none
        named = stated or time_zone or times.zone_for(filter(None, starts))
        if not named:
            logger.warning("%s: nothing names a time zone that is known; its times are read as UTC", path.name)
        zone = zone_of(named or "UTC")
    except ValueError as error:
        raise DocumentError(str(path), str(error)) from None
    change = time(NIGHT_ENDS)
    with suppress(ValueError):
        change = times.clock_of(about["day_change"])
    read = _Known(zone, change, problems)
    sessions = [*filter(None, (_session(values, read, f"{path.name}, {place}") for place, values in rows))]
    if all(each.values("status") for each in sessions):  # none but cancelled ones
        raise DocumentError(str(path), "holds no session")
    speakers = (_speaker(*known) for known in read.people.values())
    return Read((*sessions, *speakers), tuple(read.problems), _info(path, about, read))


def read_table(path: Path, table: Table) -> Read:
    """Read exhibitors or attendees from any of these but iCal, by the names in ``data/columns.yaml``.

    Raises:
        DocumentError: If it cannot be read, is damaged, or holds no row with a name.
    """
    rows, _, problems = _read(path, table)
    taken: set[str] = set()
    titled = ((_title(values, f"{path.name}, {place}", problems), values) for place, values in rows)
    records = tuple(_record(table, title, values, taken) for title, values in titled if title)
    return Read(records, tuple(problems))


def several(value: object) -> tuple[str, ...]:
    """The values of a cell that may hold more than one: a JSON array, or text with separators.

    A text is split at semicolons, bars and line ends, or at commas if it has none of these.
    """
    text = files.as_text(value)
    split = _SEPARATORS.split(text) if _SEPARATORS.search(text) else _COMMA.split(text)
    parts = map(files.as_text, files.as_list(value)) if isinstance(value, list) else split
    return tuple(dict.fromkeys(filter(None, map(plain_line, parts))))


def _read(path: Path, table: Table) -> tuple[list[files.Row], dict[str, str], list[str]]:
    """The rows of a file by field, what it says of the conference, and what had to be left out."""
    problems: list[str] = []

    def told(problem: ReadingProblem) -> None:
        named, _, key = problem.error.source.rpartition("#")
        place = f"line {key}" if key.isdigit() else key
        said = str(problem.error).removeprefix(f"{problem.error.source}: ")
        problems.append(f"{Path(named).name}, {place}: {said}{'; it was left out' * problem.left_out}")

    source = Source(path=path, on_problem=told)
    try:
        rows, beside = files.read_rows(source, table, lambda row: columns.row_values(table, row))
        given = _by_field(source, rows, beside, table)
    except OSError as error:
        raise source.error(f"cannot be read: {error.strerror or error}") from None
    if not given and problems:
        raise source.error(f"holds nothing that can be read: {problems[0]}")
    return given, _said(beside), problems


def _refer(rows: list[files.Row], beside: Mapping[str, Any]) -> None:
    """Put what ids refer to in other lists of the file in their place, as "speakers" and "roomId" do."""
    for name, listed in beside.items():
        objects = map(files.as_mapping, files.as_list(listed))
        known = {key: each for each in objects if (key := files.as_text(each.get("id")))}
        for row in (row for _, row in rows if known):
            for column, value in row.items():
                given: list[Any] = files.as_list(value) or [value]
                named = column.lower().startswith(name.lower().removesuffix("s"))
                if named and any(files.as_text(each) in known for each in given):
                    row[column] = [known.get(files.as_text(each), each) for each in given]


def _by_field(source: Source, rows: list[files.Row], beside: Mapping[str, Any], table: Table) -> list[files.Row]:
    """The rows of a table by field; columns whose names say nothing go to the log, with what was made of them."""
    for _, row in rows:
        row |= {name: "" for name, value in row.items() if str(value).strip() in _NOTHING}
    _refer(rows, beside)
    told, unknown = columns.told_by_values(table, [row for _, row in rows])
    flags = columns.said_of_some(unknown, [row for _, row in rows]) if table is Table.SESSIONS else {}
    unknown = [name for name in unknown if name not in flags]
    if used := told | dict.fromkeys(flags, "tag"):
        said = ", ".join(f"{plain_line(name)} as {field}" for name, field in used.items())
        logger.warning("%s: columns that were read by what they hold: %s", source.path.name, said)
    if unknown:
        logger.warning("%s: columns that were not used: %s", source.path.name, ", ".join(map(plain_line, unknown)))
    named = [(place, {told.get(name, name): value for name, value in row.items()}) for place, row in rows]
    given = [(place, columns.row_values(table, row)) for place, row in named]
    for place, (_, values) in enumerate(given if flags else ()):
        tags = (files.as_text(values.get("tags")), *(name for name, holds in flags.items() if holds[place]))
        values["tags"] = "; ".join(filter(None, tags))
    for _, values in given:
        _find_end(values)
    cells = [(each, _SEPARATORS.split(text)) for _, each in given if isinstance(text := each.get("speakers"), str)]
    people = [name for _, names in cells for name in names if name.strip()]
    # Where nearly all persons are "Lovelace, Ada", no cell has two of them.
    if max(columns.FEW, columns.MOST * len(people)) <= sum(map(bool, map(_FAMILY_FIRST.match, people))):
        for each, names in cells:
            each["speakers"] = "; ".join(_FAMILY_FIRST.sub(r"\2 \1", name) for name in names)
    dates = times.with_years_first(files.as_text(values.get(name)) for _, values in given for name in columns.WHEN)
    for _, values in given:
        values |= {name: dates[text] for name in columns.WHEN if (text := files.as_text(values.get(name))) in dates}
    if given and not any(_line(values, "title") for _, values in given):
        there = ", ".join(sorted({name for _, row in rows for name in row}))
        raise source.error(f"no row has a column 'title' or 'name' for {table}; its columns: {there}")
    return given


def _said(beside: Mapping[str, Any]) -> dict[str, str]:
    """What a file says of the conference, by the fields of `ConferenceInfo`; empty where it says nothing."""
    about = {_NOT_A_WORD.sub("", name.lower()): value for name, value in beside.items()}
    others = {"title": ("name",), "time_zone": ("timezone", "timezonename", "tz"), "day_change": ("daychange",)}
    names = ("title", "acronym", "venue", "city", "start", "end", "time_zone", "day_change")
    return {name: _first(about, name, *others.get(name, ())) for name in names}


def _find_end(values: dict[str, Any]) -> None:
    """Part what says from when until when, and put the day of an end before its time."""
    held = "start" if values.get("start") else "day"
    if "end" not in values and (both := times.range_of(files.as_text(values.get(held)))):
        values[held], values["end"] = both
    if last := files.as_text(values.pop("end_day", "")).strip():
        clock = files.as_text(values.get("end")).strip()
        timed = clock and not times.moment_or_none(clock)
        values |= {"end": f"{last} {clock}"} if timed else {"last_day": times.date_or_none(last)}


def _info(path: Path, about: Mapping[str, str], read: _Known) -> ConferenceInfo:
    """The conference, with what the file does not say taken from its sessions."""
    stated = (times.date_or_none(about[name][:10]) for name in ("start", "end"))
    dates = [*read.days, *filter(None, stated)]
    if not dates:
        why = "no session has a date that can be read; name one for each in a column 'date', for example 2025-02-01"
        unread = (f"; {each.rpartition('; ')[0]}" for each in read.problems if each.endswith("without a time"))
        raise DocumentError(str(path), why + next(unread, ""))
    named = {name: _line(about, name) for name in ("title", "acronym", "venue", "city")}
    named["title"] = named["title"] or path.stem
    try:
        return ConferenceInfo(
            **named, start=min(dates), end=max(dates), time_zone=read.zone.key, day_change=read.change
        )
    except ValidationError as error:
        problem = own_words(error.errors()[0]["msg"])
        raise DocumentError(str(path), f"the days of the conference are wrong: {problem}") from None


def _title(values: Mapping[str, Any], place: str, problems: list[str]) -> str:
    title = _line(values, "title")
    if not title:
        problems.append(f"{place}: has no title or name and was left out")
    return title


def _session(values: Mapping[str, Any], read: _Known, place: str) -> Record | None:
    title = _title(values, place, read.problems)
    if not title:
        return None
    status, off = (fold(str(values.get(name, ""))) for name in ("status", "cancelled"))
    said = next(filter(None, map(_OFF.match, (status, off))), None)
    if said and not said[1]:  # what was only proposed is nobody's business
        read.problems.append(f"{place}: {title!r} is {said.string} and was left out")
        return None
    key = _unused(_line(values, "key") or _slug(title), read.keys)
    if said or _YES.match(off):
        read.problems.append(f"{place}: {title!r} is {said.string if said else 'cancelled'}; its name alone was kept")
        # Who asks for it is told; it is on no day, in no room, of no kind, and nobody gives it.
        values, title = dict[str, Any](off=True), f"Cancelled: {title}"
    stated, start, end = files.as_text(values.get("day") or values.get("start")).strip(), None, None
    day = times.date_or_none(stated) or times.date_or_none(stated[: 0 if stated[10:11].isdigit() else 10])
    try:
        day, start = _begin(values, read.zone, read.change)
        end = _end(values, start) if start else None
    except ValueError as error:
        read.problems.append(f"{place}: {title!r}: {error}; it was kept without {'an end' if start else 'a time'}")
    last = _day_of(end - timedelta.resolution, read.zone, read.change) if end else values.get("last_day")
    more = max(0, (last - day).days) if day and last else 0  # none where it ends no later
    days = [day + timedelta(days=n) for n in range(more + 1)] if day else []
    read.days += days
    people = [_known(person, read) for person in _persons(values.get("speakers"))]
    names = [person.name for _, person, _ in people]
    abstract, description = (plain_text(files.as_text(values.get(name))) for name in ("abstract", "description"))
    tracks = _one_or_listed(values.get("tracks"))
    record = Record(
        **_named(Table.SESSIONS, key, title),
        texts=_filled(
            title=title,
            subtitle=_line(values, "subtitle"),
            abstract=abstract,
            description=description if description != abstract else "",
            track=", ".join(tracks),
            tags=", ".join(several(values.get("tags"))),
            level=_line(values, "level"),
            speakers=", ".join(names),
        ),
        fields=_fields(
            day=[day.isoformat() for day in days],
            room=_one_or_listed(values.get("rooms")),
            track=tracks,
            type=_one_or_listed(values.get("types")),
            language=several(values.get("languages")),
            speaker=names,
            status=["cancelled"] if "off" in values else (),
        ),
        start=start.astimezone(read.zone) if start else None,
        end=end.astimezone(read.zone) if end else None,
        url=web_address(files.as_text(values.get("url"))),
        related=tuple(f"{Table.SPEAKERS.value}:{own}" for own, _, _ in people),
    )
    for _, _, sessions in people:
        sessions.append(record)
    return record


def _begin(values: Mapping[str, Any], zone: ZoneInfo, change: time) -> tuple[date | None, datetime | None]:
    """The day of the conference, and when it begins: ``start`` may hold both, or a time beside a date of its own."""
    clock, stated = (files.as_text(values.get(name)).strip() for name in ("start", "day"))
    moment = times.moment_or_none(clock or stated)
    if moment is None and (whole := times.moment_or_none(stated)) and whole.time() == times.clock_of(clock):
        moment, stated = whole, ""  # "2026-05-09T01:30" beside "01:30"
    if moment is None and not clock:
        return (times.date_of(stated), None) if stated else (None, None)
    if moment is None and stated:
        day, at = times.date_of(stated), times.clock_of(clock)
        return day, datetime.combine(day + timedelta(days=1 if at < change else 0), at, zone)
    moment = moment if moment is not None else times.moment_of(clock)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return times.date_or_none(stated) or _day_of(moment, zone, change), moment


def _day_of(moment: datetime, zone: ZoneInfo, change: time) -> date:
    """The day of the conference that a moment belongs to."""
    local = moment.astimezone(zone)
    return local.date() - timedelta(days=local.time() < change)


def _end(values: Mapping[str, Any], start: datetime) -> datetime | None:
    """When it ends: after ``duration``, or at ``end``, on the next day where the hour is not later."""
    length, text = (files.as_text(values.get(name)).strip() for name in ("duration", "end"))
    if length:
        return times.end_after(start, times.duration_of(length))
    moment = times.moment_or_none(text)
    if moment is None:
        if not text:
            return None
        moment = datetime.combine(start.date(), times.clock_of(text), start.tzinfo)
        moment = moment if moment >= start else moment + timedelta(days=1)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=start.tzinfo)
    if timedelta(hours=-24) < moment - start < timedelta(hours=-12):  # "until 00:15" of the same date is after midnight
        moment += timedelta(days=1)
    return times.end_after(start, moment.astimezone(UTC) - start.astimezone(UTC))  # in a night that skips an hour, too


def _persons(value: object) -> list[_Person]:
    """Who gives it, each once: names, or objects with a name and more."""
    people: dict[tuple[str, str], _Person] = {}
    given = files.as_list(value) or several(value)
    for item in (each for one in given for each in (columns.names_in(one) if isinstance(one, str) else [one])):
        inside = {_NOT_A_WORD.sub("", key.lower()): each for key, each in files.as_mapping(item).items()}
        inside = inside or {"name": item}
        both = " ".join(files.as_text(inside.get(name)) for name in ("firstname", "lastname"))
        name = plain_line(_first(inside, "publicname", "name", "fullpublicname", "fullname") or both).rstrip("*†‡ ")
        biography = plain_text(_first(inside, "biography", "bio", "about"))
        person = _Person(name, _first(inside, "id", "guid", "code"), biography, web_address(_first(inside, "url")))
        if name:
            people.setdefault(_identity(person), person)
    return list(people.values())


def _identity(person: _Person) -> tuple[str, str]:
    return ("key", person.key) if person.key else ("name", _TITLES.sub("", fold(person.name)))


def _known(person: _Person, read: _Known) -> tuple[str, _Person, list[Record]]:
    """A person's key among all of the conference, first name given and sessions; another biography is noted."""
    identity = _identity(person)
    if identity not in read.people:
        read.people[identity] = _unused(person.key or _slug(person.name), read.people_keys), person, []
    key, known, sessions = read.people[identity]
    if person.biography and not known.biography:
        read.people[identity] = key, person._replace(name=known.name), sessions
    return read.people[identity]


def _speaker(key: str, person: _Person, sessions: Sequence[Record]) -> Record:
    tracks = dict.fromkeys(track for session in sessions for track in session.values("track"))
    return Record(
        **_named(Table.SPEAKERS, key, person.name),
        texts=_filled(
            name=person.name,
            biography=person.biography,
            talks="\n".join(dict.fromkeys(session.title for session in sessions)),
            topics=", ".join(tracks),
        ),
        url=person.url,
        related=tuple(session.id for session in sessions),
    )


def _record(table: Table, title: str, values: Mapping[str, Any], taken: set[str]) -> Record:
    """An exhibitor or an attendee."""
    # Exhibitors are cited by their names, which are unique; people are not always.
    own = "" if table is Table.EXHIBITORS else _line(values, "key") or _slug(title)
    key = _unused(own or title, taken)
    topics = several(values.get("topics")) if table is Table.EXHIBITORS else ()
    role = ", ".join(filter(None, (_line(values, name) for name in ("role", "company"))))
    texts = {name: plain_text(files.as_text(values.get(name))) for name in _TEXTS[table]}
    days = [day.isoformat() for text in several(values.get("days")) if (day := times.date_or_none(text))]
    room = _line(values, "rooms")
    return Record(
        **_named(table, key, title),
        texts=_filled(name=title, role=role, **texts, topics=", ".join(topics)),
        fields=_fields(room=(room,) if room else (), topic=topics, language=several(values.get("languages")), day=days),
        url=web_address(files.as_text(values.get("url"))),
    )


def _named(table: Table, key: str, title: str) -> dict[str, Any]:
    return {"id": f"{table.value}:{key}", "table": table, "key": key, "title": title}


def _line(values: Mapping[str, Any], name: str) -> str:
    return plain_line(files.as_text(values.get(name)))


def _first(inside: Mapping[str, Any], *keys: str) -> str:
    return next(filter(None, (files.as_text(inside.get(key)) for key in keys)), "")


def _one_or_listed(value: object) -> tuple[str, ...]:
    return several(value) if isinstance(value, list) else tuple(filter(None, (plain_line(files.as_text(value)),)))


def _slug(text: str) -> str:
    return _NOT_A_WORD.sub("-", fold(text)).strip("-")[:80] or "unnamed"


def _unused(wanted: str, taken: set[str]) -> str:
    """A key that no other record of the table has, and that can stand in the mark that cites it."""
    base = collapse(wanted.translate(_NOT_IN_KEYS))[:_MOST_KEY] or "unnamed"
    key, number = base, 1
    while key in taken:
        number += 1
        key = f"{base}-{number}"
    taken.add(key)
    return key


def _filled(**texts: str) -> dict[str, str]:
    """The facets that say something."""
    return {facet: text for facet, text in texts.items() if text}


def _fields(**fields: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The fields that have values, each value once."""
    return {name: found for name, values in fields.items() if (found := tuple(dict.fromkeys(values)))}
