"""How far an ingest has come, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_PROBLEMS = 1_000
"""So many problems are kept with their message; all are counted."""


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    """A document, or a part of one, that could not be read, or not wholly."""

    name: str
    """The document, or the folder."""
    problem: str
    """What is wrong with it."""


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """How far an ingest has come, and at its end what became of it; those that callers are told of are copies."""

    documents: int = 0
    """Documents seen so far: skipped, stored, failed, or read and about to be stored."""
    skipped: int = 0
    """Of these, those that the store had already."""
    stored: int = 0
    """Of these, those that were stored, new or changed."""
    failed: int = 0
    """Files and records that could not be read."""
    deleted: int = 0
    """Documents that were deleted because their source is gone."""
    passages: int = 0
    """Passages that were stored."""
    vectors: int = 0
    """Passages that got a vector."""
    vectors_total: int | None = None
    """Passages that get a vector, once that is known; None without an embedding model, and before."""
    bytes: int = 0
    """Bytes of the files that are done, and about as many of the file that is being read."""
    total_bytes: int = 0
    """Bytes of all files."""
    seconds: float = 0.0
    """Time since the start."""

    problems: list[UnreadDocument] = field(default_factory=list[UnreadDocument])
    """What could not be read, or not wholly; at most `MOST_PROBLEMS`."""

    @property
    def rate(self) -> float:
        """Passages that were stored per second."""
        return self.passages / self.seconds if self.seconds else 0.0
