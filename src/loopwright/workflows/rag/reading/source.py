"""The file that is being read: its bytes within bounds, its identity, and where its problems go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from loopwright.errors import DocumentError
from loopwright.retrieval.stores.storable import MOST_ID_BYTES, storable
from loopwright.workflows.rag.reading.documents import ReadDocument, Section, Triple
from loopwright.workflows.rag.reading.ids import document_id, escaped
from loopwright.workflows.rag.reading.limits import MEGABYTE, ReadingLimits
from loopwright.workflows.rag.reading.problems import ReadingProblem
from loopwright.workflows.rag.reading.values import shown

_SHOWN_KEY = 100


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

    @property
    def id(self) -> str:
        """The file's document id."""
        return document_id(self.path)

    def left_out(self, error: DocumentError) -> None:
        """Tell of a record that is left out."""
        self.on_problem(ReadingProblem(error, left_out=True))

    def ignored(self, error: DocumentError) -> None:
        """Tell of a detail that is ignored; the document itself is read."""
        self.on_problem(ReadingProblem(error, left_out=False))

    def error(self, problem: str, *, key: str = "") -> DocumentError:
        """An error that names the file, and the record in it."""
        path = escaped(str(self.path))
        return DocumentError(f"{path}#{key}" if key else path, problem)

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

    def document(
        self,
        text: str,
        sections: tuple[Section, ...],
        *,
        title: str,
        media_type: str,
        raw: bytes,
        key: str = "",
        date: datetime | None = None,
        tags: tuple[str, ...] = (),
        facets: Mapping[str, tuple[str, ...]] | None = None,
        triples: tuple[Triple, ...] = (),
    ) -> ReadDocument:
        """A document of this file.

        Args:
            text: Its plain text.
            sections: The structure of the text.
            title: Its title.
            media_type: What it was read from.
            raw: What its digest is of.
            key: Its key if it is a record of the file.
            date: Its own date; without one the file's counts.
            tags: Its labels.
            facets: Its facets.
            triples: What it states outright.

        Raises:
            DocumentError: If the text has no words, or the id is too long.
        """
        if not text.strip():
            raise self.error("has no text", key=key)
        id = storable(f"{self.id}#{key}" if key else self.id)
        if (length := len(id.encode())) > MOST_ID_BYTES:
            raise self.error(
                f"its path and id have {length} bytes together, at most {MOST_ID_BYTES} are kept; shorten them",
                key=key[:_SHOWN_KEY],
            )
        return ReadDocument(
            id=id,
            key=storable(key),
            title=storable(" ".join(title.split())),
            digest=hashlib.sha256(raw).hexdigest(),
            media_type=media_type,
            date=date or self.modified,
            tags=tuple(dict.fromkeys(map(storable, tags))),
            facets={storable(name): tuple(map(storable, values)) for name, values in (facets or {}).items()},
            text=storable(text),
            sections=sections,
            triples=triples,
        )


def parse_date(value: object) -> datetime | None:
    """A date with its time zone (UTC where it gives none); None if it is not ISO 8601, or in no year of UTC.

    Args:
        value: A date, a time, or text such as ``2024-05-01`` or ``2024-05-01T12:00:00+07:00``.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return None
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        value.astimezone(UTC)
    except OverflowError:
        return None
    return value


def unusable_date(value: object) -> str:
    """What is told of a date that `parse_date` does not take."""
    return f"its date {shown(value)} is not ISO 8601, or too far away; the file's own counts instead"
