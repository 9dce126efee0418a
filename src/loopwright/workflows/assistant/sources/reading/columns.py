"""Which column of a table holds what: told by its name, see ``data/columns.yaml``, else by its values.

A schedule in another language, or with names of its own, is read by what its columns hold: rooms are what no two
sessions have at the same time.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import Any

from pydantic import TypeAdapter

from loopwright.config import shipped
from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.sources import info
from loopwright.workflows.assistant.sources.reading import times
from loopwright.workflows.assistant.sources.reading.files import as_text

_SIGNS = re.compile(r"[\W_]+")
_NAME = re.compile(r"(?:[^\W\d_]['’.\w-]* ){1,3}[^\W\d_][\w'’.-]*")
_SEVERAL = re.compile(r"[;|,]")
OUTSIDE = r"(?![^()]*\))"
"""Behind a sign: not within brackets, as in "Ada Lovelace (Analytical Engines, London)"."""
_BETWEEN = re.compile(rf"\s*(?:[;|\n,&]|\band\b|\bund\b|\bet\b|\by\b){OUTSIDE}\s*")
WHEN = ("day", "days", "start", "end", "end_day")
_LISTS = ("speakers", "tags", "topics", "languages")
"""What several columns may tell together."""
_HEADS = ("title", "speakers", "rooms", "start", "end")
"""What the last word of a column's name tells, where the whole says nothing."""
_SAID_BY = {"end": "duration", "description": "abstract", "abstract": "description"}
"""What need not be told where another field says it."""
FEW = 3
"""So many values at least tell what a column holds."""
MOST = 0.9
"""Of so many values at least must hold what is said of a column: organisers slip, too."""
_LONGEST = timedelta(hours=6)
"""A session hardly takes longer; what begins earlier in the day is hardly one."""
_TITLE, _TEXT, _SHORT = range(6, 120), 60, 40
"""Characters of a title, at least of a text, and at most of the name of a room or track, on the average."""
_YES, _NO = frozenset("y yes true x 1 j ja oui si sí ✓".split()), frozenset(" n no false 0 - nein non nee".split(" "))
"""How a cell says that something holds of its row, or does not."""
_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*$")

Column = Sequence[str]
"""The values of a column, a row's each; empty where it has none."""


def row_values(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says: field -> value, for the fields that it fills."""
    by_name: dict[str, Any] = {}
    lists = {name for field in _LISTS for name in _fields()[table].get(field, ())}
    for column, value in row.items():
        name = _name(column, table)
        if value not in (None, "", []) and (name in lists or name not in by_name):  # "startTime" beside "start_time"
            by_name[name] = f"{as_text(by_name[name])}; {as_text(value)}" if name in by_name else value
    found: dict[str, Any] = {}
    for field, names in _fields()[table].items():
        chosen = next((name for name in names if name in by_name), None)
        if chosen is not None:
            found[field] = by_name.pop(chosen)
    return found


def said_of_some(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[bool]]:
    """The columns that say something of some sessions, as "Livestream", and of which rows: some say yes, others no."""
    shown = [name for name in names if _name(name, Table.SESSIONS) not in _fields()[Table.SESSIONS]["ignored"]]
    cells = {name: [str(row.get(name) or "").strip().casefold() for row in rows] for name in shown}
    both = [name for name in cells if {*cells[name]} <= _YES | _NO and not _YES.isdisjoint(cells[name])]
    # A column of 1 and nothing counts something.
    flags = [name for name in both if not _NO.isdisjoint(cells[name]) and {*cells[name]} != {"1", ""}]
    return {name: [cell in _YES for cell in cells[name]] for name in flags if len(rows) >= FEW}


def told_by_values(table: Table, rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """The columns whose values tell what they hold, by the name that says so; and those that nobody uses."""
    names = dict.fromkeys(name for row in rows for name in row if name)
    columns = {name: [as_text(row.get(name)).strip() for row in rows] for name in names}
    fields = {name: field for field, known in _fields()[table].items() for name in known}
    held = {name: fields.get(_name(name, table), "") for name in names}
    known = _fields()[table]["title"]
    titles = sorted((name for name in held if held[name] == "title"), key=lambda name: known.index(_name(name, table)))
    for name in titles[1:]:  # beside "Talk title" a "Name" is that of somebody
        if any(map(all, zip(columns[titles[0]], columns[name], strict=True))):
            held[name] = ""
    found: dict[str, str] = {}
    for name in names:  # "Duration (min)"; but beside "Speakers" a "Speaker (company)" is none, and texts tell by value
        plain = _name(_BRACKETS.sub("", name), table)
        head = fields.get(plain.split(" ")[-1], "")  # "Film title", "Event location"
        field = fields.get(plain, head if head in _HEADS else "")
        told = ("", "abstract", "description", *held.values())
        if field not in told and not held[name] and "mail" not in name.lower():
            held[name], found[name] = field, _fields()[table][field][0]
    for name, field in held.items():
        # "Tag" is a day in German.
        if field and field not in WHEN and _share(columns[name], _is_date):
            held[name] = ""
    for field, fits in _tests(columns, held).items():
        started = [columns[name] for name, of in held.items() if of == "start"]
        # What somebody who comes lives in is no name of theirs, and when a talk was sent in not its day.
        kept = table is not Table.SESSIONS and field in ("title", "description")
        kept |= field == "day" and any(_share(values, times.moment_or_none) for values in started)
        if kept or field not in _fields()[table] or {field, _SAID_BY.get(field)} & {*held.values()}:
            continue
        fitting = ((fits(columns[name]), -place, name) for place, name in enumerate(held) if not held[name])
        surest, _, chosen = max(fitting, default=(0, 0, ""))
        if surest:
            held[chosen], found[chosen] = field, _fields()[table][field][0]
    return found, [name for name, field in held.items() if field in ("", "ignored")]


def _tests(columns: Mapping[str, Column], held: Mapping[str, str]) -> dict[str, Callable[[Column], float]]:
    """Field -> how surely a column holds it, in the order in which they are told: the plainest first."""

    def no_two_at_once(values: Column) -> float:
        at = [*zip(*(columns[name] for name, field in held.items() if field in ("day", "start")), strict=True)]
        beside = Counter(at)
        several = [(moment, value) for moment, value in zip(at, values, strict=False) if value and beside[moment] > 1]
        alone = len({*several}) >= MOST * len(several) and len(several) > FEW
        return _repeats(values, least=1) if alone else 0

    def ends(values: Column) -> float:
        start = next((columns[name] for name, field in held.items() if field == "start"), values)
        both = [(_time(one), _time(other)) for one, other in zip(start, values, strict=True) if one and other]
        later = [one < other for one, other in both if type(one) is type(other) and one and other]
        return _share(values, _time) if sum(later) >= MOST * len(both) else 0

    return {
        "day": lambda values: _share(values, _is_date),
        "duration": lambda values: _share(values, _is_length),
        "start": lambda values: _share(values, _time),
        "end": ends,
        "url": lambda values: _share(values, lambda value: value.startswith(("http://", "https://", "www."))),
        "languages": lambda values: _share(values, lambda value: {fold(value), info.code_of(value)} & _LANGUAGES),
        "description": lambda values: _length(values) if _length(values) >= _TEXT else 0,
        # "Great Hall" looks like a name, too, but there are few of them.
        "speakers": lambda values: 3 * len({*values}) > sum(map(bool, values)) and _share(values, _are_names),
        "title": _titles,
        "rooms": no_two_at_once,
        "types": _repeats,
        "tracks": _repeats,
        "topics": _repeats,
        "tags": lambda values: 2 * sum(map(bool, map(_SEVERAL.search, values))) > sum(map(bool, values)),
        "abstract": _phrases,
    }


_LANGUAGES = {*info.NAMES, *info.CODES} - {"no"}


def _share(values: Column, holds: Callable[[str], object]) -> float:
    """Of how many of the values it holds, if of nearly all; the others are soon known, since reading dates is slow."""
    given = [value for value in values if value]
    most = int((1 - MOST) * len(given)) + 2  # one too many, however the product is rounded
    others = len([*islice((value for value in given if not holds(value)), most)])
    share = (len(given) - others) / len(given) if len(given) >= FEW else 0
    return share if share >= MOST else 0


def _is_date(value: str) -> bool:
    value = value if len(value) < _TEXT else value[:10]  # reading dates is slow, and a text none
    if moment := times.moment_or_none(value):  # at midnight: a spreadsheet's way of writing a day
        return not (moment.hour or moment.minute)
    return bool(times.NUMBERED.fullmatch(value) or times.date_or_none(value) or times.date_or_none(value[:10]))


def _time(value: str) -> Any:
    """The moment or the time of day that a value says; None if it says none."""
    value, *_ = times.range_of(value) or [value]
    with suppress(ValueError):  # reading dates is slow, and a text none
        return None if len(value) > _TEXT or value.isdigit() else times.moment_or_none(value) or times.clock_of(value)
    return None


def _is_length(value: str) -> bool:
    """Whether a value says how long something takes; a number alone may count anything."""
    with suppress(ValueError):
        return not value.isdigit() and times.duration_of(value) <= _LONGEST
    return False


def _are_names(value: str) -> bool:
    named = [part.split() for part in _BETWEEN.split(value) if _NAME.fullmatch(part)] or [["-"]]
    return all(each[0][0].isupper() and each[-1][0].isupper() for each in named)


def names_in(text: str) -> list[str]:
    """The persons that a text joins, as in "Ada Lovelace and Grace Hopper"; the text itself where a part is no name."""
    parts = [*filter(None, _BETWEEN.split(text))]
    return parts if all(map(_NAME.fullmatch, parts)) else [text]


def _titles(values: Column) -> bool:
    several = 2 * sum(" " in value for value in values) > len(values)
    return several and int(_length(values)) in _TITLE and len({*values}) >= MOST * len(values)


def _repeats(values: Column, least: int = 3) -> int:
    """How many values are given, where there are few: breaks have a room and a type, too, but seldom a track.

    Numbers and a "yes" or "no" are no names of kinds, of which there are at least so many.
    """
    given = [fold(value) for value in values if value]
    few = len(given) > FEW and least <= len({*given}) <= len(given) / 2 and _length(values) < _SHORT
    named = least == 1 or _share(values, lambda value: any(map(str.isalpha, value)))
    return len(given) if few and named else 0


def _phrases(values: Column) -> float:
    """How long texts are, short ones too, that are no two the same, and for most rows of several words."""
    given = [*filter(None, values)]
    several = 2 * sum(len(re.findall(r"[^\W\d_]{2,}", value)) > 2 for value in given) > max(FEW, len(values))
    return _length(given) if several and len({*given}) >= MOST * len(given) else 0


def _length(values: Column) -> float:
    given = [len(value) for value in values if value]
    return sum(given) / len(given) if given else 0


def _name(column: str, table: Table) -> str:
    """A column's name as it is compared: folded, with blanks for signs; that of "Speaker 2" is "speaker"."""
    name = _SIGNS.sub(" ", fold(re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", column))).strip()
    stem = name.rstrip(" 0123456789")
    return stem if any(stem in _fields()[table].get(field, ()) for field in _LISTS) else name


@cache
def _fields() -> dict[Table, dict[str, tuple[str, ...]]]:
    listed = shipped("loopwright.workflows.assistant", "data/columns.yaml")
    return TypeAdapter(dict[Table, dict[str, tuple[str, ...]]]).validate_python(listed)
