"""Spreadsheets: what Excel and LibreOffice Calc write, sheet by sheet, each row as a line of cells."""

import re
from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO

from python_calamine import CalamineWorkbook, SheetVisibleEnum

from loopwright.errors import DocumentError
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.packed_file import opened
from loopwright.workflows.rag.sources.reading.source import Source

_MOST_CELLS = 20_000_000
_PLACE = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\br\s*=\s*["']([A-Z]{1,3})(\d{1,7})["']""")


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a spreadsheet: what its cells show, a formula's last value, of the sheets that are not hidden."""
    data = source.data(source.limits.text_bytes)
    layout = Layout()
    try:
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
    except (DocumentError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # A panic of calamine, which is written in Rust, is no `Exception`.
        problem = f"is no readable spreadsheet, damaged or has a password: {type(error).__name__}: {error}"
        raise source.error(problem) from error
    text, sections, _ = layout.finish()
    yield source.document(text, sections, title="", raw=data)


def _check_size(source: Source, data: bytes) -> None:
    """Refuse what calamine has no memory for, which ends the process: it keeps all cells up to the last one."""
    with opened(source, data) as archive:
        for name in archive.namelist():
            columns, height = {b""}, 0
            for place in _PLACE.finditer(archive.read(name) if "/worksheets/" in name else b""):
                columns.add(place[1])
                height = max(height, int(place[2]))
            last = max(columns, key=lambda column: (len(column), column))
            width = sum((letter - 64) * 26**place for place, letter in enumerate(reversed(last)))
            if width * height > _MOST_CELLS:
                problem = f"has a sheet up to {last.decode()}{height}, too large; delete what stands far from its table"
                raise source.error(problem)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return " ".join(str(value).split())
