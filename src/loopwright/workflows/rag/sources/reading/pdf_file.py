"""PDF: the text of each page."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain, groupby
from operator import itemgetter

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.generic import DictionaryObject, NameObject

from loopwright.errors import DocumentError
from loopwright.retrieval.english import english_words
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

logging.getLogger("pypdf").setLevel(logging.ERROR)  # its warnings are about files, at length, and for developers
_PARTED = re.compile(r"\b([^\W\d_]+)[-\u00ad\u2010] ?\n([^\W\d_A-ZÀ-ÖØ-Þ]\w*)")
# Headings have larger letters than most of the text; rows, labels, page numbers, sentences and many lines are none.
# Where much is larger, as in the text of a scan, size says nothing.
_HEADING = re.compile(
    r"(?=[\s\S]{2,200}$)(?=.*[^\W\d_]{2})(?!\w+ \d+(?: \w+ \d+)?$)[\W\d_]*+(?![a-zß-ÿ]).+(?:\n.+){0,3}(?<![.,;])"
)
_LARGER, _MUCH = 1.08, 0.25
_NARROW = frozenset(" !'(),-./:;I[]fijlrt|")
_Line = tuple[str, int]
"""The text of a line, and how high its letters are in half points, 0 where they are turned."""


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a PDF page by page; title and date are those of its metadata."""
    data = source.data(source.limits.text_bytes)
    # Readers allow for some bytes before the header.
    if b"%PDF-" not in data[:1024]:
        raise source.error("is no PDF, whatever its name; check what kind of file it is")
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise source.error("is encrypted; save a copy without a password")
        text, sections, heading = _layout(source, reader).finish()
        about, date = reader.metadata, None
        with suppress(ValueError):  # a date that is none
            date = source.date((about.modification_date or about.creation_date) if about else None)
        title = (about.title if about else None) or ""
        title = "" if title in ("untitled", "(anonymous)") else title  # reportlab's names for what nobody named
    except DocumentError:
        raise
    except Exception as error:
        # What pypdf raises on damaged files is nowhere listed: KeyError, TypeError, RecursionError and more.
        raise source.error(f"is a damaged PDF: {type(error).__name__}: {error}") from error
    if not text:
        raise source.error("has no text: scanned pages need OCR, and damaged ones another copy")
    yield source.document(text, sections, title=title or heading, raw=data, date=date)


def _layout(source: Source, reader: PdfReader) -> Layout:
    layout, pages, lengths = Layout(), [*_pages(source, reader)], Counter[int]()
    for text, size in chain.from_iterable(pages):
        lengths[size] += len(text)
    usual = max(lengths, key=lengths.__getitem__, default=0)
    larger = {size for size in lengths if size > usual * _LARGER}
    much = sum(lengths[size] for size in larger) > _MUCH * lengths.total()
    for number, lines in enumerate(pages, 1):
        sized = groupby(lines, lambda line: 0 if much or line[1] not in larger or "|" in line[0] else -line[1])
        alike = ((size, "\n".join(text for text, _ in same)) for size, same in sized)
        parts = ((size if _HEADING.fullmatch(text) else 0, text) for size, text in alike)
        for size, same in groupby(parts, itemgetter(0)):
            text = _PARTED.sub(_joined, "\n".join(text for _, text in same))
            if size:
                layout.heading(size, text, number)
            else:
                layout.page(number, text)
    return layout


def _pages(source: Source, reader: PdfReader) -> Iterator[list[_Line]]:
    """The lines of each page; none of a scan, and of one that is damaged."""
    unread: list[str] = []
    end = time.monotonic() + source.limits.pdf_seconds
    for number, page in enumerate(reader.pages, 1):
        lines, is_read = list[_Line](), False
        with suppress(Exception):  # what pypdf raises on a damaged page is nowhere listed
            lines += [*_lines(page), *((text, 0) for text in dict.fromkeys(_filled(page)))]
            is_read = bool(lines or not page.images)
        unread += [] if is_read else [str(number)]
        yield lines
        if time.monotonic() > end:
            raise source.error(f"took the limit pdf_seconds, {source.limits.pdf_seconds:g}, to page {number}; split it")
    if 0 < len(unread) < len(reader.pages):
        told = ", ".join(unread[:20])
        source.ignored(source.error(f"{len(unread)} page(s) are scans, which need OCR, or damaged: {told}"))


def _lines(page: PageObject) -> list[_Line]:
    """The lines of a page, in the order of its text, each whole, however many pieces it was written in."""
    lines: list[list[tuple[str, float]]] = []
    ended, end, base = True, 0.0, 0.0
    row, columns = list[float](), list[float]()  # where cells begin, of the line and of the table's fullest

    def piece(text: str, outer: list[float], inner: list[float], _font: object, size: float) -> None:
        nonlocal ended, end, base, row, columns
        if shown := text.strip():
            left = inner[4] * outer[0] + inner[5] * outer[2] + outer[4]
            foot = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
            turned = abs(inner[0] * outer[1] + inner[1] * outer[3]) > 0.01 * abs(inner[0] * outer[0])
            height = 0.0 if turned else size * (inner[2] * outer[1] + inner[3] * outer[3])
            if ended and lines and abs(foot - base) * 4 < height and left > end - height:
                begun = "".join(text for text, _ in lines[-1][-9:]).rstrip()
                # Cells stand farther apart than words; the mark of a list, and the name of a value, stand as far.
                gap = height * (0.9 if re.search(r"\w{2}|\|", begun) else 1.8)
                # Empty cells are not written, but the table's fullest row says where they are, and where others begin.
                known = any(abs(left - each) * 2 < height for each in columns[len(row) :])
                is_cell = (known or left > end + gap) and not begun.endswith(":")
                cells = max(1, sum(each < left + height / 2 for each in columns) - len(row)) if is_cell else 0
                row += [left] * cells
                text = (" | " * cells or " ") + text.lstrip()
            elif ended:
                columns, row = (columns if 1 < len(row) <= len(columns) else row), [left]
                lines.append([])
            lines[-1].append((text.rstrip("\n"), height))
            # About: letters of China and Japan are as wide as high.
            wide = sum(1.0 if letter > "\u2e7f" else 0.28 if letter in _NARROW else 0.61 for letter in shown)
            end, base = left + height * wide, foot
        elif not ended:  # a space between words, written alone
            lines[-1].append((text.rstrip("\n"), 0.0))
        ended = "\n" in text or (ended and not shown)

    page.extract_text(visitor_text=piece)
    heights = [max(pieces, key=lambda piece: len(piece[0].strip()))[1] for pieces in lines]
    texts = ("".join(text for text, _ in pieces).rstrip() for pieces in lines)
    return [*zip(texts, (max(0, round(2 * height)) for height in heights), strict=True)]


def _filled(page: PageObject) -> Iterator[str]:
    """What was filled into a form on the page, which is no part of the page's text."""
    with suppress(Exception):  # a broken form is no reason to refuse what the page says
        for field in (each.get_object() for each in page.annotations or ()):
            if not isinstance(field, DictionaryObject) or field.get_inherited("/F", 0) & 0b100010:
                continue  # it is hidden, or not for a screen
            value, is_password = field.get_inherited("/V"), field.get_inherited("/Ff", 0) & 1 << 13
            if isinstance(value, str) and value.strip() and value != "/Off" and not is_password:
                own = "/T" if "/T" in field and "/TU" not in field else "/TU"
                name = field.get_inherited(own) or field.get_inherited("/T")
                yield f"{name}: {value.removeprefix('/') if isinstance(value, NameObject) else value}"


def _joined(match: re.Match[str]) -> str:
    """A word that was parted at the end of a line; of two words that make none together the hyphen is their own."""
    first, second = match[1].lower(), match[2].lower()
    known = english_words()
    own = "\u00ad" not in match[0] and {first, second} <= known.keys() and first + second not in known
    return match[1] + "-" * own + match[2]
