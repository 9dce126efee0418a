"""How much a document may ask of the machine."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024
"""Bytes in a megabyte, as the messages count them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Bounds of reading; a document beyond one of them is refused with a `DocumentError` that names the bound."""

    streamed_bytes: int = 200 * MEGABYTE
    """The largest JSONL or CSV file in bytes; they are read record by record."""
    record_bytes: int = 4 * MEGABYTE
    """The longest line of a JSONL or CSV file in bytes; a longer one is left out as a problem."""
    text_bytes: int = 50 * MEGABYTE
    """The largest plain text or Markdown file in bytes; its text is held in memory."""
    html_bytes: int = 20 * MEGABYTE
    """The largest HTML file in bytes; its tree takes about 20 times as much memory."""
    whole_bytes: int = 100 * MEGABYTE
    """The largest PDF, DOCX or JSON file in bytes."""
    unpacked_bytes: int = 300 * MEGABYTE
    """The most that a DOCX may unpack to, in bytes."""
    unpacked_ratio: int = 200
    """The most that a DOCX of more than ten unpacked megabytes may grow by unpacking, as a factor."""
    pages: int = 5_000
    """The most pages of a PDF."""
    pdf_seconds: float = 300.0
    """The most time for one PDF in seconds, checked after each page."""
    json_depth: int = 100
    """The deepest nesting of a JSON value."""
    triples: int = 200_000
    """The most triples in one file; they are held in memory until the file's end, to be grouped by source."""
