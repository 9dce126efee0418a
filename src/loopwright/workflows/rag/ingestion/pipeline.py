"""From files to a knowledge store: only what is new or changed, in batches that are stored wholly or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loopwright.errors import DocumentError, StructuredReplyError
from loopwright.models import UsageRecorder
from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.records import Contribution
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.vectors import fill_vectors
from loopwright.workflows.rag.ingestion.contributions import contribution_of
from loopwright.workflows.rag.ingestion.extracting import Extract, Extractor, extracting
from loopwright.workflows.rag.ingestion.progress import IngestProgress, IngestReport, Tally
from loopwright.workflows.rag.ingestion.pruning import Seen, gone_documents
from loopwright.workflows.rag.reading import ReadDocument, ReadingLimits, ReadingProblem, find_sources, read_source
from loopwright.workflows.rag.reading.chunking import SIZE
from loopwright.workflows.rag.reading.ids import document_id

logger = logging.getLogger("loopwright.rag")

_BATCH_CHARACTERS = 2_000_000
"""A batch with more text is stored early, so that long documents do not pile up in memory."""


def ingest(
    paths: Sequence[Path],
    store: KnowledgeStore,
    *,
    tags: Sequence[str] = (),
    extractor: Extractor = "rules",
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
        extractor: What finds the facts: ``"rules"``, or a chat model.
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
            store, extract, tags=tuple(tags), size=size, batch=batch, limits=limits, renew=renew,
            on_progress=on_progress, stop=stop or threading.Event(),
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


class _Ingest:
    """One call of `ingest`."""

    def __init__(
        self,
        store: KnowledgeStore,
        extract: Extract,
        *,
        tags: tuple[str, ...],
        size: int,
        batch: int,
        limits: ReadingLimits,
        renew: bool,
        on_progress: Callable[[IngestProgress], None] | None,
        stop: threading.Event,
    ) -> None:
        self._store = store
        self._extract = extract
        self._tags = tags
        self._size = size
        self._batch = batch
        self._limits = limits
        self._renew = renew
        self._on_progress = on_progress
        self._stop = stop
        self._seen = Seen()
        self._tally = Tally(0)
        self._waiting: list[ReadDocument] = []

    def run(
        self, paths: Sequence[Path], *, embedder: Embedder | None, prune: bool, dropped: Counter[str]
    ) -> IngestReport:
        """Everything, in order: documents, pruning, vectors."""
        found, roots, missing = _find(paths)
        self._tally = Tally(sum(length for _, length in found))
        for error in missing:
            self._failed(error)
        for path, length in found:
            before = self._tally.bytes
            if not self._stop.is_set():
                self._file(path, before, length)
                self._tally.bytes = before + length
        if not self._stop.is_set():
            self._store_waiting()
        if prune and not self._stop.is_set():
            self._tally.deleted = _delete(self._store, gone_documents(self._store, roots, self._seen))
        if embedder is not None:
            fill_vectors(self._store, embedder, on_progress=self._vectors, stop=self._stop)
        self._tell()
        return IngestReport(
            progress=self._tally.progress(),
            problems=self._tally.problems,
            dropped_facts=dict(dropped),
            stopped=self._stop.is_set(),
        )

    def _file(self, path: Path, bytes_before: int, length: int) -> None:
        if not self._renew and self._is_unchanged(path):
            self._seen.doubtful(path)
            self._tally.documents += 1
            self._tally.skipped += 1
            self._tell()
            return
        problems: list[ReadingProblem] = []
        try:
            for document in read_source(path, limits=self._limits, on_problem=problems.append):
                self._document(document)
                read = self._tally.bytes - bytes_before + len(document.text)
                self._tally.bytes = bytes_before + min(length, read)
                if self._stop.is_set():
                    return
        except DocumentError as error:
            self._failed(error)
            self._seen.doubtful(path)
        for problem in problems:
            self._tally.problem(problem.error)
            if problem.left_out:
                self._tally.failed += 1
                self._seen.doubtful(path)
        self._seen.whole(path)

    def _is_unchanged(self, path: Path) -> bool:
        """Whether the file is one document and has the digest that the store knows; saves reading a PDF again."""
        id = document_id(path)
        known = self._store.digests([id])
        if not known:
            return False
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == known[id]
        except OSError:
            return False

    def _document(self, document: ReadDocument) -> None:
        self._seen.document(document.id)
        self._tally.documents += 1
        self._waiting.append(document)
        characters = sum(len(waiting.text) for waiting in self._waiting)
        if len(self._waiting) >= self._batch or characters >= _BATCH_CHARACTERS:
            self._store_waiting()
        else:
            self._tell()

    def _store_waiting(self) -> None:
        """Store those of the waiting documents that are new or changed, in one transaction."""
        waiting = {document.id: document for document in self._waiting}
        known = {} if self._renew else self._store.digests(list(waiting))
        self._tally.skipped += sum(known.get(id) == document.digest for id, document in waiting.items())
        contributions = [
            contribution
            for id, document in waiting.items()
            if known.get(id) != document.digest and (contribution := self._contribution(document)) is not None
        ]
        if contributions:
            self._store.put(contributions)
        self._waiting.clear()
        self._tally.stored += len(contributions)
        self._tally.passages += sum(len(contribution.passages) for contribution in contributions)
        self._tally.facts += sum(len(contribution.facts) for contribution in contributions)
        self._tell()

    def _contribution(self, document: ReadDocument) -> Contribution | None:
        try:
            return contribution_of(document, self._extract, tags=self._tags, size=self._size)
        except StructuredReplyError as error:
            self._failed(DocumentError(document.id, f"not stored, its facts could not be extracted: {error}"))
            return None

    def _failed(self, error: DocumentError) -> None:
        logger.warning("%s", error)
        self._tally.failed += 1
        self._tally.problem(error)

    def _vectors(self, done: int, total: int) -> None:
        self._tally.vectors, self._tally.vectors_total = done, total
        self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self._tally.progress())


def _find(paths: Sequence[Path]) -> tuple[list[tuple[Path, int]], list[Path], list[DocumentError]]:
    """The files with their sizes in bytes, each once; the paths that are there; and what is missing or unreadable."""
    found: dict[Path, int] = {}
    roots: list[Path] = []
    missing: list[DocumentError] = []
    for root in paths:
        try:
            sources = find_sources(root, on_problem=lambda problem: missing.append(problem.error))
            found.update((path, _size(path)) for path in sources if path not in found)
            roots.append(root.resolve())
        except DocumentError as error:
            missing.append(error)
    return list(found.items()), roots, missing


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it will tell why


def _delete(store: KnowledgeStore, ids: Sequence[str], at_once: int = 1_000) -> int:
    return sum(store.delete(ids[i : i + at_once]) for i in range(0, len(ids), at_once))
