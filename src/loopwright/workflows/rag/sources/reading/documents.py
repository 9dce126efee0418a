"""What reading a file gives: documents with their text, its structure, and what they state outright."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from loopwright.retrieval.records import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document's text under one heading, on one page."""

    headings: tuple[str, ...] = ()
    """The headings above it, from the outermost."""
    page: int | None = None
    """The page, from 1, where there are pages."""
    start: int
    """Where it begins in the document's text, in characters; its own heading line belongs to it."""
    end: int
    """Where it ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A fact that a record states outright."""

    subject: str
    """The entity that it is about."""
    relation: str
    """What holds between the two."""
    object: str
    """The other entity, or a value."""
    confidence: float = 1.0
    """How sure the source is, from 0 to 1."""

    @property
    def sentence(self) -> str:
        """The fact as a sentence."""
        said = f"{self.subject} {self.relation} {self.object}"
        return said if said.endswith((".", "!", "?", "。")) else f"{said}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document as it was read, before it is cut into passages."""

    id: str
    """The absolute path of the file, with forward slashes; ``PATH#KEY`` for a record or a source inside the file."""
    key: str = ""
    """The record's own ``id``, else its line or place in the file from 1; empty for a whole file."""
    title: str
    """What people call it."""
    digest: str
    """SHA-256 in hex: of the file's bytes, or of the record as JSON with sorted keys."""
    media_type: str
    """What it was read from."""
    date: datetime | None = None
    """The date that it gives for itself, else when the file was changed last; with its time zone."""
    tags: tuple[str, ...] = ()
    """Free labels to filter by."""
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Name -> values to filter and count by; a record's address is the facet ``url``."""
    text: str
    """The whole plain text; every span of sections and passages counts its characters."""
    sections: tuple[Section, ...] = ()
    """Its structure, in order and without overlap; together they hold every character that is not white space."""
    triple: Triple | None = None
    """The fact that it is, if it is one; its text is then the fact's sentence."""

    def as_record(self) -> Document:
        """The document as a knowledge store keeps it."""
        return Document(
            id=self.id,
            title=self.title,
            digest=self.digest,
            key=self.key,
            media_type=self.media_type,
            date=self.date,
            tags=self.tags,
            facets=self.facets,
        )
