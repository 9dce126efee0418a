"""What a file holds in rows or as JSON, within bounds; what is broken is told, and the rest is read."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, chain, dropwhile, islice

from loopwright.errors import DocumentError
from loopwright.workflows.files.source import Source
from loopwright.workflows.files.text import text_lines

_DELIMITERS = ",;\t|"
_NO_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[^][{}"]++', re.DOTALL)
_END = "\uffff"  # behind the last line; it is part of a cell where a quote was never closed


def csv_rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:  # noqa: C901 - one case after the other
    """The rows of a CSV file by the names of its columns, each with the number of its first line."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for number, line in chain(head, feed):
            taken = number
            yield line
        yield _END

    feed = text_lines(source)
    head = [*islice(dropwhile(lambda numbered: not numbered[1].strip(), feed), 20)]
    if not head:
        raise source.error("has no header; the first line of a CSV names its columns")
    _, usual, delimiter = max(_shape([line[:999] for _, line in head], each) for each in _DELIMITERS)
    csv.field_size_limit(max(csv.field_size_limit(), source.limits.record_bytes))
    reader = csv.reader(lines(), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        begun = taken + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            source.left_out(source.error(f"is no valid CSV row: {error}", key=str(begun)))
            continue
        if row in (None, [_END]):
            return
        if row and row[-1].endswith(_END):
            row[-1] = row[-1].removesuffix(_END)
            told = f"all until line {taken} is in the last cell of line {begun}, whose quote is never closed"
            source.left_out(source.error(told, key=str(min(begun + 1, taken))))
        if header is None:
            # Above it may stand a title, or "sep=;": few cells, and then none.
            if 2 * max((place for place, cell in enumerate(row, 1) if cell.strip()), default=0) > usual:
                header = _columns(row)
            elif any(row):
                source.ignored(source.error("the line has no names of columns, and is not read", key=str(begun)))
        elif "".join(row[len(header) :]).strip():
            problem = f"the row has {len(row)} cells, the header {len(header)}; quote cells that hold {delimiter!r}"
            source.left_out(source.error(problem, key=str(begun)))
        elif any(cell.strip() for cell in row):
            yield begun, dict(zip(header, row, strict=False))


def _shape(lines: list[str], delimiter: str) -> tuple[float, int, str]:
    """The share of the rows that have as many cells as most of those with several have, and how many these are."""
    lengths = [*map(len, csv.reader(lines, delimiter=delimiter))]
    cells, rows = next(iter(Counter(length for length in lengths if length > 1).most_common(1)), (1, 0))
    return rows / len(lengths), cells, delimiter


def _columns(row: list[str]) -> list[str]:
    """The names of the columns, made up where they are missing, and unlike each other."""
    names: list[str] = []
    for place, cell in enumerate(row, 1):
        name = " ".join(cell.split()) or f"column {place}"
        names.append(name if name not in names else f"{name} {place}")
    return names


def json_lines(source: Source) -> Iterator[tuple[int, object]]:
    """The values of a file with one JSON value on each line, and the numbers of the lines; empty lines are nothing."""
    for number, line in text_lines(source):
        if not line.strip():
            continue
        try:
            value = json_of(source, line, key=str(number))
        except DocumentError as problem:
            source.left_out(problem)
        else:
            yield number, value


def json_of(source: Source, text: str, *, key: str = "") -> object:
    """A JSON value; refused if it is none, or nested too deeply. ``key`` is the line that it is from."""
    most = source.limits.json_depth
    # Counting the brackets settles nearly all cases without looking at them.
    brackets = _NO_BRACKET.sub("", text) if text.count("[") + text.count("{") > most else ""
    if max(accumulate(1 if each in "[{" else -1 for each in brackets), default=0) > most:
        raise source.error(f"is nested more than {most} deep, the limit json_depth", key=key)
    try:
        return json.loads(text)
    except ValueError as error:
        hint = "; if it has one object a line, name it .jsonl" if "Extra data" in str(error) and not key else ""
        raise source.error(f"is no valid JSON: {error}{hint}", key=key) from None
