"""How records become rows, and rows records."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from loopwright.retrieval.records import Document, Fact, Passage
from loopwright.retrieval.stores.sessions import Row

DOCUMENT_COLUMNS = "document.id, title, digest, own_key, media_type, dated, tags, facets"
"""What `document_of` takes."""
PASSAGE_COLUMNS = (
    "passage.id, document.id, passage.text, passage.title, passage.heading, passage.page, passage.starts, passage.ends"
)
"""What `passage_of` takes."""
FACT_COLUMNS = (
    "fact.id, fact.subject, fact.relation, fact.object, passage.id, fact.starts, fact.ends, fact.confidence, "
    "fact.extractor, fact.ingested"
)
"""What `fact_of` takes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 in UTC; a time without time zone is taken as UTC.

    What its zone puts outside the years 1 to 9999 of UTC is moved to their beginning or end.
    """
    since = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND
    return min(max(since, _EARLIEST), _LATEST)


def moment_of(value: int) -> datetime:
    """The time in UTC, from microseconds since 1970."""
    return _EPOCH + value * _MICROSECOND


def document_row(document: Document) -> tuple[Any, ...]:
    """The columns `DOCUMENT_COLUMNS` of a document."""
    return (
        document.id,
        document.title,
        document.digest,
        document.key,
        document.media_type,
        None if document.date is None else microseconds(document.date),
        json.dumps(document.tags),
        json.dumps(dict(document.facets)),
    )


def document_of(row: Row) -> Document:
    """A document from its columns `DOCUMENT_COLUMNS`."""
    facets = cast("dict[str, list[str]]", json.loads(row[7]))
    return Document(
        id=row[0],
        title=row[1],
        digest=row[2],
        key=row[3],
        media_type=row[4],
        date=None if row[5] is None else moment_of(row[5]),
        tags=tuple(json.loads(row[6])),
        facets={name: tuple(values) for name, values in facets.items()},
    )


def passage_of(row: Row) -> Passage:
    """A passage from its columns `PASSAGE_COLUMNS`."""
    return Passage(
        id=row[0],
        document_id=row[1],
        text=row[2],
        title=row[3],
        heading=row[4],
        page=row[5],
        start=row[6],
        end=row[7],
    )


def fact_of(row: Row) -> Fact:
    """A fact from its columns `FACT_COLUMNS`."""
    return Fact(
        id=row[0],
        subject=row[1],
        relation=row[2],
        object=row[3],
        passage_id=row[4],
        start=row[5],
        end=row[6],
        confidence=row[7],
        extractor=row[8],
        ingested_at=moment_of(row[9]),
    )
