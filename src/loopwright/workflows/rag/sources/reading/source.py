"""The file that is being read: its bytes within bounds, its identity, and where its problems go."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from loopwright.errors import DocumentError
from loopwright.retrieval.stores.storable import MOST_ID_BYTES, storable
from loopwright.workflows.rag.sources.reading.documents import ReadDocument, Section

logger = logging.getLogger(__name__)

MEGABYTE = 1024 * 1024
"""Bytes in a megabyte, as the messages count them."""
_SHOWN_KEY = 100
# How Python gives bytes of a file name that are not UTF-8 (PEP 383), and how an id shows them.
_RAW_BYTE = re.compile("[\udc80-\udcff]")
_SHOWN_BYTE = re.compile("%([89A-F][0-9A-F])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Bounds of reading; a document beyond one of them is refused with a `DocumentError` that names the bound."""

    streamed_bytes: int = 200 * MEGABYTE
    """The largest JSONL or CSV file in bytes; they are read record by record."""
    record_bytes: int = 4 * MEGABYTE
    """The longest line of a JSONL or CSV file in characters; a longer one is left out as a problem."""
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


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """Something that could not be read, where the rest was read all the same."""

    error: DocumentError
    """What is wrong, and where."""
    left_out: bool
    """Whether a record, a file or a folder was left out; else a detail of something that was read was ignored."""


def log_problem(problem: ReadingProblem) -> None:
    """Log a problem as a warning."""
    logger.warning("%s", problem.error)


def document_id(path: Path) -> str:
    """The document id of a file: its path with forward slashes; bytes that are not UTF-8 are written as ``%FF``."""
    return _RAW_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", path.as_posix())


def possible_paths(id: str) -> Iterator[str]:
    """The paths that have this id: an escape in it may also stand in the name of the file as it is."""
    yield id
    raw = _SHOWN_BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), id)
    if raw != id:
        yield raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file, and how to read it."""

    path: Path
    """The file, absolute, without links."""
    limits: ReadingLimits
    """The bounds."""
    on_problem: Callable[[ReadingProblem], None]
    """Told of what had to be left out or ignored."""
    modified: datetime = field(init=False)
    """When the file was changed last, in UTC."""

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise self.error("is not there, or is not a regular file; give the path of a file")
        object.__setattr__(self, "modified", datetime.fromtimestamp(self.path.stat().st_mtime, UTC))

    def left_out(self, error: DocumentError) -> None:
        """Tell of a record that is left out."""
        self.on_problem(ReadingProblem(error, left_out=True))

    def ignored(self, error: DocumentError) -> None:
        """Tell of a detail that is ignored; the document itself is read."""
        self.on_problem(ReadingProblem(error, left_out=False))

    def error(self, problem: str, *, key: str = "") -> DocumentError:
        """An error that names the file, and the record in it."""
        id = document_id(self.path)
        return DocumentError(f"{id}#{key}" if key else id, problem)

    def check_size(self, most: int) -> None:
        """Refuse the file if it has more bytes than this.

        Raises:
            DocumentError: If it is too large.
        """
        size = self.path.stat().st_size
        if size > most:
            raise self.error(
                f"has {size / MEGABYTE:.1f} MB; at most {most / MEGABYTE:.1f} MB of this kind are read, so split it"
            )

    def data(self, most: int) -> bytes:
        """All bytes of the file.

        Raises:
            DocumentError: If there are more than ``most``, or none.
        """
        self.check_size(most)
        with self.path.open("rb") as file:
            # A file may grow after its size was checked.
            data = file.read(most + 1)[:most]
        if not data:
            raise self.error("is empty")
        return data

    def date(self, value: object) -> datetime | None:
        """A date with its time zone (UTC where it gives none); None if it is not ISO 8601, or in no year of UTC."""
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value.strip())
            if isinstance(value, date) and not isinstance(value, datetime):
                value = datetime(value.year, value.month, value.day)
            if not isinstance(value, datetime):
                return None
            value = value if value.tzinfo else value.replace(tzinfo=UTC)
            value.astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        return value

    def document(
        self, text: str, sections: tuple[Section, ...], *, title: str, raw: bytes, key: str = "", **fields: Any
    ) -> ReadDocument:
        """A document of this file.

        Raises:
            DocumentError: If the text has no words, or the id is too long.
        """
        if not text.strip():
            raise self.error("has no text", key=key)
        id = storable(document_id(self.path) + (f"#{key}" if key else ""))
        if (length := len(id.encode())) > MOST_ID_BYTES:
            problem = f"its path and id have {length} bytes together, at most {MOST_ID_BYTES} are kept; shorten them"
            raise self.error(problem, key=key[:_SHOWN_KEY])
        facets = {storable(name): tuple(map(storable, its)) for name, its in fields.pop("facets", {}).items()}
        return ReadDocument(
            id=id,
            key=storable(key),
            title=storable(" ".join(title.split())),
            digest=hashlib.sha256(raw).hexdigest(),
            date=fields.pop("date", None) or self.modified,
            tags=tuple(dict.fromkeys(map(storable, fields.pop("tags", ())))),
            facets=facets,
            text=storable(text),
            sections=sections,
            **fields,
        )
