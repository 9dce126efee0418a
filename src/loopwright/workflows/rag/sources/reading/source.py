"""A file of documents, and what is made of it: documents with an id, a digest and a date."""

import hashlib
from datetime import UTC, date, datetime
from typing import Any

from loopwright.database import storable
from loopwright.retrieval.stores.tables import MOST_ID_BYTES
from loopwright.workflows import files
from loopwright.workflows.files.source import document_id
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section, without_contents

_SHOWN_KEY = 100


class Source(files.Source):
    """One file, absolute and without links, whose documents are read."""

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
        """A document of this file, which names it where it has no title.

        Raises:
            DocumentError: If the text has no words, or the id is too long.
        """
        if not text.strip():
            raise self.error("has no text", key=key)
        id = storable(document_id(self.path) + (f"#{key}" if key else ""))
        if (length := len(id.encode())) > MOST_ID_BYTES:
            problem = f"its path and id have {length} bytes together, at most {MOST_ID_BYTES} are kept; shorten them"
            raise self.error(problem, key=key[:_SHOWN_KEY])
        return ReadDocument(
            id=id,
            title=storable(" ".join(title.split()) or self.path.stem),
            digest=hashlib.sha256(raw).hexdigest(),
            date=fields.pop("date", None) or datetime.fromtimestamp(self.path.stat().st_mtime, UTC),
            tags=tuple(dict.fromkeys(map(storable, fields.pop("tags", ())))),
            text=storable(without_contents(text)),
            sections=sections,
            **fields,
        )
