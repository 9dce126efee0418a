"""What a knowledge store holds and gives back: plain values, the same for every backend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document: a file, a record of a file, a page, a talk."""

    id: str
    """Names it for good: the absolute path of a file, ``PATH#KEY`` for a record inside a file, or an address."""
    title: str
    """What people call it."""
    digest: str
    """SHA-256 of its content in hex: the same digest means that there is nothing to do."""
    date: datetime | None = None
    """When it was written or changed, with its time zone."""
    tags: tuple[str, ...] = ()
    """Free labels to filter by."""
    kept: str = ""
    """What whoever stored it keeps with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a document, as long as one answer needs; what is searched, graded and cited."""

    id: str
    """``DOCUMENT_ID::N``, N its place in the document, from 0."""
    document_id: str
    """The document."""
    text: str
    """The text as it stands in the document, ``content[start:end]`` of its plain text."""
    title: str
    """The document's title."""
    heading: str = ""
    """The headings above it, from the outermost, joined by " > "."""
    page: int | None = None
    """The page that it begins on, from 1, where there are pages."""
    start: int = 0
    """Where it begins in the document's plain text, in characters."""
    end: int = 0
    """Where it ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Passage):
    """A passage that was found for a question, in the knowledge store or on the web; there its id is the address."""

    document_id: str = ""
    """The document; empty for the web."""
    score: float = 0.0
    """How well it fits the query, higher is better; comparable within one search only."""
    origin: Literal["graph", "web"] = "graph"
    """Whether it comes from the knowledge graph or from the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """All that one document brings: stored and taken away as a whole."""

    document: Document
    """The document."""
    passages: tuple[Passage, ...]
    """Its passages, in order."""
    entities: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Passage id -> the keys of the entities that it names: see `loopwright.retrieval.names.entity_key`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which documents count; what is not given does not restrict."""

    documents: tuple[str, ...] = ()
    """Document ids, or folders and files that ids begin with (``/notes/`` or ``/notes/a.jsonl#``)."""
    tags: tuple[str, ...] = ()
    """At least one of these tags."""
    after: datetime | None = None
    """Dated then or later."""
    before: datetime | None = None
    """Dated earlier than this."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found."""

    passage_id: str
    """The passage."""
    score: float
    """How well it fits, higher is better; comparable within one search only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """How much a store holds."""

    documents: int
    """Documents."""
    passages: int
    """Passages."""
    entities: int
    """Entities."""
    vectors: int
    """Passages with a vector."""
