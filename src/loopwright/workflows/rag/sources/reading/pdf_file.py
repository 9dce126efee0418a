"""PDF: the text of each page."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from pypdf import PasswordType, PdfReader

from loopwright.errors import DocumentError
from loopwright.retrieval.english import english_words
from loopwright.workflows.rag.sources.reading.documents import ReadDocument
from loopwright.workflows.rag.sources.reading.layout import Layout
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
    layout = Layout()
    end = time.monotonic() + limits.pdf_seconds
    for number, page in enumerate(reader.pages, 1):
        layout.page(number, re.sub(r"\b([^\W\d_]+)-\n([^\W\d_A-ZÀ-ÖØ-Þ]\w*)", _joined, page.extract_text()))
        if time.monotonic() > end:
            raise source.error(
                f"took more than {limits.pdf_seconds:g} s until page {number}, the limit pdf_seconds; split it"
            )
    return layout


def _joined(match: re.Match[str]) -> str:
    """A word that was parted at the end of a line; of two words that make none together the hyphen is their own."""
    first, second = match[1].lower(), match[2].lower()
    own = {first, second} <= english_words().keys() and first + second not in english_words()
    return match[1] + "-" * own + match[2]
