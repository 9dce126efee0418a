"""Which stored documents have no source any more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.workflows.rag.reading.ids import document_id, possible_paths

_PAGE = 1_000
"""Documents that are asked for at once."""


class Seen:
    """What an ingest found of the sources; holds an id for each document."""

    def __init__(self) -> None:
        self._documents: set[str] = set()
        self._whole: set[str] = set()
        self._doubtful: set[str] = set()

    def document(self, id: str) -> None:
        """A document was read."""
        self._documents.add(id)

    def whole(self, path: Path) -> None:
        """A file was read to its end: what it does not hold is gone, unless it is doubtful."""
        self._whole.add(document_id(path))

    def doubtful(self, path: Path) -> None:
        """A file was not read, or not wholly, or need not be: everything of it stays."""
        self._doubtful.add(document_id(path))

    def is_gone(self, id: str) -> bool:
        """Whether a stored document has surely no source any more.

        A file that was not read counts as gone only if there is none: one that cannot be looked at may be there.

        Args:
            id: The document's id: a path, or a path and a key.
        """
        files = list(_possible_files(id))
        if id in self._documents or any(file in self._doubtful for file in files):
            return False
        return any(file in self._whole for file in files) or not any(
            _may_exist(path) for file in files for path in possible_paths(file)
        )


def gone_documents(store: KnowledgeStore, roots: Sequence[Path], seen: Seen) -> list[str]:
    """The ids of stored documents that came from these files and folders, and have no source there any more.

    Args:
        store: The knowledge store.
        roots: Absolute paths of files and folders, all of which were read.
        seen: What was found in them.

    Raises:
        StoreError: If the store fails.
    """
    names = [name for root in roots for name in _names_of(root)]
    if not names:
        return []
    gone: list[str] = []
    offset = 0
    while True:
        found = store.documents(Filter(documents=tuple(names)), offset=offset, limit=_PAGE)
        gone += [document.id for document in found if seen.is_gone(document.id)]
        offset += len(found)
        if len(found) < _PAGE:
            return gone


def _names_of(root: Path) -> tuple[str, ...]:
    name = document_id(root)
    return (f"{name.rstrip('/')}/",) if root.is_dir() else (name, f"{name}#")


def _possible_files(id: str) -> Iterator[str]:
    """The file that a document came from; a path may hold the sign that comes before a key, so there can be several."""
    yield id
    place = id.find("#")
    while place >= 0:
        yield id[:place]
        place = id.find("#", place + 1)


def _may_exist(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True
