"""DOCX: headings, paragraphs and tables, in order; only of an archive that may be unpacked."""

import copy
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, cast
from zipfile import ZipFile

import docx
from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from lxml.etree import XMLSyntaxError

from loopwright.errors import DocumentError
from loopwright.workflows.files.source import MEGABYTE
from loopwright.workflows.rag.sources.reading.formulas import linear
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

_OLE = b"\xd0\xcf\x11\xe0"
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_PARAGRAPH, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
# What wraps blocks without being one: content controls, insertions, custom XML.
_WRAPPERS = {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:customXml"), qn("w:smartTag")}
# A drawing's text is there twice, the second time for programs that do not know drawings.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LEFT_OUT = {_FALLBACK, qn("w:del"), qn("w:moveFrom"), qn("w:pPr")}
_HIDDEN = f"{qn('w:rPr')}/{qn('w:vanish')}"
_SHOWN = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-", _PARAGRAPH: "\n"}
_TEXT = qn("w:t")
_FORMULA = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_RAISED = f"{qn('w:rPr')}/{qn('w:vertAlign')}[@{qn('w:val')}='superscript']"


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a DOCX; title and date are its core properties, tags their keywords."""
    data = source.data(source.limits.text_bytes)
    if data.startswith(_OLE):
        raise source.error("is encrypted, or an old .doc; save it as .docx without a password")
    if not data.startswith(b"PK"):
        raise source.error("is no DOCX, whatever its name; check what kind of file it is")
    try:
        with ZipFile(BytesIO(data)) as archive:
            check_archive(source, archive, len(data))
        document = docx.Document(BytesIO(data))
        text, sections, heading = _layout(source, document).finish()
        # Where a file has no properties, python-docx makes some up, of this moment.
        parts = cast(Any, document.part).package.rels.values()
        has_own = any(part.reltype.endswith("/package/2006/relationships/metadata/core-properties") for part in parts)
        properties = document.core_properties
        title = properties.title.strip() if has_own else ""
        date = source.date(properties.modified or properties.created) if has_own else None
        tags = tuple(filter(None, map(str.strip, re.split("[,;]", properties.keywords))))
    except DocumentError:
        raise
    except Exception as error:
        # What zipfile, lxml and python-docx raise on damaged files is nowhere listed.
        raise source.error(f"is a damaged DOCX: {type(error).__name__}: {error}") from error
    yield source.document(text, sections, title=title or heading, raw=data, date=date, tags=tags)


def _layout(source: Source, document: Document) -> Layout:
    layout = Layout()
    for number, block in enumerate(_blocks(document.element.body, {_PARAGRAPH, _TABLE})):
        if block.tag == _TABLE:
            for row in _rows(block):
                layout.paragraph(row, kind=f"table {number}")
            continue
        style = Paragraph(block, cast(Any, document)).style
        if style and (style.name or "").lower().startswith("toc "):
            continue  # the table of contents says what the headings say
        if (level := _level(block, style.element if style else None)) is None:
            layout.paragraph(_text(block))
        else:
            layout.heading(level, _text(block))
    notes: list[Any] = []
    for part in document.part.rels.values():
        if part.reltype.endswith(("/footnotes", "/endnotes", "/header", "/footer")) and not part.is_external:
            try:
                notes += parse_xml(part.target_part.blob)
            except XMLSyntaxError as error:
                source.ignored(source.error(f"has damaged notes, which are left out: {error}"))
    for text in dict.fromkeys(map(_text, notes)):  # each kind of page has a header of its own, mostly the same
        layout.paragraph(text)
    return layout


def _blocks(parent: Any, tags: set[str]) -> Iterator[Any]:
    """The paragraphs and tables of a body, the rows of a table, its cells; lxml bounds how deep they are nested."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _blocks(child, tags)


def _level(place: Any, style: Any, most: int = 9) -> int | None:
    """The level of a heading, 0 for the document's title; None for other paragraphs, and styles of other ones."""
    name, outline = place.xpath("string(w:name/@w:val)"), place.xpath("string(w:pPr/w:outlineLvl/@w:val)")
    if name == "Title":
        return 0
    if match := _HEADING.fullmatch(name):
        return int(match[1])
    if outline.isdecimal():
        return int(outline) + 1 if int(outline) < 9 else None
    # A style of one's own is mostly based on one of Word's; one that is based on itself is damaged.
    return None if style is None or not most else _level(style, style.base_style, most - 1)


def _rows(table: Any) -> Iterator[str]:
    """The cells of each row; one that spans several is repeated, and those of a table inside one are part of it."""
    above: list[str] = []
    for row in _blocks(table, {_ROW}):
        cells: list[str] = []
        for cell in _blocks(row, {_CELL}):
            goes_on = cell.vMerge == "continue" and len(cells) < len(above)
            text = above[len(cells)] if goes_on else " ".join(_text(cell).split())
            cells += [text] * min(100, cell.grid_span)
        above = cells
        yield " | ".join(cells)


def _text(element: Any) -> str:
    """The text of a paragraph or cell, without what was deleted from it, moved elsewhere or hidden."""
    parts: list[str] = []
    waiting = list(reversed(element))
    while waiting:
        node = waiting.pop()
        if node.tag == _TEXT:
            text = node.text or ""
            if node.getparent().find(_RAISED) is not None and text[:1].isdigit() and "".join(parts)[-1:].isdigit():
                parts.append("^")  # a power, or the mark of a note, is no digit of the number before it
            parts.append(text)
        elif node.tag == _FORMULA:
            parts.append(linear(node))
        elif node.tag not in _LEFT_OUT and not _is_hidden(node):
            parts += _SHOWN.get(node.tag, "")
            waiting += reversed(node)
    return "".join(parts)


def _is_hidden(node: Any) -> bool:
    hidden = node.find(_HIDDEN)
    return hidden is not None and hidden.get(qn("w:val")) not in ("0", "false", "off")


def check_archive(source: Source, archive: ZipFile, packed_bytes: int) -> None:
    """Refuse an archive that unpacks to too much, or to more than it says; entities are never resolved.

    Raises:
        DocumentError: If it is refused.
    """
    # Its tree takes ten times as much memory; little is harmless however well it is packed, as templates are.
    most = min(source.limits.unpacked_bytes, max(10 * MEGABYTE, 200 * packed_bytes))
    if sum(member.file_size for member in archive.infolist()) > most:
        raise source.error(f"unpacks to more than {most // MEGABYTE} MB: 200-fold, or the limit unpacked_bytes")
    for member in archive.infolist():
        # A stream is cut at the size that the directory gives, after it was unpacked; one byte more shows what follows.
        asked = copy.copy(member)
        asked.file_size += 1
        with archive.open(asked) as stream:
            size = sum(map(len, iter(lambda stream=stream: stream.read(65_536), b"")))
        if size != member.file_size:
            raise source.error(f"its archive has more or less of {member.filename} than it says; it is damaged")
