"""From files to a knowledge store: only what is new or changed, in batches that are stored wholly or not at all."""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from loopwright.errors import DocumentError
from loopwright.retrieval.names import entity_key, find_mentions
from loopwright.retrieval.records import Contribution, Filter
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.retrieval.vectors import Embedder, fill_vectors
from loopwright.workflows.files.source import document_id, file_and_key, possible_paths
from loopwright.workflows.rag.sources.reading import (
    ReadDocument,
    ReadingProblem,
    find_sources,
    passages_of,
    read_source,
)
from loopwright.workflows.rag.sources.reading.chunking import SIZE

logger = logging.getLogger("loopwright.rag")

_BATCH_CHARACTERS = 2_000_000
"""A batch with more text is stored early, so that long documents do not pile up in memory."""
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


def ingest(
    paths: Sequence[Path],
    store: KnowledgeStore,
    *,
    tags: Sequence[str] = (),
    embedder: Embedder | None = None,
    batch: int = 64,
    size: int = SIZE,
    prune: bool = False,
    renew: bool = False,
    on_progress: Callable[[IngestReport], None] | None = None,
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
        embedder: What makes vectors; None makes none.
        batch: Documents of one transaction, at most.
        size: Words of a passage, about.
        prune: Whether documents of these files and folders whose file is gone are deleted, as its records that are gone
            always are. What could not be read or looked at stays, and so does everything of a path that is missing.
        renew: Whether unchanged documents are stored anew too, for example after a change of tags.
        on_progress: Told after every document, every batch, and every batch of vectors, in this thread.

    Returns:
        What became of it.

    Raises:
        StoreError: If the store fails; the batches before stay.
    """
    return _Ingest(store, tuple(tags), size, batch, renew, on_progress).run(paths, embedder=embedder, prune=prune)


def contribution_of(document: ReadDocument, tags: Sequence[str], size: int) -> Contribution:
    """What a document brings to the store: its passages, and the entities that they name."""
    passages = passages_of(document, size=size)
    known = {entity_key(name) for name in document.names}
    return Contribution(
        document=replace(document, tags=tuple(dict.fromkeys((*document.tags, *tags)))),
        passages=passages,
        entities={
            passage.id: tuple(
                entity_key(passage.text[start:end])
                for start, end in find_mentions(passage.text, title=passage.title, known=known)
            )
            for passage in passages
        },
    )


@dataclass
class _Ingest:
    """One call of `ingest`."""

    store: KnowledgeStore
    tags: tuple[str, ...]
    size: int
    batch: int
    renew: bool
    on_progress: Callable[[IngestReport], None] | None
    done: IngestReport = field(default_factory=IngestReport)
    waiting: list[ReadDocument] = field(default_factory=list[ReadDocument])
    began: float = field(default_factory=time.monotonic)
    known: dict[str, str] = field(default_factory=dict[str, str])
    """The digests that the store has of the files, unless all are stored anew."""
    read: set[str] = field(default_factory=set[str])
    """The ids of the documents that were read."""
    named: set[str] = field(default_factory=set[str])
    """The digests of the documents that were stored under a new id."""
    whole: set[str] = field(default_factory=set[str])
    """Files that were read to their end: what they do not hold is gone, unless they are doubtful."""
    doubtful: set[str] = field(default_factory=set[str])
    """Files that were not read, or not wholly, or need not be: everything of them stays."""

    def run(self, paths: Sequence[Path], *, embedder: Embedder | None, prune: bool) -> IngestReport:
        """Everything, in order: documents, pruning, vectors."""
        found, roots = self._find(paths)
        self.done.total_bytes = sum(found.values())
        self.known = {} if self.renew else self.store.digests([*map(document_id, found)])
        for path, length in found.items():
            before = self.done.bytes
            self._file(path, before + length)
            self.done.bytes = before + length
        self._store_waiting()
        # A record that a changed file holds no longer goes as a changed paragraph does: its place names another now.
        read = [Path(file) for file in self.whole - self.doubtful if file_and_key(f"{file}#")[0] == file]
        self.done.deleted = self.store.delete([*self._gone(roots if prune else read)])
        if self.named and not prune:  # a file all of which has another name now is there once
            gone = self._gone(roots)
            kept = {file_and_key(id)[0] for id, digest in gone.items() if digest not in self.named}
            self.done.deleted += self.store.delete([id for id in gone if file_and_key(id)[0] not in kept])
        if embedder is not None:
            fill_vectors(self.store, embedder, on_progress=self._vectors)
        return self._tell()

    def _find(self, paths: Sequence[Path]) -> tuple[dict[Path, int], list[Path]]:
        """The files with their sizes in bytes, each once, and the paths that are there."""
        found: dict[Path, int] = {}
        roots: list[Path] = []
        for root in paths:
            try:
                for path in find_sources(root, on_problem=lambda problem: self._failed(problem.error)):
                    found[path] = 0
                    with suppress(OSError):  # reading it will tell why
                        found[path] = path.stat().st_size
                roots.append(root.resolve())
            except DocumentError as error:
                self._failed(error)
        return found, roots

    def _file(self, path: Path, bytes_at_end: int) -> None:
        file = document_id(path)
        if self._is_unchanged(path, file):
            self.doubtful.add(file)
            self.done.documents += 1
            self.done.skipped += 1
            self._tell()
            return

        def told(problem: ReadingProblem) -> None:
            self._failed(problem.error, left_out=problem.left_out)
            if problem.left_out:
                self.doubtful.add(file)

        try:
            for document in read_source(path, on_problem=told):
                self.done.bytes = min(bytes_at_end, self.done.bytes + len(document.text))
                self._document(document)
        except DocumentError as error:
            told(ReadingProblem(error, left_out=True))
        self.whole.add(file)

    def _is_unchanged(self, path: Path, id: str) -> bool:
        """Whether the file is one document and has the digest that the store knows; saves reading a PDF again."""
        try:
            with path.open("rb") as file:
                return id in self.known and hashlib.file_digest(file, "sha256").hexdigest() == self.known[id]
        except OSError:
            return False

    def _document(self, document: ReadDocument) -> None:
        self.read.add(document.id)
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
        known = self.store.digests(list(waiting))
        new = [document for id, document in waiting.items() if self.renew or known.get(id) != document.digest]
        self.named |= {document.digest for document in new if document.id not in known}
        contributions = [contribution_of(document, self.tags, self.size) for document in new]
        self.store.put(contributions)
        self.waiting.clear()
        self.done.skipped += len(waiting) - len(new)
        self.done.stored += len(contributions)
        self.done.passages += sum(len(contribution.passages) for contribution in contributions)
        self._tell()

    def _gone(self, roots: Sequence[Path]) -> dict[str, str]:
        """The ids of the stored documents of these files and folders that surely have no source there -> digests."""
        ids = {document_id(root): root.is_dir() for root in roots}
        names = [name for id, folder in ids.items() for name in ([f"{id.rstrip('/')}/"] if folder else [id, f"{id}#"])]
        # SQLite takes no expression of a thousand parts.
        parts = [Filter(documents=tuple(names[at : at + 400])) for at in range(0, len(names), 400)]
        stored = {document.id: document.digest for part in parts for document in self.store.documents(part)}
        return {id: digest for id, digest in stored.items() if self._is_gone(id)}

    def _is_gone(self, id: str) -> bool:
        # A path may hold the sign that comes before a key, so there can be several files that it came from.
        parts = id.split("#")
        files = {"#".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if id in self.read or files & self.doubtful:
            return False
        return not any(_may_exist(path) for file in files - self.whole for path in possible_paths(file))

    def _failed(self, error: DocumentError, *, left_out: bool = True) -> None:
        logger.info("%s", error)
        self.done.failed += left_out
        if len(self.done.problems) < MOST_PROBLEMS:
            problem = str(error).removeprefix(f"{error.source}: ")
            self.done.problems.append(UnreadDocument(error.source, problem))

    def _vectors(self, done: int, total: int) -> None:
        self.done.vectors, self.done.vectors_total = done, total
        self._tell()

    def _tell(self) -> IngestReport:
        told = replace(self.done, seconds=time.monotonic() - self.began)
        if self.on_progress is not None:
            self.on_progress(told)
        return told


def _may_exist(path: str) -> bool:
    """Whether a file is there, or cannot be looked at."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
    return True
