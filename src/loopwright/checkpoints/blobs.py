"""Where large values are kept, each once, under the SHA-256 of its bytes.

Whoever saves puts the pieces of a value first and the checkpoint that refers to them afterwards. Pruning takes away
what no checkpoint refers to; because a save may be under way, it passes over what was put only a moment ago, also if it
was there before. So a store notes when each piece was put last, to the minute.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

NOTED_EVERY = 60.0
"""How many seconds a store may leave it unnoted that a piece was put again."""

IN_USE = 5 * NOTED_EVERY
"""How many seconds a piece is taken to be part of a save that is under way."""

_MOST_REMEMBERED = 100_000


class BlobStore(Protocol):
    """A place for pieces of bytes under their SHA-256; used from many threads, and by many processes at once."""

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        ...

    def put(self, blobs: Mapping[bytes, bytes]) -> None:
        """Keep pieces; they last by the time that a checkpoint put after them lasts.

        Args:
            blobs: The pieces by their hash; those that are there already cost next to nothing.

        Raises:
            CheckpointError: If they cannot be written.
        """
        ...

    def get(self, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Give pieces by their hash; those that are missing are left out."""
        ...

    def sizes(self, *, before: float | None = None) -> Mapping[bytes, int]:
        """Give how many bytes each piece has, by its hash.

        Args:
            before: Only pieces that were last put by then, in seconds as `time.time` counts them.
        """
        ...

    def delete(self, hashes: Collection[bytes], *, before: float) -> None:
        """Remove those pieces that were last put by some time.

        Args:
            hashes: The pieces.
            before: In seconds as `time.time` counts them.
        """
        ...


class RecentlyPut:
    """Which pieces this process has put within the last minute, so that it need not put them again."""

    def __init__(self) -> None:
        """Start with none."""
        self._when: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def missing_from(self, blobs: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Give those pieces that were not put of late."""
        oldest = time.monotonic() - NOTED_EVERY
        with self._lock:
            return {key: data for key, data in blobs.items() if self._when.get(key, float("-inf")) < oldest}

    def add(self, hashes: Iterable[bytes]) -> None:
        """Note that pieces are in the store now."""
        now = time.monotonic()
        with self._lock:
            if len(self._when) > _MOST_REMEMBERED:
                self._when.clear()
            self._when.update(dict.fromkeys(hashes, now))

    def forget(self, hashes: Iterable[bytes]) -> None:
        """Note that pieces are no longer in the store."""
        with self._lock:
            for key in hashes:
                self._when.pop(key, None)
