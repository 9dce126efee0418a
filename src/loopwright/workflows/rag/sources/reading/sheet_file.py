"""Spreadsheets: what Excel and LibreOffice Calc write, sheet by sheet, each row as a line of cells."""

import re
from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO
from math import prod

from python_calamine import CalamineWorkbook, SheetVisibleEnum

from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.packed_file import opened
from loopwright.workflows.rag.sources.reading.source import Source

_MOST_CELLS = 20_000_000
_MOST_COLUMNS, _MOST_ROWS = 16_384, 1_048_576  # calamine repeats nothing beyond them
_PLACE = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\br\s*=\s*["']([A-Z]{1,3})(\d{1,7})["']""")
_PART = re.compile(rb"<(?:\w+:)?(table|table-row|(?:covered-)?table-cell)(?=[\s/>])([^>]*)>(\s*</)?")
_TIMES = re.compile(rb"""-repeated\s*=\s*["'](\d{1,9})""")


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a spreadsheet: what its cells show, a formula's last value, of the sheets that are not hidden."""
    data = source.data(source.limits.text_bytes)
    layout = Layout()
    with source.parsing("is no readable spreadsheet, damaged or has a password"):
        if data.startswith(b"PK"):
            _check_size(source, data)
        book = CalamineWorkbook.from_object(BytesIO(data))
        shown = [each.name for each in book.sheets_metadata if each.visible == SheetVisibleEnum.Visible]
        for name in shown:
            table, is_open = 0, False
            layout.heading(1, name)
            for row in book.get_sheet_by_name(name).iter_rows():
                cells = [*map(_shown, row)]
                while cells and not cells[-1]:
                    cells.pop()
                # Below an empty row another table begins, if with the names of its columns.
                table += not is_open and all(isinstance(value, str) for value in row)
                is_open = bool(cells)
                layout.paragraph(" | ".join(cells), kind=f"{name} {table}" if len(cells) > 1 else "")
    text, sections, _ = layout.finish()
    yield source.document(text, sections, raw=data)


def _check_size(source: Source, data: bytes) -> None:
    """Refuse what calamine has no memory for, which ends the process: it keeps all cells up to a sheet's last one."""
    with opened(source, data) as archive:
        for name in archive.namelist():
            # Excel has a part for each sheet, which are read one by one; in an ODS all are one part.
            of_part = _excel_size if "/worksheets/" in name else _ods_sizes if name == "content.xml" else None
            sizes = [*of_part(archive.read(name))] if of_part else []
            if sum(map(prod, sizes)) > _MOST_CELLS:
                width, height = max(sizes, key=prod)
                problem = f"has a sheet up to {_column(width)}{height}, too large; delete what stands far"
                raise source.error(f"{problem} from its table, or is repeated")


def _excel_size(xml: bytes) -> Iterator[tuple[int, int]]:
    """Columns and rows up to the last cell of a sheet, which says of each where it stands."""
    columns, height = {b""}, 0
    for place in _PLACE.finditer(xml):
        columns.add(place[1])
        height = max(height, int(place[2]))
    last = max(columns, key=lambda column: (len(column), column))
    yield sum((letter - 64) * 26**place for place, letter in enumerate(reversed(last))), height


def _ods_sizes(xml: bytes) -> Iterator[tuple[int, int]]:
    """Columns and rows up to the last cells that hold something, of each sheet; cells and rows may be repeated."""
    width = height = rows = column = 0
    for part in _PART.finditer(xml):
        kind, about, is_empty = part.groups()
        times = int((_TIMES.findall(about) or [b"1"])[0])
        if kind == b"table":
            yield width, height
            width = height = rows = 0
        elif kind == b"table-row":
            rows, column = min(rows + times, _MOST_ROWS), 0
        else:
            column = min(column + times, _MOST_COLUMNS)
            if b":value" in about or not (about.endswith(b"/") or is_empty):
                width, height = max(width, column), rows
    yield width, height


def _column(number: int) -> str:
    """A column's letters, as its place is shown."""
    return (_column((number - 1) // 26) if number > 26 else "") + chr(ord("A") + (number - 1) % 26)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return " ".join(str(value).split())
