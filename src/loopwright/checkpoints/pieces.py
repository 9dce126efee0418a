"""Cut bytes into pieces that stay the same when something is added, removed or changed elsewhere in them.

A cut follows a mark, which about one position in a thousand bears, whatever comes before it. So two versions of a list
of messages have all pieces in common but those around the change. Bytes without marks are cut at equal lengths from the
start, which is still right for what only grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_LETTERS = bytes(hashlib.sha256(bytes([value])).digest()[0] % 4 for value in range(256))
"""One of four letters for each value of a byte, as if by chance."""

_MARK = bytes([0, 1, 1, 3, 2])
"""The mark in these letters: five of four kinds, so one position in 1,024. No part of it begins another mark."""

_LONGEST = 8
"""A piece is at most so many times as long as the least."""


def pieces(data: bytes, least: int) -> Iterator[bytes]:
    """Cut bytes.

    Args:
        data: What to cut.
        least: The shortest piece, in bytes; only the last may be shorter. The longest is eight times as long.

    Yields:
        The pieces, in order; joined they are the bytes.
    """
    letters = data.translate(_LETTERS)
    start, most = 0, least * _LONGEST
    while len(data) - start > least:
        mark = letters.find(_MARK, start + least - len(_MARK), start + most)
        end = mark + len(_MARK) if mark >= 0 else start + most
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]
