"""PDF: the text of each page."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.generic import DictionaryObject, NameObject

from loopwright.errors import DocumentError
from loopwright.retrieval.english import english_words
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a PDF page by page; title and date are those of its metadata."""
    data = source.data(source.limits.whole_bytes)
    # Readers allow for some bytes before the header.
    if b"%PDF-" not in data[:1024]:
        raise source.error("is no PDF, whatever its name; check what kind of file it is")
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise source.error("is encrypted; save a copy without a password")
        layout = _pages(source, reader)
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
    text, sections, _ = layout.finish()
    if not text:
        raise source.error("has no text: scanned pages need OCR")
    yield source.document(text, sections, title=title, raw=data, date=date)


def _pages(source: Source, reader: PdfReader) -> Layout:
    limits = source.limits
    if len(reader.pages) > limits.pages:
        raise source.error(f"has {len(reader.pages)} pages; at most {limits.pages} are read, the limit pages; split it")
    layout, scanned = Layout(), list[str]()
    end = time.monotonic() + limits.pdf_seconds
    for number, page in enumerate(reader.pages, 1):
        text = "\n".join([page.extract_text(), *dict.fromkeys(_filled(page))])
        if not text.strip() and page.images:
            scanned.append(str(number))
        layout.page(number, re.sub(r"\b([^\W\d_]+)[-\u00ad\u2010] ?\n([^\W\d_A-ZÀ-ÖØ-Þ]\w*)", _joined, text))
        if time.monotonic() > end:
            raise source.error(
                f"took more than {limits.pdf_seconds:g} s until page {number}, the limit pdf_seconds; split it"
            )
    if 0 < len(scanned) < len(reader.pages):
        source.ignored(source.error(f"needs OCR of {len(scanned)} page(s) without text: {', '.join(scanned[:20])}"))
    return layout


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
