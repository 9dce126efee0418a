"""Which stored documents have no source any more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.workflows.rag.sources.reading.source import document_id, possible_paths

_PAGE = 1_000
"""Documents that are asked for at once."""


class Seen:
    """What an ingest found of the sources, as ids."""

    def __init__(self) -> None:
        self.documents: set[str] = set()
        """The documents that were read."""
        self.whole: set[str] = set()
        """Files that were read to their end: what they do not hold is gone, unless they are doubtful."""
        self.doubtful: set[str] = set()
        """Files that were not read, or not wholly, or need not be: everything of them stays."""

    def is_gone(self, id: str) -> bool:
        """Whether a stored document has surely no source any more.

        A file that was not read counts as gone only if there is none: one that cannot be looked at may be there.

        Args:
            id: The document's id: a path, or a path and a key.
        """
        # A path may hold the sign that comes before a key, so there can be several files that it came from.
        parts = id.split("#")
        files = {"#".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if id in self.documents or files & self.doubtful:
            return False
        return bool(files & self.whole) or not any(_may_exist(path) for file in files for path in possible_paths(file))


def gone_documents(store: KnowledgeStore, roots: Sequence[Path], seen: Seen) -> list[str]:
    """The ids of stored documents that came from these files and folders, and have no source there any more.

    Args:
        store: The knowledge store.
        roots: Absolute paths of files and folders, all of which were read.
        seen: What was found in them.

    Raises:
        StoreError: If the store fails.
    """
    ids = {document_id(root): root.is_dir() for root in roots}
    names = [name for id, folder in ids.items() for name in ([f"{id.rstrip('/')}/"] if folder else [id, f"{id}#"])]
    gone: list[str] = []
    offset, found = 0, [None] * _PAGE if names else []
    while len(found) == _PAGE:
        found = store.documents(Filter(documents=tuple(names)), offset=offset, limit=_PAGE)
        gone += [document.id for document in found if seen.is_gone(document.id)]
        offset += _PAGE
    return gone


def _may_exist(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True
