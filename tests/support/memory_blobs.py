"""A store of large values in this process, for tests of what is put where."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping


class MemoryBlobs:
    """Keeps pieces in this process."""

    def __init__(self) -> None:
        """Start empty."""
        self._blobs: dict[bytes, bytes] = {}
        self._when: dict[bytes, float] = {}

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return "the memory of this process"

    def put(self, blobs: Mapping[bytes, bytes]) -> None:
        """Keep pieces."""
        self._blobs.update(blobs)
        self._when.update(dict.fromkeys(blobs, time.time()))

    def get(self, hashes: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Give pieces by their hash."""
        return {key: self._blobs[key] for key in hashes if key in self._blobs}

    def sizes(self, *, before: float | None = None) -> Mapping[bytes, int]:
        """Give how many bytes each piece has, by its hash."""
        return {key: len(self._blobs[key]) for key, when in [*self._when.items()] if before is None or when <= before}

    def delete(self, hashes: Collection[bytes], *, before: float) -> None:
        """Remove those pieces that were last put by some time."""
        for key in hashes:
            if self._when.get(key, before) <= before:
                self._when.pop(key, None)
                self._blobs.pop(key, None)
