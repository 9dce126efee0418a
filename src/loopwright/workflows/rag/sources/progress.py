"""How far an ingest has come, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_PROBLEMS = 1_000
"""So many problems are kept with their message; all are counted."""


@dataclass(slots=True, kw_only=True)
class IngestProgress:
    """How far an ingest has come; those that callers are told of are copies."""

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

    @property
    def rate(self) -> float:
        """Passages that were stored per second."""
        return self.passages / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of an ingest."""

    progress: IngestProgress
    """The counts at the end."""
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Source and message of what could not be read, or not wholly; at most `MOST_PROBLEMS`."""
