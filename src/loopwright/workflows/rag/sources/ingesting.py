"""From files to a knowledge store: only what is new or changed, in batches that are stored wholly or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from loopwright.errors import DocumentError, StructuredReplyError
from loopwright.models import UsageRecorder
from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.records import Contribution
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.vectors import fill_vectors
from loopwright.workflows.rag.sources.contributions import contribution_of
from loopwright.workflows.rag.sources.facts import Extract, extracting
from loopwright.workflows.rag.sources.progress import MOST_PROBLEMS, IngestProgress, IngestReport
from loopwright.workflows.rag.sources.pruning import Seen, gone_documents
from loopwright.workflows.rag.sources.reading import (
    ReadDocument,
    ReadingLimits,
    ReadingProblem,
    find_sources,
    read_source,
)
from loopwright.workflows.rag.sources.reading.chunking import SIZE
from loopwright.workflows.rag.sources.reading.source import document_id

logger = logging.getLogger("loopwright.rag")

_BATCH_CHARACTERS = 2_000_000
"""A batch with more text is stored early, so that long documents do not pile up in memory."""


def ingest(
    paths: Sequence[Path],
    store: KnowledgeStore,
    *,
    tags: Sequence[str] = (),
    extractor: BaseChatModel | None = None,
    embedder: Embedder | None = None,
    limits: ReadingLimits = ReadingLimits(),  # noqa: B008 - frozen
    batch: int = 64,
    size: int = SIZE,
    prune: bool = False,
    renew: bool = False,
    repairs: int = 2,
    concurrency: int = 4,
    usage: UsageRecorder | None = None,
    on_progress: Callable[[IngestProgress], None] | None = None,
    stop: threading.Event | None = None,
) -> IngestReport:
    """Read documents into a knowledge store.

    A document whose digest the store has is skipped; one that changed is replaced as a whole. Each batch is one
    transaction, so that an ingest that was interrupted, even by SIGKILL, goes on where it ended when called again.
    Passages can be searched by their words as soon as their batch is stored; vectors follow after the last document.

    What cannot be read is reported and stops nothing; what the store has of it stays.

    Args:
        paths: Files and folders.
        store: The knowledge store.
        tags: Labels for all documents, besides their own.
        extractor: The chat model that reads facts out of every passage; None reads none. Triples in the documents are
            facts either way.
        embedder: What makes vectors; None makes none.
        limits: The bounds of reading.
        batch: Documents of one transaction, at most.
        size: Words of a passage, about.
        prune: Whether documents of these files and folders whose file or record is gone are deleted. What could not be
            read, or looked at, stays, and so does everything of a path that is missing altogether.
        renew: Whether unchanged documents are stored anew too, for example after a change of tags or extractor.
        repairs: How often a chat model may correct a reply that breaks its schema.
        concurrency: Passages that a chat model reads at the same time.
        usage: Where the calls of a chat model are counted.
        on_progress: Told after every document, every batch, and every batch of vectors, in this thread.
        stop: Ends the work early, once set; documents that are not stored by then are left to the next call.

    Returns:
        What became of it.

    Raises:
        StoreError: If the store fails; the batches before stay.
        RuntimeError: If the extractor is a chat model, and an event loop runs in this thread: use `aingest` there.
        Exception: What a chat model's client raises; the batches before stay.
    """
    dropped: Counter[str] = Counter()
    with extracting(extractor, repairs=repairs, concurrency=concurrency, usage=usage, dropped=dropped) as extract:
        run = _Ingest(
            store, extract, tuple(tags), size, batch, limits, renew, on_progress, stop or threading.Event()
        )  # fmt: skip
        return run.run(paths, embedder=embedder, prune=prune, dropped=dropped)


async def aingest(paths: Sequence[Path], store: KnowledgeStore, **options: Any) -> IngestReport:
    """Do what `ingest` does in a thread of its own, without blocking the event loop.

    Args:
        paths: See `ingest`.
        store: See `ingest`.
        options: All other arguments of `ingest`. If the task is cancelled, ``stop`` is set.

    Returns:
        What became of it.

    Raises:
        StoreError: See `ingest`.
    """
    stop = options.pop("stop", None) or threading.Event()
    try:
        return await asyncio.to_thread(ingest, paths, store, stop=stop, **options)
    except asyncio.CancelledError:
        stop.set()
        raise


@dataclass
class _Ingest:
    """One call of `ingest`."""

    store: KnowledgeStore
    extract: Extract
    tags: tuple[str, ...]
    size: int
    batch: int
    limits: ReadingLimits
    renew: bool
    on_progress: Callable[[IngestProgress], None] | None
    stop: threading.Event
    done: IngestProgress = field(default_factory=IngestProgress)
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    seen: Seen = field(default_factory=Seen)
    waiting: list[ReadDocument] = field(default_factory=list[ReadDocument])
    began: float = field(default_factory=time.monotonic)

    def run(
        self, paths: Sequence[Path], *, embedder: Embedder | None, prune: bool, dropped: Counter[str]
    ) -> IngestReport:
        """Everything, in order: documents, pruning, vectors."""
        found, roots = self._find(paths)
        self.done.total_bytes = sum(found.values())
        for path, length in found.items():
            before = self.done.bytes
            if not self.stop.is_set():
                self._file(path, before + length)
                self.done.bytes = before + length
        if not self.stop.is_set():
            self._store_waiting()
        if prune and not self.stop.is_set():
            gone = gone_documents(self.store, roots, self.seen)
            self.done.deleted = sum(self.store.delete(some) for some in _batched(gone, 1_000))
        if embedder is not None:
            fill_vectors(self.store, embedder, on_progress=self._vectors, stop=self.stop)
        return IngestReport(
            progress=self._tell(), problems=self.problems, dropped_facts=dict(dropped), stopped=self.stop.is_set()
        )

    def _find(self, paths: Sequence[Path]) -> tuple[dict[Path, int], list[Path]]:
        """The files with their sizes in bytes, each once, and the paths that are there."""
        found: dict[Path, int] = {}
        roots: list[Path] = []
        for root in paths:
            try:
                for path in find_sources(root, on_problem=lambda problem: self._failed(problem.error)):
                    found[path] = _size(path)
                roots.append(root.resolve())
            except DocumentError as error:
                self._failed(error)
        return found, roots

    def _file(self, path: Path, bytes_at_end: int) -> None:
        if not self.renew and self._is_unchanged(path):
            self.seen.doubtful.add(document_id(path))
            self.done.documents += 1
            self.done.skipped += 1
            self._tell()
            return

        def told(problem: ReadingProblem) -> None:
            self._failed(problem.error, left_out=problem.left_out)
            if problem.left_out:
                self.seen.doubtful.add(document_id(path))

        try:
            for document in read_source(path, limits=self.limits, on_problem=told):
                self.done.bytes = min(bytes_at_end, self.done.bytes + len(document.text))
                self._document(document)
                if self.stop.is_set():
                    return
        except DocumentError as error:
            self._failed(error)
            self.seen.doubtful.add(document_id(path))
        self.seen.whole.add(document_id(path))

    def _is_unchanged(self, path: Path) -> bool:
        """Whether the file is one document and has the digest that the store knows; saves reading a PDF again."""
        id = document_id(path)
        known = self.store.digests([id])
        try:
            with path.open("rb") as file:
                return bool(known) and hashlib.file_digest(file, "sha256").hexdigest() == known[id]
        except OSError:
            return False

    def _document(self, document: ReadDocument) -> None:
        self.seen.documents.add(document.id)
        self.done.documents += 1
        self.waiting.append(document)
        characters = sum(len(waiting.text) for waiting in self.waiting)
        if len(self.waiting) >= self.batch or characters >= _BATCH_CHARACTERS:
            self._store_waiting()
        else:
            self._tell()

    def _store_waiting(self) -> None:
        """Store those of the waiting documents that are new or changed, in one transaction."""
        waiting = {document.id: document for document in self.waiting}
        known = {} if self.renew else self.store.digests(list(waiting))
        new = [document for id, document in waiting.items() if known.get(id) != document.digest]
        contributions = [made for document in new if (made := self._contribution(document)) is not None]
        if contributions:
            self.store.put(contributions)
        self.waiting.clear()
        self.done.skipped += len(waiting) - len(new)
        self.done.stored += len(contributions)
        self.done.passages += sum(len(contribution.passages) for contribution in contributions)
        self.done.facts += sum(len(contribution.facts) for contribution in contributions)
        self._tell()

    def _contribution(self, document: ReadDocument) -> Contribution | None:
        try:
            return contribution_of(document, self.extract, tags=self.tags, size=self.size)
        except StructuredReplyError as error:
            self._failed(DocumentError(document.id, f"not stored, its facts could not be extracted: {error}"))
            return None

    def _failed(self, error: DocumentError, *, left_out: bool = True) -> None:
        logger.warning("%s", error)
        self.done.failed += left_out
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((error.source, str(error).removeprefix(f"{error.source}: ")))

    def _vectors(self, done: int, total: int) -> None:
        self.done.vectors, self.done.vectors_total = done, total
        self._tell()

    def _tell(self) -> IngestProgress:
        told = replace(self.done, seconds=time.monotonic() - self.began)
        if self.on_progress is not None:
            self.on_progress(told)
        return told


def _batched(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Parts of a list, each of at most so many."""
    return (ids[i : i + size] for i in range(0, len(ids), size))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it will tell why
