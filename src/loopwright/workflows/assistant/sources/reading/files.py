"""The rows of a table, whatever file holds it, and the values of JSON."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, cast

from loopwright.workflows.assistant.sources.reading import formats, times
from loopwright.workflows.files import Source, csv_rows, json_lines, json_of, text_of

_CLOCK = re.compile(r"(?i)start|begin|end|time(?!_?zone)|duration")
_NAMED = re.compile("(?i)title|name$")
_PREFERRED = ("en", "name", "title", "label", "value")
_OF_ITSELF = ("", "title")
"""What field names are of that tell of no session, as "speakers" does: "talks" and "stages" hold what they call."""


def as_mapping(value: object) -> dict[str, Any]:
    """A JSON object, or an empty one if the value is none."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A JSON array, or an empty one if the value is none."""
    return cast(list[Any], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The text of a JSON value; of one in several languages the English, of a list its parts.

    Empty for null, true, false, and what has none.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return ", ".join(filter(None, map(as_text, cast(list[object], value))))
    inside = as_mapping(value)
    chosen = [as_text(inside[key]) for key in _PREFERRED if key in inside]
    return next(filter(None, chosen or (item for item in inside.values() if isinstance(item, str))), "")


Row = tuple[str, dict[str, Any]]
"""A row of a table: its place in words, for messages, and its values by column."""
Fields = Callable[[dict[str, Any]], dict[str, Any]]
"""What the fields of a table are by a row's columns."""


def read_rows(source: Source, table: str, fields: Fields) -> tuple[list[Row], dict[str, Any]]:
    """Read the rows of a table, and what stands beside them in a JSON object; rows that cannot be used are told.

    Of several lists in a JSON object one with times is read, called as the table, or whose rows fill most fields.

    Raises:
        DocumentError: If it is damaged as a whole, or is none of these.
    """
    suffix = source.path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return [(f"line {number}", row) for number, row in csv_rows(source)], {}
    if suffix in (".jsonl", ".ndjson"):
        return [*_objects(source, "line", json_lines(source))], {}
    if suffix == ".xml":
        return _of_json(source, formats.xml_value(source), table, fields)
    if suffix in (".ics", ".ical", ".ifb") and table == "sessions":
        return formats.ical(source)
    if suffix not in (".json", ".html", ".htm", ".md", ".markdown"):
        known = f".xml, {'.ics, ' * (table == 'sessions')}.csv, .tsv, .json, .jsonl, .ndjson, .md, .markdown, .html"
        raise source.error(f"has an unknown ending {suffix!r}; known: {known}; save a spreadsheet as CSV")
    text = text_of(source, source.data(source.limits.text_bytes))
    if suffix in (".md", ".markdown"):
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark").enable("table")
        tokens = markdown.parse(text)
        for token in tokens:
            token.attrSet("place", f"line {token.map[0] + 1}" if token.map else "")
        return _tables(source, markdown.renderer.render(tokens, markdown.options, {}), lambda row: row.get("place")), {}
    if suffix == ".json":
        return _of_json(source, json_of(source, text), table, fields)
    return _tables(source, text, lambda row: f"line {row.sourceline}"), {}


def _of_json(source: Source, value: object, table: str, fields: Fields) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a JSON value: the objects, wherever they stand in it, that say most of what a table holds.

    Several lists that are alike, as those of two days, are read as one; what stands beside a list is given, too.
    """
    about = as_mapping(value)

    @cache
    def field_of(name: str) -> str:
        return next(iter(fields({name: "-"})), "")

    # What stands beside the lists tells of the conference, and of no row.
    lists = {name: each for name, each in about.items() if any(map(as_mapping, as_list(each) or [each]))}
    held: dict[str, list[Any]] = {}
    own: dict[str, dict[str, Any]] = {}
    for path, alone, whole in _levels(lists if about else value, "", {}, field_of):
        name = path.rpartition("/")[2]
        if name == "conference":
            about = alone | about
        elif field_of(name) in _OF_ITSELF:  # rooms and speakers are what sessions name
            held.setdefault(path, []).append(whole)
            own.setdefault(path, {}).update((key, each) for key, each in as_mapping(alone).items() if each or each == 0)
    told = {path: fields(values).keys() for path, values in own.items()}
    # What says nothing but when is the list of days or slots that the sessions refer to.
    when = {"key", "title", "subtitle", "day", "start", "end", "duration"} if table == "sessions" else {"key", "title"}
    says = {path: told[path] - when for path in held}
    titled = (path for path in held if "title" in told[path])
    timed = {n for n in titled if any({"day", "start"} & fields(as_mapping(whole)).keys() for whole in held[n])}

    def likeness(path: str) -> tuple[bool, bool, int]:
        named = path.lower() == f"/{table}" and bool(told[path])
        return named, path in timed and bool(says[path]), len(told[path]) + 2 * ("title" in told[path])

    best = max(held, key=likeness, default="")
    beside = (path for path in held if path.rpartition("/")[0] == best.rpartition("/")[0])  # "artists", "headliners"
    kin = (path for path in beside if (path in timed) is (best in timed) or "speakers" in says[path])
    alike = [path for path in kin if 2 * len(own[path].keys() & own[best]) > min(len(own[path]), len(own[best]))]
    rows = [*_objects(source, "element", enumerate((whole for path in alike for whole in held[path]), 1))]
    if not rows:
        in_xml, in_json = "element with a name, such as <event><title>", 'array of objects with a name: [{"name": ...}]'
        raise source.error(f"holds no {in_xml if source.path.suffix.lower() == '.xml' else in_json}")
    return rows, {name: inner for name, inner in about.items() if f"/{name}" not in alike}


def _levels(
    value: object, path: str, above: dict[str, Any], field_of: Callable[[str], str]
) -> Iterator[tuple[str, Any, Any]]:
    """The objects of a JSON value: where each stands, and it alone and with what is around it, as a date or a room."""
    for each in as_list(value):
        if each and isinstance(each, dict | list):
            yield from _levels(each, path, above, field_of)
        else:
            yield path, each, each
    about = {name: each for name, each in as_mapping(value).items() if field_of(name) != "technical"}
    held = {name: [*filter(None, map(as_mapping, as_list(each) or [each]))] for name, each in about.items()}
    inside = {name: found for name, found in held.items() if found}
    own = {name: each for name, each in about.items() if name not in inside and each not in ({}, [])}
    if own and (_is_named(own, field_of) or not inside):
        # What is alone within and has no name, as the slot of a talk, tells of it.
        alone = {name: each[0] for name, each in inside.items() if len(each) == 1 and not _is_named(each[0], field_of)}
        for name in [each for each in alone if _CLOCK.search(each) and len({*map(field_of, alone[each])} - {""}) < 2]:
            del alone[name]  # {"start": {"dateTime": ...}} is one value, and {"time": {"start": ..., "end": ...}} two
        told = {name: each for one in alone.values() for name, each in one.items() if name != "id"}
        told |= {name: each for name, each in about.items() if name not in alone}
        # What has a time of its own does not end when the day does.
        timed = any(_CLOCK.search(name) for name in told)
        yield path, told, {name: each for name, each in above.items() if not (timed and _CLOCK.search(name))} | told
    kind = path.rpartition("/")[2].removesuffix("s")
    called = {name: f"{kind} {name}".strip() if field_of(kind) in _OF_ITSELF else kind for name in _PREFERRED}
    called["id"] = f"{kind} id".strip()  # while the name of a hall tells where
    told = {called.get(name, name): each for name, each in own.items()}
    keys = {name: each[0].keys() for name, each in inside.items()}
    for name in inside:
        # The keys of what is alike are days, rooms or tracks.
        alike = any(2 * len(keys[name] & keys[other]) > len(keys[name]) for other in keys if other != name)
        counted = not own and (alike or name.isdigit()) and not (path == "" and field_of(name) not in _OF_ITSELF)
        level = {f"level {path.count('/')}": name} if counted and path else {}
        key = {"date": name} if times.date_or_none(name) else level
        yield from _levels(about[name], f"{path}/{'' if key or counted else name}", above | told | key, field_of)


def _is_named(value: dict[str, Any], field_of: Callable[[str], str]) -> bool:
    """Whether an object has a title or a name of its own, as "public_name", which is none of a room or a track."""
    return any(field_of(name) == "title" or (not field_of(name) and _NAMED.search(name)) for name in value)


def _objects(source: Source, place: str, values: Iterable[tuple[int, object]]) -> Iterator[Row]:
    """Those of some values that are objects, each with its place in words; the others are told."""
    for number, value in values:
        if row := as_mapping(value):
            line = row.pop(formats.LINE, None)
            yield (f"line {line}" if line else f"{place} {number}"), row
        else:
            source.left_out(source.error("is no JSON object with something in it", key=f"{place} {number}"))


def _tables(source: Source, page: str, place_of: Callable[[Any], str | None]) -> list[Row]:
    """The rows of the tables of a page; what stands above one, or in a row of one cell, may tell its day."""
    from lxml import html

    # An empty page is refused by the parser.
    root = html.document_fromstring(f"<div></div>{page}".encode(), html.HTMLParser(encoding="utf-8"))
    for line_end in root.iter("br"):
        line_end.tail = f" {line_end.tail or ''}"
    rows: list[Row] = []
    names: list[str] = []
    day, table, year = "", None, next(iter(re.findall(r"\b20\d\d\b", page)), "")
    for element in root.iter("h1", "h2", "h3", "h4", "h5", "h6", "caption", "tr"):
        if element.find(".//tr") is not None:  # a table that only places others
            continue
        cells = [" ".join(cell.text_content().split()) for cell in element.iterchildren("td", "th")]
        if len(cells) < 2:
            parts = [part.strip() for part in re.split("[:–—|()]", element.text_content())]
            days = (part for said in parts for part in (said, f"{said} {year}") if times.date_or_none(part))
            day = next(days, day)
            continue
        within = next(element.iterancestors("table"), None)
        begins, table = within is not table, within
        if begins:  # a table with a time in its first row has no header
            timed = [bool(re.search(r"\d[:.h]\d\d", cell)) for cell in cells]
            first = [*timed, False].index(False)
            told = ["time" if has else "title" if n == first else str(n) for n, has in enumerate(timed)]
            names = told if any(timed) else cells
        if any(cells) and not (begins and names is cells):
            row = dict(zip(names, cells, strict=False)) | ({"date": day} if day else {})
            rows.append((place_of(element) or f"row {len(rows) + 1}", row))  # of HTML within Markdown
    if not rows:
        raise source.error("holds no table with a header and a row; give one, or CSV or JSON")
    return rows
