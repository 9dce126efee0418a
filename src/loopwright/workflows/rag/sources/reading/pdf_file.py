"""PDF: the text of each page."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import itemgetter
from threading import Lock
from typing import Any

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, raw

from loopwright.retrieval.english import english_words
from loopwright.workflows.rag.answer.sentences import CENTS, NO_PART
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # its warnings are for developers
_ONE_AT_A_TIME = Lock()  # PDFium reads for one thread only
_PARTED = re.compile(r"\b([^\W\d_]+)[-\u00ad\u2010] ?\n([^\W\d_A-ZÀ-ÖØ-Þ]\w*)")
# Headings have larger letters than most of the text; rows, labels, page numbers, sentences and many lines are none.
# Where much is larger, as in the text of a scan, size says nothing.
_HEADING = re.compile(
    r"(?=[\s\S]{2,200}$)(?=.*[^\W\d_]{2})(?!\w+ \d+(?: \w+ \d+)?$)[\W\d_]*+(?![a-zß-ÿ]).+(?:\n.+){0,3}(?<![.,;])"
)
_DATE = re.compile(r"D:(\d{8})(\d{6})([+-]\d\d)?'?(\d\d)?.*", re.DOTALL)
_LARGER, _MUCH = 1.08, 0.25
_HYPHENS = "\x02\ufffe"  # how PDFium gives one that parts a word at the end of a line
_LEFTWARDS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")  # Hebrew, Arabic
_NO_CELL = re.compile(rf"^:|{_LEFTWARDS.pattern}")  # behind the name of a value, and where the line runs the other way
_POWER = re.compile(r"[\d\u2212]")  # a hyphen may be small and high
_FRACTION = re.compile(r"(?<=\d)\^(?=\d{1,2}[/\u2044]\d{1,2}\b)")  # what is raised is its upper part
_NONE = "\0"  # and a sign whose font does not say which it is
_Line = tuple[str, int]
"""The text of a line, and how high its letters are in half points, 0 where they are turned."""


@dataclass(slots=True)
class _Word:
    """Letters that stand together."""

    text: str
    """The letters."""
    left: float
    """Where they begin on the page, in points."""
    right: float
    """Where they end."""
    size: float
    """How high they are, 0 where they are turned."""


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a PDF page by page; title and date are those of its metadata."""
    data = source.data(source.limits.text_bytes)
    # Readers allow for some bytes before the header.
    if b"%PDF-" not in data[:1024]:
        raise source.error("is no PDF, whatever its name; check what kind of file it is")
    with source.parsing("is a damaged PDF"), _ONE_AT_A_TIME:
        try:
            pdf = PdfDocument(data)
        except PdfiumError as error:
            if error.err_code == raw.FPDF_ERR_PASSWORD:
                raise source.error("is encrypted; save a copy without a password") from error
            raise
        with pdf:
            pdf.init_forms()
            text, sections, heading = _layout(source, pdf).finish()
            about = pdf.get_metadata_dict()
    if not text:
        raise source.error("has no text: scanned pages need OCR, and damaged ones another copy")
    title = about["Title"] if about["Title"] not in ("untitled", "(anonymous)") else ""  # reportlab's for no name
    dates = (_DATE.sub(r"\1T\2\3\4", about[name]) for name in ("ModDate", "CreationDate"))
    date = next(filter(None, map(source.date, dates)), None)
    yield source.document(text, sections, title=title or heading, raw=data, date=date)


def _layout(source: Source, pdf: PdfDocument) -> Layout:
    layout, pages, lengths = Layout(), [*_pages(source, pdf)], Counter[int]()
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


def _pages(source: Source, pdf: PdfDocument) -> Iterator[list[_Line]]:
    """The lines of each page; none of a scan, and of one that is damaged."""
    unread: list[str] = []
    end = time.monotonic() + source.limits.pdf_seconds
    for number in range(1, len(pdf) + 1):
        lines, is_read = list[_Line](), False
        with suppress(PdfiumError), closing(pdf[number - 1]) as page:
            lines += [*_lines(page), *((text, 0) for text in dict.fromkeys(_filled(pdf, page)))]
            is_read = bool(lines or not any(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE])))
        unread += [] if is_read else [str(number)]
        yield lines
        if time.monotonic() > end:
            raise source.error(f"took the limit pdf_seconds, {source.limits.pdf_seconds:g}, to page {number}; split it")
    if 0 < len(unread) < len(pdf):
        told = ", ".join(unread[:20])
        source.ignored(source.error(f"{len(unread)} page(s) are scans, which need OCR, or damaged: {told}"))


def _letters(page: PdfPage) -> Iterator[tuple[str, str, raw.FS_RECTF, float]]:
    """What PDFium sees before each letter of a page (nothing, a space, a line's end), the letter, its box and size."""
    text, box, matrix, gap, size = page.get_textpage(), raw.FS_RECTF(), raw.FS_MATRIX(), "\n", 0.0
    for place in range(text.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(text, place))
        if letter in _NONE or letter.isspace():
            gap = "\n" if "\n" in (letter, gap) else " "
            continue
        if gap:  # the letters of a word are alike
            raw.FPDFText_GetMatrix(text, place, matrix)
            turned = abs(matrix.b) > 0.01 * abs(matrix.a)
            size = 0.0 if turned else raw.FPDFText_GetFontSize(text, place) * abs(matrix.d)
        raw.FPDFText_GetLooseCharBox(text, place, box)
        yield gap, "-" if letter in _HYPHENS else letter, box, size
        gap = "\n" if letter in _HYPHENS else ""


def _lines(page: PdfPage) -> Iterator[_Line]:
    """The lines of a page, in the order of its text, each whole, however many pieces it was written in."""
    lines: list[list[_Word]] = []
    foot, top = 0.0, 0.0  # how low and high the line is
    begin, end, low, before = 0.0, 0.0, 0.0, 0.0  # where its last letter stands, and how high that is
    for gap, letter, box, size in _letters(page):
        overlap, height = min(top, box.top) - max(foot, box.bottom), box.top - box.bottom
        word = lines[-1][-1] if lines else None
        if word and not size and not word.size and abs(box.left - word.left) < 1:
            beside = overlap * 20 > box.left - box.right  # turned letters may each be written on their own
        else:
            # What is raised stands beside its word; other lines of small print may touch.
            beside = word and size and overlap * 2 > min(height, top - foot) and box.left > word.right - height
        if word is None or (gap == "\n" and not beside):
            lines.append([_Word(letter, box.left, box.right, size)])
            foot, top = box.bottom, box.top
        elif letter == word.text[-1] and size and overlap * 2 > height and begin < box.left < (begin + end) / 2:
            continue  # written twice, a little apart: bold, or with a rim
        elif gap == " " or max(box.left - word.right, word.left - box.right) > size * 0.1:
            lines[-1].append(_Word(letter, box.left, box.right, size))
        elif (box.left, box.right) == (begin, end) and _LEFTWARDS.match(letter):
            word.text = word.text[:-1] + letter + word.text[-1]  # PDFium gives both letters of one sign turned round
        else:
            raised = size and height < before * 0.9 and box.bottom - low > before * 0.25
            letter = "^" * bool(raised and _POWER.match(letter) and re.search(f"{NO_PART}$", word.text[-4:])) + letter
            is_before = box.left > end - size * 0.1 and _LEFTWARDS.match(word.text) and _LEFTWARDS.match(letter)
            word.text = letter + word.text if is_before else word.text + letter
            word.left, word.right = min(word.left, box.left), max(word.right, box.right)
        if not size:
            foot, top = min(foot, box.bottom), max(top, box.top)
        elif height > top - foot:
            foot, top = box.bottom, box.top
        begin, end, low, before = box.left, box.right, box.bottom, height
    columns, rows = list[_Word](), 0  # where the cells of the table begin, and how many rows it has so far
    for words in lines:
        text, row = _row(words, columns)
        # The fullest of a table's first rows, as a header may have no name for the first column.
        rows = rows + 1 if " | " in text else 0
        if not rows or (rows < 3 and len(row) > len(columns)):
            columns = row if rows else []
        lengths = Counter[float]()
        for word in words:
            lengths[word.size] += len(word.text)
        # Letters beyond the first 65,536 come in halves.
        yield (
            CENTS.sub("", _FRACTION.sub(" ", text)).encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
            round(2 * max(lengths, key=lengths.__getitem__)),
        )


def _row(words: list[_Word], columns: list[_Word]) -> tuple[str, list[_Word]]:
    """The text of a line, with a bar between cells, and the first words of these."""

    def column(word: _Word, first: int) -> int:
        below = (word.left < each.right and each.left < word.right for each in columns[first:])
        return next((place for place, is_below in enumerate(below, first) if is_below), -1)

    text, row = words[0].text, [*columns[: max(0, column(words[0], 0))], words[0]]
    gaps = [word.left - before.right for before, word in pairwise(words)]
    usual = min(gaps, default=0.0)  # lines of a narrow column have wide gaps, all alike
    for word, gap in zip(words[1:], gaps, strict=True):
        # Cells stand farther apart than words; the mark of a list, a sentence and the name of a value too.
        marked = text[-1] in ".!?" or not re.search(r"\w{2}|\|", text[-9:])
        # Empty cells are not written, but the table's first rows say where they are, and where others begin.
        place = column(word, len(row))
        known = not marked and place >= 0 and abs(word.left - columns[place].left) * 2 < word.size
        wide = gap > usual * 1.5 or max(gaps) > word.size * 1.3 or len(gaps) == 1
        least = word.size * (0.3 if known else 1.8 if marked else 0.9)
        is_cell = word.size and wide and gap > least and not _NO_CELL.search(text[-1] + word.text)
        cells = max(1, place - len(row) + 1) if is_cell else 0
        row += [word] * cells
        text += (" | " * cells or " ") + word.text
    return text, row


def _filled(pdf: PdfDocument, page: PdfPage) -> Iterator[str]:
    """What was filled into a form on the page, which is no part of the page's text."""
    form = pdf.formenv
    for place in range(raw.FPDFPage_GetAnnotCount(page) if form else 0):
        field = raw.FPDFPage_GetAnnot(page, place)
        value = _told(raw.FPDFAnnot_GetFormFieldValue, form, field)
        is_seen = not raw.FPDFAnnot_GetFlags(field) & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW)
        is_password = raw.FPDFAnnot_GetFormFieldFlags(form, field) & raw.FPDF_FORMFLAG_TEXT_PASSWORD
        if is_seen and value.strip() and value != "Off" and not is_password:
            own = _told(raw.FPDFAnnot_GetStringValue, field, b"TU") or _told(raw.FPDFAnnot_GetStringValue, field, b"T")
            above = _told(raw.FPDFAnnot_GetFormFieldAlternateName, form, field)
            yield f"{own or above or _told(raw.FPDFAnnot_GetFormFieldName, form, field)}: {value}"
        raw.FPDFPage_CloseAnnot(field)


def _told(function: Any, *about: Any) -> str:
    """The text that one of PDFium's functions gives, which first says how many bytes it has."""
    buffer = (raw.FPDF_WCHAR * (function(*about, None, 0) // 2))()
    function(*about, buffer, len(buffer) * 2)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _joined(match: re.Match[str]) -> str:
    """A word that was parted at the end of a line; of two words that make none together the hyphen is their own."""
    first, second = match[1].lower(), match[2].lower()
    known = english_words()
    own = "\u00ad" not in match[0] and {first, second} <= known.keys() and first + second not in known
    return match[1] + "-" * own + match[2]
