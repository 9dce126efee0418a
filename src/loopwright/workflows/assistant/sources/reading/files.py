"""The rows of a table, whatever file holds it, and the values of JSON."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from loopwright.workflows.assistant.sources.reading import times
from loopwright.workflows.files import Source, csv_rows, json_lines, json_of, text_of

_CLOCK = re.compile(r"(?i)start|begin|end|time(?!_?zone)|duration")
_PREFERRED = ("en", "name", "title", "label", "value")


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
    if suffix in (".md", ".markdown"):
        return _markdown(source, read_text(source)), {}
    if suffix == ".json":
        return _of_json(source, json_of(source, read_text(source)), table, fields)
    known = f"{'.xml, .ics, ' * (table == 'sessions')}.csv, .tsv, .json, .jsonl, .ndjson, .md, .markdown"
    raise source.error(f"has an unknown ending {suffix!r}; known: {known}; save a spreadsheet as CSV")


def read_text(source: Source) -> str:
    """A file's whole text."""
    return text_of(source, source.data(source.limits.text_bytes))


def _of_json(source: Source, value: object, table: str, fields: Fields) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a JSON value: an array of objects, or an object that holds one, or several that are alike."""
    about = as_mapping(value)
    held = {name: [*filter(None, map(as_mapping, as_list(inner)))] for name, inner in about.items()}
    # Rooms and speakers are what sessions name.
    whole = [name for name, items in held.items() if items and not fields({name: "-"}).keys() - {"title"}]
    filled = {name: max(map(fields, held[name]), key=len) for name in whole}
    keys = {name: {key for item in held[name] for key in item} for name in filled}
    # What says nothing but when is the list of days or slots that the sessions refer to.
    when = {"key", "title", "subtitle", "day", "start", "end", "duration"}
    says = {name: filled[name].keys() - when for name in keys}
    timed = [name for name in keys if "title" in filled[name] and {"day", "start"} & filled[name].keys() and says[name]]
    best = max(keys, key=lambda name: (name.lower() == table, name in timed, len(filled[name])), default="")
    kin = [name for name in keys if (name in timed) is (best in timed) or "speakers" in says[name]]
    near = [name for name in kin if len(filled[best]) < max(1, 2 * len(filled[name]))]
    alike = [name for name in near if 2 * len(keys[name] & keys[best]) > len(keys[best])]
    items = [item for name in alike for item in as_list(about[name])] or as_list(value)
    if best not in timed and not any("start" in fields(as_mapping(each)) for each in items[:1]):
        within = _within(value, fields)
        items, alike = (within, []) if within else (items, alike)
    rows = [*_objects(source, "element", enumerate(items, 1))]
    if not rows:
        raise source.error('holds no array of objects, such as [{"name": ...}, ...]')
    return rows, {name: inner for name, inner in about.items() if name not in alike}


def _within(value: object, fields: Fields) -> list[dict[str, Any]]:
    """The sessions of a JSON value that has them within its days, rooms or slots; none if it has no such."""
    levels: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for path, own, above in _levels(value, "", {}, fields):
        levels.setdefault(path, []).append((own, above | own))
    # A link or a speaker of a session says less of its own.
    said = {path: [fields(own) for own, _ in levels[path]] for path in levels}
    says = {path: max(len(told) + 2 * ("title" in told) for told in said[path]) for path in levels}
    timed = [path for path in levels if any({"day", "start"} & fields(whole).keys() for _, whole in levels[path])]
    keys = {path: {name for own, _ in levels[path] for name in own} for path in timed}
    best = max(timed, key=lambda path: says[path], default="")
    # "artists" beside "headliners"
    alike = (path for path in timed if path.rpartition("/")[0] == best.rpartition("/")[0])
    alike = (path for path in alike if 2 * len(keys[path] & keys[best]) > min(len(keys[path]), len(keys[best])))
    return [whole for path in alike for _, whole in levels[path]]


def _levels(
    value: object, path: str, above: dict[str, Any], fields: Fields
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The objects of a JSON value: where each stands, and what those around it say, as a date or a room's name."""
    for each in as_list(value):
        yield from _levels(each, path, above, fields)
    about = as_mapping(value)
    held = {name: [*filter(None, map(as_mapping, as_list(each) or [each]))] for name, each in about.items()}
    inside = {name: found for name, found in held.items() if found}
    own = {name: each for name, each in about.items() if name not in inside and each not in ({}, [])}
    if own and (_is_named(own, fields) or not inside):
        # What is alone within and has no name, as the slot of a talk, tells of it.
        alone = {name: each[0] for name, each in inside.items() if len(each) == 1 and not _is_named(each[0], fields)}
        told = {name: each for one in alone.values() for name, each in one.items() if name != "id"}
        told |= {name: each for name, each in about.items() if name not in alone}
        # What has a time of its own does not end when the day does.
        timed = any(_CLOCK.search(name) for name in told)
        yield path, told, {name: each for name, each in above.items() if not (timed and _CLOCK.search(name))}
    kind = path.rpartition("/")[2].removesuffix("s")
    told = {f"{kind} {name}".strip() if name in ("id", *_PREFERRED) else name: each for name, each in own.items()}
    keys = {name: each[0].keys() for name, each in inside.items()}
    for name in inside:
        # The keys of what is alike are days, rooms or tracks.
        alike = any(2 * len(keys[name] & keys[other]) > len(keys[name]) for other in keys if other != name)
        counted = not own and (alike or name.isdigit())
        key = {"date": name} if times.date_or_none(name) else {f"level {path.count('/')}": name} if counted else {}
        yield from _levels(about[name], f"{path}/{'' if key else name}", above | told | key, fields)


def _is_named(value: dict[str, Any], fields: Fields) -> bool:
    """Whether an object has a title or a name of its own, as "public_name", which is none of a room or a track."""
    named = (name for name in value if re.search("(?i)title|name$", name))
    return any(not fields({name: "-"}).keys() - {"title"} for name in named)


def _objects(source: Source, place: str, values: Iterable[tuple[int, object]]) -> Iterator[Row]:
    """Those of some values that are objects, each with its place in words; the others are told."""
    for number, value in values:
        if row := as_mapping(value):
            yield f"{place} {number}", row
        else:
            source.left_out(source.error("is no JSON object with something in it", key=f"{place} {number}"))


def _markdown(source: Source, text: str) -> list[Row]:
    from markdown_it import MarkdownIt

    rows: list[Row] = []
    names: list[str] = []
    cells: list[str] = []
    line, day, before, year = 0, "", "", next(iter(re.findall(r"\b20\d\d\b", text)), "")
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        line = token.map[0] + 1 if token.map else line
        if before == "heading_open":  # of a day the tables below it tell
            parts = [part.strip() for part in re.split("[:–—|()]", token.content)]
            days = (part for said in parts for part in (said, f"{said} {year}") if times.date_or_none(part))
            day = next(days, day)
        before = token.type
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline" and token.level > 2:  # a cell
            shown = (part.content if part.type in ("text", "code_inline") else " " for part in token.children or ())
            cells.append(" ".join("".join(shown).split()))
        elif token.type == "thead_close":
            names = cells
        elif token.type == "tr_close" and names and any(cells):
            rows.append((f"line {line}", dict(zip(names, cells, strict=False)) | ({"date": day} if day else {})))
        elif token.type == "table_close":
            names = []
    if not rows:
        raise source.error("holds no table; a Markdown file needs one with a header, or give CSV or JSON")
    return rows
