"""How far an ingest has come, and what became of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from loopwright.errors import DocumentError

MOST_PROBLEMS = 1_000
"""So many problems are kept with their message; all are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far an ingest has come; a new one for each step."""

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
    facts: int = 0
    """Facts that were stored."""
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
    dropped_facts: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> how many facts of a chat model were not kept."""
    stopped: bool = False
    """Whether it was told to stop before its end."""


class Tally:
    """Counts what an ingest does.

    Args:
        total_bytes: Bytes of all files.
    """

    def __init__(self, total_bytes: int) -> None:
        self.documents = self.skipped = self.stored = self.failed = self.deleted = 0
        self.passages = self.facts = self.vectors = self.bytes = 0
        self.vectors_total: int | None = None
        self.problems: list[tuple[str, str]] = []
        self._total_bytes = total_bytes
        self._began = time.monotonic()

    def problem(self, error: DocumentError) -> None:
        """Note what could not be read."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((error.source, str(error).removeprefix(f"{error.source}: ")))

    def progress(self) -> IngestProgress:
        """How far it has come now."""
        return IngestProgress(
            documents=self.documents,
            skipped=self.skipped,
            stored=self.stored,
            failed=self.failed,
            deleted=self.deleted,
            passages=self.passages,
            facts=self.facts,
            vectors=self.vectors,
            vectors_total=self.vectors_total,
            bytes=min(self.bytes, self._total_bytes),
            total_bytes=self._total_bytes,
            seconds=time.monotonic() - self._began,
        )
