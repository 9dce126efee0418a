"""Recognise bytes that are the same as last time, which is ten times faster than cutting and hashing them again.

Bytes are compared with bytes: an object that is the same as before may still have been changed inside.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Generic, TypeVar

from loopwright.checkpoints.blobs import NOTED_EVERY

_MOST_BYTES = 32_000_000

T = TypeVar("T")


class Unchanged(Generic[T]):
    """What was made of bytes a short while ago, by a name and the bytes; 32 MB of them at most."""

    def __init__(self) -> None:
        """Start empty."""
        self._known: OrderedDict[tuple[str, int], tuple[bytes, T, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, name: str, data: bytes) -> T | None:
        """Give what was made of these bytes within the last minute, or None.

        Args:
            name: Where they come from, for example a channel.
            data: The bytes.
        """
        with self._lock:
            known = self._known.get((name, len(data)))
        if known is None or known[2] + NOTED_EVERY < time.monotonic() or known[0] != data:
            return None
        return known[1]

    def add(self, name: str, data: bytes, made: T) -> None:
        """Remember what was made of bytes.

        Args:
            name: Where they come from.
            data: The bytes.
            made: What was made of them.
        """
        key = name, len(data)
        with self._lock:
            if self._known.pop(key, None) is None:
                self._bytes += len(data)
            self._known[key] = (data, made, time.monotonic())
            while self._bytes > _MOST_BYTES:
                (_, size), _ = self._known.popitem(last=False)
                self._bytes -= size
